"""`gpudash check --hold` and baselines: a proof, and memory that somebody accepted as idle."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli import schema
from tests.cli.running import Runner, children_of, command, is_running, wait_for
from tests.fake_driver import MIB, FakeDriver, Process

HOLD = ("--hold", "250ms")


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def check_json(
    runner: Runner, driver: FakeDriver, env: dict[str, str], *words: str
) -> tuple[int, dict[str, Any]]:
    done = runner(driver, "check", *words, "--format", "json", **env)
    document = json.loads(done.out)
    schema.check(document, schema.CHECK)
    assert document["exit_code"] == done.code
    return done.code, document


# -- a proof -----------------------------------------------------------------------------------


def test_a_hold_is_proven(
    gpudash_command: Runner, fake_driver: FakeDriver, env: dict[str, str]
) -> None:
    code, document = check_json(gpudash_command, fake_driver, env, *HOLD)
    assert (code, document["verdict"], document["basis"]) == (0, "ZERO", "zero")
    proof = document["proof"]
    assert proof["state"] == "PROVEN"
    assert proof["hosts"][0]["evidence"]["held_s"] >= 0.25
    assert document["reach"] == proof["reach"]
    (path,) = Path(env["XDG_STATE_HOME"]).glob("gpudash/records/*.jsonl")
    assert path.stem == document["record"]
    done = gpudash_command(fake_driver, "check", *HOLD, **env)
    assert (done.code, "held 0." in done.out) == (0, True)


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda driver: driver.with_used(3, 512 * MIB), 1, "GPU 3: 512 MiB"),
        (lambda driver: driver.lose(3), 4, "GPU 3: lost"),
        (lambda driver: driver.with_gpu(3, recovery=1), 6, "reset"),
        (lambda driver: driver.with_error(3, "MemoryInfo*", 999), 4, "GPU 3"),
        (lambda driver: driver.with_init_error(9), 4, "driver"),
        (lambda driver: driver.with_state(gpus=()), 4, "0 GPUs"),
    ],
    ids=["held", "lost", "reset", "unreadable", "no driver", "none"],
)
def test_what_is_not_zero_is_told_at_once(
    gpudash_command: Runner,
    fake_driver: FakeDriver,
    env: dict[str, str],
    change: Any,
    code: int,
    words: str,
) -> None:
    """It is tried once: nobody waits for the hour."""
    driver = change(fake_driver).write()
    found, document = check_json(gpudash_command, driver, env, "--hold", "1h")
    assert (found, document["proof"]["state"]) == (code, "BROKEN")
    assert document["verdict"] != "ZERO"
    assert words in gpudash_command(driver, "check", "--hold", "1h", **env).err


def test_what_comes_in_the_middle_breaks_it(
    gpudash_command: Runner, fake_driver: FakeDriver, env: dict[str, str]
) -> None:
    words = ("check", "--hold", "1h", "--format", "json")
    with subprocess.Popen(
        command(*words),
        env=gpudash_command.env(fake_driver, **env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        records = Path(env["XDG_STATE_HOME"]) / "gpudash" / "records"
        wait_for(lambda: any('"kind":"hold"' in one.read_text() for one in records.glob("*")))
        fake_driver.with_used(5, MIB).write()
        out, _ = running.communicate(timeout=60)
    document = json.loads(out)
    schema.check(document, schema.CHECK)
    assert (running.returncode, document["verdict"]) == (1, "HELD")
    broken = document["proof"]["hosts"][0]["broken"]
    assert (broken["gpu_indices"], broken["delta_bytes"]) == ([5], MIB)


def test_interrupted_is_130(
    gpudash_command: Runner, fake_driver: FakeDriver, env: dict[str, str]
) -> None:
    with subprocess.Popen(
        command("check", "--hold", "1h"),
        env=gpudash_command.env(fake_driver, **env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        records = Path(env["XDG_STATE_HOME"]) / "gpudash" / "records"
        wait_for(lambda: any('"kind":"hold"' in one.read_text() for one in records.glob("*")))
        probes = children_of(running.pid)
        running.send_signal(signal.SIGINT)
        out, _ = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, b"")
    wait_for(lambda: not any(is_running(pid) for pid in probes))


# -- baselines ---------------------------------------------------------------------------------


def accept(runner: Runner, driver: FakeDriver, env: dict[str, str], *words: str) -> Any:
    return runner(driver, "baseline", "accept", *words, **env)


def test_a_baseline_passes_and_is_never_called_zero(
    gpudash_command: Runner, fake_driver: FakeDriver, env: dict[str, str]
) -> None:
    idle = fake_driver.with_used(3, 512 * MIB).write()
    assert check_json(gpudash_command, idle, env)[0] == 1
    done = accept(gpudash_command, idle, env, "--yes", "--format", "json")
    (accepted,) = json.loads(done.out)["accepted"]
    assert (done.code, accepted["used_bytes"], accepted["host"]) == (0, 512 * MIB, "local")
    assert "GPU 3: 512 MiB, nobody listed, driver 580.159.04" in done.err
    code, document = check_json(gpudash_command, idle, env)
    assert (code, document["verdict"], document["basis"]) == (0, "BASELINE", "baseline")
    assert document["clear"] == "no"
    code, document = check_json(gpudash_command, idle, env, *HOLD)
    assert (code, document["basis"], document["proof"]["basis"]) == (0, "baseline", "baseline")
    for words in (("--strict",), ("--strict", *HOLD)):
        code, document = check_json(gpudash_command, idle, env, *words)
        assert (code, document["verdict"]) == (1, "HELD")
    done = gpudash_command(idle, "check", **env)
    assert "BASELINE: 7 of 8 GPUs at 0 MiB, one reading; 1 at an accepted baseline" in done.out
    waited = gpudash_command(idle, "wait", "--zero", *HOLD, "--timeout", "60s", **env)
    assert (waited.code, "baseline" in waited.out) == (0, True)
    strict = ("wait", "--zero", "--strict", *HOLD, "--timeout", "500ms")
    assert gpudash_command(idle, *strict, **env).code == 5


def test_one_byte_more_or_another_driver_is_held(
    gpudash_command: Runner, fake_driver: FakeDriver, env: dict[str, str]
) -> None:
    idle = fake_driver.with_used(3, MIB).write()
    assert accept(gpudash_command, idle, env, "--yes").code == 0
    assert gpudash_command(idle.with_used(3, MIB + 1).write(), "check", **env).code == 1
    assert gpudash_command(idle.with_used(2, MIB).write(), "check", **env).code == 1
    assert gpudash_command(idle.with_state(driver="581.1").write(), "check", **env).code == 1
    assert gpudash_command(idle.with_used(3, MIB - 1).write(), "check", **env).code == 0
    assert gpudash_command(idle.write(), "check", GPUDASH_BASELINES="false", **env).code == 1


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda driver: driver.with_process(3, Process(4_194_303, MIB)), 1, "a process is listed"),
        (lambda driver: driver.with_process(3, Process(4_194_303, None)), 1, "listed"),
        (lambda driver: driver.with_error(3, "ComputeRunningProcesses*", 999), 1, "can't be read"),
        (lambda driver: driver.with_error(3, "MemoryInfo*", 999), 4, "can't be read"),
        (lambda driver: driver.lose(2), 4, "lost"),
        (lambda driver: driver.with_gpu(2, recovery=1), 6, "reset"),
        (lambda driver: driver.with_init_error(9), 4, "driver"),
    ],
    ids=["listed", "unsized", "no list", "unread", "lost", "reset", "no driver"],
)
def test_what_is_held_or_unknown_is_never_accepted(
    gpudash_command: Runner,
    fake_driver: FakeDriver,
    env: dict[str, str],
    change: Any,
    code: int,
    words: str,
) -> None:
    """One refusal and nothing is accepted at all."""
    driver = change(fake_driver.with_used(3, MIB).with_used(4, MIB)).write()
    done = accept(gpudash_command, driver, env, "--yes")
    assert (done.code, done.out) == (code, "")
    assert words in done.err
    assert "nothing was accepted" in done.err
    assert not (Path(env["XDG_STATE_HOME"]) / "gpudash" / "baselines.json").exists()


def test_nobody_here_to_say_yes(
    gpudash_command: Runner, fake_driver: FakeDriver, env: dict[str, str]
) -> None:
    idle = fake_driver.with_used(3, MIB).write()
    done = accept(gpudash_command, idle, env)
    assert (done.code, done.out) == (2, "")
    assert "--yes" in done.err
    assert gpudash_command(idle, "check", **env).code == 1
    assert accept(gpudash_command, fake_driver.write(), env).code == 0


def test_list_and_forget(
    gpudash_command: Runner, fake_driver: FakeDriver, env: dict[str, str]
) -> None:
    assert "No baseline" in gpudash_command(None, "baseline", "list", **env).out
    idle = fake_driver.with_used(3, MIB).with_used(4, MIB).write()
    assert accept(gpudash_command, idle, env, "--yes", "--gpu", "3").code == 0
    assert accept(gpudash_command, idle, env, "--yes").code == 0
    rows = csv.DictReader(
        io.StringIO(gpudash_command(None, "baseline", "list", "--format", "csv", **env).out)
    )
    uuids = [row["uuid"] for row in rows]
    assert len(uuids) == 2
    assert gpudash_command(None, "baseline", "forget", "elsewhere", **env).code == 2
    assert gpudash_command(None, "baseline", "forget", **env).code == 2
    assert gpudash_command(None, "baseline", "forget", uuids[0], **env).code == 0
    assert gpudash_command(idle, "check", **env).code == 1
    assert gpudash_command(None, "baseline", "forget", "local", **env).code == 0
    assert "No baseline" in gpudash_command(None, "baseline", "list", **env).out


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("acept",),
        ("list", "local"),
        ("list", "--yes"),
        ("accept", "--all"),
        ("forget", "--gpu", "1"),
        ("list", "--format", "smi"),
    ],
    ids=" ".join,
)
def test_wrong_words(gpudash_command: Runner, env: dict[str, str], words: tuple[str, ...]) -> None:
    done = gpudash_command(None, "baseline", *words, **env)
    assert (done.code, done.out) == (2, "")
    assert "HOST" not in done.err.splitlines()[0] or words == ("list", "local")


def test_a_hold_below_zero_is_named(gpudash_command: Runner, env: dict[str, str]) -> None:
    done = gpudash_command(None, "check", "--hold", "-1s", **env)
    assert (done.code, done.out) == (2, "")
    assert "--hold needs a value, which begins with no dash" in done.err


def test_a_damaged_store_stops_a_check(
    gpudash_command: Runner, fake_driver: FakeDriver, env: dict[str, str]
) -> None:
    folder = Path(env["XDG_STATE_HOME"]) / "gpudash"
    os.makedirs(folder)
    (folder / "baselines.json").write_text("{")
    done = gpudash_command(fake_driver, "check", **env)
    assert (done.code, done.out) == (2, "")
    assert "can't be read as accepted baselines" in done.err


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 2), (b"\n", 2), (b"\x04", 2)])
def test_a_person_is_asked(
    gpudash_command: Runner,
    fake_driver: FakeDriver,
    env: dict[str, str],
    answer: bytes,
    code: int,
) -> None:
    idle = fake_driver.with_used(3, MIB).write()
    master, slave = pty.openpty()
    with subprocess.Popen(
        command("baseline", "accept"),
        env=gpudash_command.env(idle, **env),
        stdin=slave,
        stdout=subprocess.PIPE,
        stderr=slave,
        start_new_session=True,
    ) as running:
        os.close(slave)
        seen = b""
        while b"[y/N]" not in seen:
            seen += os.read(master, 1000)
        assert b"GPU 3: 1 MiB" in seen
        os.write(master, answer)
        out, _ = running.communicate(timeout=60)
        os.close(master)
    assert (running.returncode, bool(out)) == (code, code == 0)
    assert gpudash_command(idle, "check", **env).code == (0 if code == 0 else 1)
