"""`gpudash wait`: what is started is started after the proof, and the exit code says why not."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.cli import schema
from tests.cli.running import Runner, children_of, command, is_running, wait_for
from tests.fake_driver import MIB, FakeDriver

FAST = ("--hold", "250ms", "--timeout", "60s")


@pytest.fixture
def env(gpudash_command: Runner, tmp_path: Path) -> dict[str, str]:
    """A state folder of its own: its newest record is this test's. And a PATH."""
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}


@pytest.fixture
def driver(fake_driver: FakeDriver) -> FakeDriver:
    """Eight GPUs that no other test claims."""
    gpus = tuple(replace(gpu, uuid=f"GPU-{uuid.uuid4()}") for gpu in fake_driver.state.gpus)
    return fake_driver.with_state(gpus=gpus).write()


def record(env: dict[str, str]) -> list[dict[str, Any]]:
    (path,) = Path(env["XDG_STATE_HOME"]).glob("gpudash/records/*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def kinds(lines: list[dict[str, Any]]) -> list[str]:
    """What happened in order; scans and names come when they come."""
    return [line["kind"] for line in lines if line["kind"] not in ("scan", "named")]


@contextmanager
def waiting(
    runner: Runner, driver: FakeDriver, env: dict[str, str], *words: str
) -> Iterator[subprocess.Popen[str]]:
    """Run a wait; it is ended with the test."""
    with subprocess.Popen(
        command("wait", *words),
        env=runner.env(driver, **env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def read_until(process: subprocess.Popen[str], words: str) -> list[str]:
    """Read narration until a line has these words."""
    assert process.stderr is not None
    lines = []
    while not lines or words not in lines[-1]:
        lines.append(process.stderr.readline())
        assert lines[-1], f"it ended without {words!r}: {lines}"
    return lines


# -- the proof ---------------------------------------------------------------------------------


def test_go_comes_after_the_proof(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    done = gpudash_command(
        driver, "wait", "--zero", "--hold", "1s", "--timeout", "60s", "--", "echo", "go", **env
    )
    assert (done.code, done.out) == (0, "go\n")
    lines = record(env)
    assert kinds(lines) == ["begin", "hold", "proof", "start", "end"]
    proof = next(line for line in lines if line["kind"] == "proof")
    assert proof["last_host_s"] - proof["first_host_s"] >= 1.0
    assert proof["samples"] >= 5
    assert proof["longest_gap_s"] <= 0.75
    assert [gpu["first_bytes"] for gpu in proof["gpus"]] == [0] * 8
    assert lines[0]["command"][-2:] == ["echo", "go"]
    assert lines[-1]["exit_code"] == 0


def test_a_holder_in_the_middle_restarts_the_hold(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    words = ("--zero", "--hold", "3s", "--timeout", "60s", "--", "echo", "go")
    with waiting(gpudash_command, driver, env, *words) as process:
        read_until(process, "holding for 3.0 s")
        driver.with_used(3, 512 * MIB).write()
        told = read_until(process, "was clear for")[-1]
        assert "GPU 3: +512 MiB" in told
        driver.write()
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "go\n")
    assert "holding for 3.0 s" in err
    lines = record(env)
    assert kinds(lines) == ["begin", "hold", "break", "hold", "proof", "start", "end"]
    broken = next(line for line in lines if line["kind"] == "break")
    proof = next(line for line in lines if line["kind"] == "proof")
    assert (broken["gpu_indices"], broken["delta_bytes"]) == ([3], 512 * MIB)
    assert [one["used_bytes"] for one in broken["readings"]][3] == 512 * MIB
    assert proof["first_host_s"] > broken["host_monotonic_s"]
    assert proof["last_host_s"] - proof["first_host_s"] >= 3.0


def test_what_is_held_is_waited_for(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    held = driver.with_used(0, MIB).write()
    with waiting(gpudash_command, held, env, "--zero", *FAST, "--", "echo", "go") as process:
        assert "GPU 0: 1 MiB held" in read_until(process, "waiting")[-1]
        driver.write()
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "go\n")


def test_a_scope_is_all_that_counts(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    held = driver.with_used(0, MIB).lose(1).write()
    done = gpudash_command(held, "wait", "--zero", "--gpu", "2-7", *FAST, "--", "echo", "go", **env)
    assert (done.code, done.out) == (0, "go\n")
    assert "6 of 6 GPUs" in done.err


# -- endings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda driver: driver.with_used(1, 1), 5, "timed out"),
        (lambda driver: driver.with_error(2, "MemoryInfo*", 999), 5, "timed out"),
        (lambda driver: driver.lose(3), 4, "GPU 3: lost"),
        (lambda driver: driver.with_gpu(4, recovery=1), 6, "GPU 4: the driver recommends: reset"),
        (lambda driver: driver.lose(3).with_gpu(2, recovery=1), 4, "GPU 3: lost"),
        (lambda driver: driver.unify(0), 4, "zero can't be proven"),
        (lambda driver: driver.with_init_error(9), 4, "driver"),
        (lambda driver: driver.with_init_error(18), 4, "versions differ"),
        (lambda driver: driver.with_state(gpus=()), 4, "0 GPUs"),
    ],
    ids=["held", "unreadable", "lost", "reset", "both", "unified", "9", "18", "none"],
)
def test_an_end_without_proof(
    gpudash_command: Runner,
    driver: FakeDriver,
    env: dict[str, str],
    change: Any,
    code: int,
    words: str,
) -> None:
    """What waiting can't mend ends it at once: within an hour nobody would wait for."""
    timeout = "500ms" if code == 5 else "1h"
    done = gpudash_command(
        change(driver).write(),
        *("wait", "--zero", "--hold", "250ms", "--timeout", timeout, "--", "echo", "go"),
        **env,
    )
    assert done.code == code
    assert words in done.err
    assert done.out == ""
    assert record(env)[-1]["exit_code"] == code


def test_a_gpu_that_is_lost_in_the_hold_ends_it(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    words = ("--zero", "--hold", "1h", "--timeout", "1h", "--", "echo", "go")
    with waiting(gpudash_command, driver, env, *words) as process:
        read_until(process, "holding for")
        driver.lose(5).write()
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (4, "")
    assert "GPU 5: lost" in err


def test_a_host_that_never_answers_is_3(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    words = ("local", "ana@127.0.0.1:1", "--zero", "--hold", "250ms", "--timeout", "2s")
    done = gpudash_command(driver, "wait", *words, **env)
    assert done.code == 3
    assert "ana@127.0.0.1:1 never answered within 2.0 s" in done.err


def test_a_driver_that_hangs_is_5(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    hung = driver.with_delay(None, "Init*", "forever").write()
    done = gpudash_command(hung, "wait", "--zero", "--timeout", "1s", **env)
    assert done.code == 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_is_130_and_leaves_nobody(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str], number: signal.Signals
) -> None:
    words = ("--zero", "--hold", "1h", "--timeout", "1h", "--", "echo", "go")
    with waiting(gpudash_command, driver, env, *words) as process:
        read_until(process, "holding for")
        probes = children_of(process.pid)
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert probes
    wait_for(lambda: not any(is_running(pid) for pid in probes))
    assert (record(env)[-1]["exit_code"], record(env)[-1]["says"]) == (130, "interrupted")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_interrupted_as_soon_as_the_record_begins(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str], number: signal.Signals
) -> None:
    records = Path(env["XDG_STATE_HOME"]) / "gpudash" / "records"
    with waiting(gpudash_command, driver, env, "--zero", "--hold", "1h") as process:
        while not list(records.glob("*.jsonl")):
            assert process.poll() is None
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode == 130
    assert (record(env)[-1]["exit_code"], record(env)[-1]["says"]) == (130, "interrupted")


def test_what_nohup_ignores_stays_ignored(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    """And what the shell ignored for a job in the background is ignored in the command too."""
    show = "grep SigIgn /proc/self/status"
    words = shlex.join(command("wait", "--zero", "--hold", "2s", "--", "sh", "-c", show))
    with subprocess.Popen(
        ["sh", "-c", f"trap '' HUP INT; exec {words}"],
        env=gpudash_command.env(driver, **env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        read_until(process, "holding for")
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    ignored = int(out.split()[1], 16)
    numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGPIPE)
    assert [bool(ignored >> (number - 1) & 1) for number in numbers] == [True, True, False]


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (("sh", "-c", "exit 77"), 77),
        (("sh", "-c", "kill -9 $$"), 137),
        (("no-such-command",), 127),
        (("/",), 126),
    ],
    ids=["77", "137", "127", "126"],
)
def test_the_commands_exit_code_is_ours(
    gpudash_command: Runner,
    driver: FakeDriver,
    env: dict[str, str],
    argv: tuple[str, ...],
    code: int,
) -> None:
    done = gpudash_command(driver, "wait", "--zero", *FAST, "--", *argv, **env)
    assert done.code == code
    assert record(env)[-1]["exit_code"] == code


def test_no_handle_of_ours_is_open_when_the_command_starts(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    """A reset may be the command."""
    show = 'ls /proc/$PPID/task/*/children | xargs cat; echo "self $$"'
    done = gpudash_command(driver, "wait", "--zero", *FAST, "--", "sh", "-c", show, **env)
    children, own = done.out.split("self")
    assert children.split() == own.split()


def test_secrets_of_the_command_are_not_recorded(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    words = ("--", "echo", "--api-key", "hunter2", "HF_TOKEN=hunter2")
    done = gpudash_command(driver, "wait", "--zero", *FAST, *words, **env)
    assert done.out == "--api-key hunter2 HF_TOKEN=hunter2\n"
    assert "hunter2" not in done.err
    assert "hunter2" not in json.dumps(record(env))


def test_a_record_that_can_not_be_written_is_told_and_holds_up_nothing(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    Path(env["XDG_STATE_HOME"]).touch()
    done = gpudash_command(driver, "wait", "--zero", *FAST, "--", "echo", "go", **env)
    assert (done.code, done.out) == (0, "go\n")
    assert "the record can't be written" in done.err


# -- words -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--zero", "--gpus", "2"),
        ("--gpus", "0"),
        ("--gpus", "x"),
        ("--zero", "--free", "1GiB"),
        ("--gpus", "2", "--free", "40"),
        ("--gpus", "2", "--free", "0GiB"),
        ("--gpus", "2", "gpu-a"),
        ("--gpus", "2", "--as", "name"),
        ("--gpus", "9"),
        ("--zero", "--hold", "10"),
        ("--zero", "--hold", "10ms"),
        ("--zero", "--hold", "2h"),
        ("--zero", "--timeout", "soon"),
        ("--zero", "--gpu", "9"),
        ("--zero", "--format", "xml"),
        ("--zero", "--"),
        ("--zero", "--", ""),
        ("--zero", "--format", "json", "--", "echo", "go"),
        ("--zreo",),
    ],
    ids=" ".join,
)
def test_wrong_words_start_nothing(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str], words: tuple[str, ...]
) -> None:
    done = gpudash_command(driver, "wait", *words, **env)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("gpudash: ")


# -- what is printed ---------------------------------------------------------------------------


def test_json(gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]) -> None:
    done = gpudash_command(driver, "wait", "--zero", *FAST, "--format", "json", **env)
    document = json.loads(done.out)
    schema.check(document, schema.WAIT)
    assert (done.code, document["exit_code"]) == (0, 0)
    (proof,) = document["proofs"]
    assert (proof["state"], proof["basis"]) == ("PROVEN", "zero")
    assert document["record"] == record(env)[0]["run"]


def test_other_formats(gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]) -> None:
    done = gpudash_command(driver, "wait", "--zero", *FAST, **env)
    assert done.out.startswith("PROVEN: local: 8 of 8 GPUs at 0 MiB, held 0.")
    done = gpudash_command(driver, "wait", "--zero", *FAST, "--format", "csv", **env)
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["state"] for row in rows] == ["PROVEN"] * 8
    done = gpudash_command(driver, "wait", "--zero", *FAST, "--format", "jsonl", **env)
    schema.check(
        json.loads(done.out), {"schema": {"gpudash.wait/1"}, "record": (str,), **schema.PROOF}
    )
    held = driver.with_used(0, 1).write()
    done = gpudash_command(held, "wait", "--zero", "--timeout", "500ms", **env)
    assert done.out.startswith("NOT PROVEN: timed out")
