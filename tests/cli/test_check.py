"""`gpudash check`: the exit code is the truth, stdout is data, stderr is narration."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudash.core.families import INITIAL_PID_NAMESPACE
from tests.cli import schema
from tests.cli.running import Runner, children_of, command, is_running, wait_for
from tests.fake_driver import FOREVER, MIB, FakeDriver, Holder, Instance, Process

GOLDEN = Path(__file__).parent.parent / "data" / "golden"
FORMATS = {"table": "txt", "csv": "csv", "json": "json", "jsonl": "jsonl", "smi": "smi"}
Change = Callable[[FakeDriver], FakeDriver]


def with_mig(driver: FakeDriver) -> FakeDriver:
    instances = (Instance(1, 0, "MIG-a", "3g.71gb"), Instance(2, 0, "MIG-b", used=7 * MIB))
    return driver.with_gpu(0, mig=(1, 1), instances=instances, used=45 * MIB)


SCENES: dict[str, tuple[Change | None, int, str]] = {
    "zero": (lambda driver: driver, 0, "yes"),
    "one-byte": (lambda driver: driver.with_used(5, 1), 1, "no"),
    "busy": (lambda driver: driver.with_used(0, 70 << 30).with_gpu(0, util=97, temp=61), 1, "no"),
    "unreadable": (lambda driver: driver.with_error(2, "MemoryInfo*", 999), 4, "unknown"),
    "unreadable-and-held": (
        lambda driver: driver.with_error(2, "MemoryInfo*", 999).with_used(1, MIB),
        4,
        "no",
    ),
    "no-permission": (lambda driver: driver.with_error(2, "MemoryInfo*", 4), 4, "unknown"),
    "lost": (lambda driver: driver.lose(3), 4, "unknown"),
    "lost-handle": (lambda driver: driver.with_error(3, "HandleByIndex*", 15), 4, "unknown"),
    "needs-reset": (lambda driver: driver.with_gpu(4, recovery=1), 6, "unknown"),
    "reset-required": (lambda driver: driver.with_error(4, "MemoryInfo*", 16), 6, "unknown"),
    "lost-and-reset": (lambda driver: driver.lose(3).with_gpu(4, recovery=1), 4, "unknown"),
    "unified": (lambda driver: driver.unify(0), 4, "unknown"),
    "list-unreadable": (
        lambda driver: driver.with_error(1, "ComputeRunningProcesses*", 999),
        0,
        "yes",
    ),
    "full-utilisation": (lambda driver: driver.with_gpu(7, util=100), 0, "yes"),
    "mig": (with_mig, 1, "no"),
    "no-gpus": (lambda driver: driver.with_state(gpus=()), 4, "unknown"),
    "not-loaded": (lambda driver: driver.with_init_error(9), 4, "unknown"),
    "mismatch": (lambda driver: driver.with_init_error(18), 4, "unknown"),
    "no-library": (None, 4, "unknown"),
}


def driver_for(scene: str, fake_driver: FakeDriver) -> FakeDriver | None:
    change = SCENES[scene][0]
    return None if change is None else change(fake_driver).write()


def masked(text: str) -> str:
    """Return output without what differs from machine to machine: the boot, what was unreadable."""
    text = re.sub(r'("boot_id": ?)"[^"]+"', r'\1"BOOT"', text)
    text = re.sub(r'("reach": ?)\{[^}]*\}', r'\1"REACH"', text)
    return re.sub(r"^  .*not (readable|visible|scanned).*\n", "", text, flags=re.MULTILINE)


def check_golden(name: str, text: str) -> None:
    path = GOLDEN / name
    if os.environ.get("GPUDASH_UPDATE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text(), f"{path.name} differs; GPUDASH_UPDATE_GOLDEN=1 rewrites it"


@pytest.mark.parametrize(("answer", "code"), [(999, 4), (3, 0)], ids=["error", "not supported"])
@pytest.mark.parametrize("field", ["RemappedRows", "MigMode", "FieldValues"])
def test_health_that_can_not_be_told_forbids_zero(
    gpudash_command: Runner, fake_driver: FakeDriver, field: str, answer: int, code: int
) -> None:
    """What the driver does not have says nothing; what it has and does not answer may be bad."""
    driver = fake_driver.with_error(2, field, answer).write()
    done = gpudash_command(driver, "check", "--format", "json")
    document = json.loads(done.out)
    assert (done.code, document["clear"]) == (code, "unknown" if code else "yes")


@pytest.mark.parametrize("scene", SCENES)
def test_the_contract(gpudash_command: Runner, fake_driver: FakeDriver, scene: str) -> None:
    _, code, clear = SCENES[scene]
    driver = driver_for(scene, fake_driver)
    done = gpudash_command(driver, "check", "--format", "json")
    document = json.loads(done.out)
    schema.check(document, schema.CHECK)
    assert (done.code, document["exit_code"], document["clear"]) == (code, code, clear)
    assert (document["verdict"] == "ZERO") is (code == 0)
    assert bool(done.err) is (code in (4, 6))
    check_golden(f"check-{scene}.json", masked(done.out))
    check_golden(f"check-{scene}.err", done.err)


@pytest.mark.parametrize("wanted", ["table", "csv", "jsonl", "smi"])
@pytest.mark.parametrize("scene", ["zero", "busy", "one-byte", "lost", "mig", "no-library"])
def test_the_formats(
    gpudash_command: Runner, fake_driver: FakeDriver, scene: str, wanted: str
) -> None:
    done = gpudash_command(driver_for(scene, fake_driver), "check", "--format", wanted)
    assert done.code == SCENES[scene][1]
    assert done.out.endswith("\n") or (wanted == "smi" and scene == "no-library")
    if wanted == "jsonl":
        for line in done.out.splitlines():
            schema.check(json.loads(line), schema.CHECK_LINE)
    if wanted == "csv":
        rows = list(csv.DictReader(io.StringIO(done.out)))
        assert len(rows) == (8 if scene != "no-library" else 1)
    check_golden(f"check-{scene}.{FORMATS[wanted]}", masked(done.out))


def test_a_table_is_what_comes_without_a_format(
    gpudash_command: Runner, fake_driver: FakeDriver
) -> None:
    plain = gpudash_command(fake_driver, "check")
    assert plain == gpudash_command(fake_driver, "check", "local", "--format", "table")
    assert plain.out.splitlines()[-1] == "ZERO: 8 of 8 GPUs at 0 MiB, one reading  (exit 0)"


# -- what is wrong with the words --------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("--fromat", "json"), "--format"),
        (("--format", "jsn"), "json"),
        (("--format",), ""),
        (("--expect", "zeor"), "zero"),
        (("--expect", "free"), "free:2"),
        (("--expect", "free:0"), ""),
        (("--expect", "free:x"), "free:2"),
        (("--gpu", "x"), "0-3"),
        (("--gpu", "3-1"), "1-3"),
        (("--gpu", ""), ""),
        (("--gpu", "8"), "0, 1"),
        (("--gpu", "GPU-ffff"), ""),
        (("--gpu", "elsewhere:0"), "local"),
        (("--hold", "10"), "10s"),
        (("--hold", "10ms"), ""),
        (("--hold", "10s", "--expect", "healthy"), "wait --gpus"),
    ],
    ids=" ".join,
)
def test_wrong_words_are_exit_2(
    gpudash_command: Runner, fake_driver: FakeDriver, words: tuple[str, ...], hint: str
) -> None:
    done = gpudash_command(fake_driver, "check", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("gpudash: ")
    assert hint in done.err


def test_wrong_words_come_before_a_missing_driver(gpudash_command: Runner) -> None:
    assert gpudash_command(None, "check", "--format", "xml").code == 2
    assert gpudash_command(None, "chekc").code == 2


def test_help_needs_no_driver(gpudash_command: Runner) -> None:
    done = gpudash_command(None, "check", "--help")
    assert (done.code, done.err) == (0, "")
    assert "--expect" in done.out


# -- scope and expectation ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "code", "indices"),
    [
        ("0-1", 0, [0, 1]),
        ("2", 1, [2]),
        ("0,2", 1, [0, 2]),
        ("3", 4, [3]),
        ("2-3", 4, [2, 3]),
        ("local:5-7", 0, [5, 6, 7]),
        ("GPU-00000000-0000-0000-0000-000000000002", 1, [2]),
        ("0000:19:00.0", 0, [0]),
    ],
)
def test_scope(
    gpudash_command: Runner, fake_driver: FakeDriver, scope: str, code: int, indices: list[int]
) -> None:
    driver = fake_driver.with_used(2, MIB).lose(3).write()
    done = gpudash_command(driver, "check", "--gpu", scope, "--format", "json")
    document = json.loads(done.out)
    assert done.code == code
    assert document["scope"] == scope
    assert [gpu["index"] for gpu in document["hosts"][0]["gpus"]] == indices


@pytest.mark.parametrize(
    ("scene", "expect", "code"),
    [
        ("busy", "zero", 1),
        ("busy", "healthy", 0),
        ("lost", "healthy", 4),
        ("needs-reset", "healthy", 6),
        ("not-loaded", "healthy", 4),
        ("busy", "free:7", 0),
        ("busy", "free:8", 1),
        ("zero", "free:8", 0),
        ("zero", "free:9", 1),
        ("unreadable", "free:7", 0),
        ("unreadable", "free:8", 4),
        ("unreadable-and-held", "free:8", 1),
        ("needs-reset", "free:8", 6),
        ("not-loaded", "free:1", 4),
        ("no-gpus", "free:1", 4),
    ],
)
def test_expectations(
    gpudash_command: Runner, fake_driver: FakeDriver, scene: str, expect: str, code: int
) -> None:
    driver = driver_for(scene, fake_driver)
    done = gpudash_command(driver, "check", "--expect", expect, "--format", "json")
    assert done.code == code
    document = json.loads(done.out)
    assert (document["expect"], document["exit_code"]) == (expect, code)
    if code and expect.startswith("free"):
        wanted = expect.partition(":")[2]
        assert re.search(rf"{wanted} GPUs? at zero (is|are) wanted: \d of \d", done.err)


# -- who holds it ------------------------------------------------------------------------------


def in_a_container() -> bool:
    return Path("/proc/self/ns/pid").stat().st_ino != INITIAL_PID_NAMESPACE


def test_a_holder_is_named(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    with Holder(fake_driver, (1,), 300 * MIB) as holder:
        done = gpudash_command(fake_driver, "check", "--format", "json")
        table = gpudash_command(fake_driver, "check", "--gpu", "1").out
        elsewhere = gpudash_command(fake_driver, "check", "--gpu", "0").out
    assert done.code == 1
    document = json.loads(done.out)
    schema.check(document, schema.CHECK)
    (process,) = document["hosts"][0]["gpus"][1]["processes"]
    assert (process["pid"], process["used_bytes"], process["type"]) == (holder.pid, 300 * MIB, "C")
    assert "300 MiB held, 1 holder listed" in table
    assert "ZERO: 1 of 1 GPU" in elsewhere
    if not in_a_container():
        assert (process["name"], process["uid"], process["owner"]) == (
            "holder.py",
            os.getuid(),
            "mine",
        )
        assert f"holder.py (pid {holder.pid}" in table


def test_a_dead_holder_is_said_to_be_gone(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    driver = fake_driver.with_used(0, MIB).with_process(0, Process(4_194_303, MIB)).write()
    document = json.loads(gpudash_command(driver, "check", "--format", "json").out)
    (process,) = document["hosts"][0]["gpus"][0]["processes"]
    assert process["is_gone"] is not in_a_container()
    assert process["name"] is None


def test_a_process_of_unknown_size_is_no_zero(
    gpudash_command: Runner, fake_driver: FakeDriver
) -> None:
    driver = fake_driver.with_process(0, Process(4_194_303, None)).write()
    assert gpudash_command(driver, "check").code == 4


# -- pipes, signals, odd terminals -------------------------------------------------------------


def test_nobody_reads_and_the_code_still_counts(
    gpudash_command: Runner, fake_driver: FakeDriver
) -> None:
    env = gpudash_command.env(fake_driver.with_used(0, 1).write())
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command("check"), env=env, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("closed", [1, 2])
def test_a_closed_stream_changes_nothing_else(
    gpudash_command: Runner, fake_driver: FakeDriver, closed: int
) -> None:
    env = gpudash_command.env(fake_driver.lose(0).write())
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}>&-', "sh", *command("check", "--format", "json")],
        env=env,
        capture_output=True,
    )
    assert done.returncode == 4
    if closed == 2:
        schema.check(json.loads(done.stdout), schema.CHECK)
    else:
        assert b"Traceback" not in done.stderr


def test_a_full_disk_is_said_and_is_no_verdict(
    gpudash_command: Runner, fake_driver: FakeDriver
) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command("check"),
            env=gpudash_command.env(fake_driver),
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 4
    assert done.stderr.startswith(b"gpudash: stdout can't be written")


def test_an_old_encoding_is_written_to(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    driver = fake_driver.with_gpu(0, name="NVIDIA \N{GREEK SMALL LETTER MU}200").write()
    for words in ((), ("--format", "json"), ("--format", "csv")):
        done = gpudash_command(driver, "check", *words, PYTHONIOENCODING="ascii")
        assert done.code == 0
        assert done.out.isascii()


def test_ctrl_c_is_130_and_leaves_nobody(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    hung = fake_driver.with_delay(None, "Init*", FOREVER).write()
    with subprocess.Popen(
        command("check"),
        env=gpudash_command.env(hung),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        wait_for(lambda: bool(children_of(running.pid)))
        probes = children_of(running.pid)
        running.send_signal(signal.SIGINT)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out) == (130, b"")
    # It may come in the middle of an import, whose open file the tests' interpreter then names.
    assert b"KeyboardInterrupt" not in err
    wait_for(lambda: not any(is_running(pid) for pid in probes))


def test_a_hung_driver_is_unknown(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    hung = fake_driver.with_delay(2, "MemoryInfo*", FOREVER).write()
    done = gpudash_command(hung, "check", "--format", "json")
    document = json.loads(done.out)
    schema.check(document, schema.CHECK)
    assert (done.code, document["clear"]) == (4, "unknown")
    assert document["hosts"][0]["problem"]["title"] == "driver hangs"


def test_a_name_that_is_an_attack_stays_one_clean_line(
    gpudash_command: Runner, fake_driver: FakeDriver
) -> None:
    driver = fake_driver.with_gpu(0, name="\x1b[31mH200\x1b]0;x\x07").write()
    for wanted in ("table", "csv", "json", "jsonl"):
        done = gpudash_command(driver, "check", "--format", wanted)
        assert done.code == 0
        assert "\x07" not in done.out


def test_a_scope_said_twice_means_both(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    held = fake_driver.with_used(1, 5).write()
    done = gpudash_command(held, "check", "--gpu", "1", "--gpu", "0", "--format", "json")
    document = json.loads(done.out)
    assert done.code == 1
    assert [gpu["index"] for gpu in document["hosts"][0]["gpus"]] == [0, 1]
    assert document["scope"] == "1,0"


def test_what_nvidia_smi_reads_of_health_votes(
    gpudash_command: Runner, fake_driver: FakeDriver
) -> None:
    """NVML can't be used and nvidia-smi can: a GPU that needs a reset is 6 here as well."""
    sick = fake_driver.with_gpu(0, recovery=1).write()
    env = sick.env(smi=True)
    library = env["LD_LIBRARY_PATH"].split(os.pathsep)[0]
    smi = Path(env["PATH"].split(os.pathsep)[0]) / "nvidia-smi"
    smi.write_text(smi.read_text().replace("exec ", f"LD_LIBRARY_PATH={library} exec ", 1))
    state = env["FAKE_NVML_STATE"]
    words = ("check", "--format", "json")
    done = gpudash_command(None, *words, PATH=env["PATH"], FAKE_NVML_STATE=state)
    document = json.loads(done.out)
    assert (document["hosts"][0]["source"], done.code) == ("nvidia-smi", 6)
    assert document["clear"] != "yes"


@pytest.mark.parametrize("words", [(), ("--hold", "500ms"), ("local",)])
def test_fewer_gpus_than_the_configuration_expects_are_never_zero(
    gpudash_command: Runner, fake_driver: FakeDriver, tmp_path: Path, words: tuple[str, ...]
) -> None:
    config = tmp_path / "config.toml"
    config.write_text("[hosts.local]\ngpus = 9\n")
    config.chmod(0o644)
    env = {"GPUDASH_CONFIG": str(config)}
    done = gpudash_command(fake_driver, "check", *words, "--format", "json", **env)
    assert done.code == 4
    document = json.loads(done.out)
    assert document["clear"] == "unknown"
    assert "the configuration expects it, and this host does not list it" in done.out + done.err
    config.write_text("[hosts.local]\ngpus = 8\n")
    assert gpudash_command(fake_driver, "check", *words, "--format", "json", **env).code == 0
