"""The other commands, and what each of them loads."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpudash import __version__
from gpudash.sources import shipping
from tests.cli import schema
from tests.cli.running import Runner
from tests.fake_driver import FakeDriver

# -- doctor ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "driver"),
    [
        (0, lambda driver: driver),
        (0, lambda driver: driver.with_used(0, 1)),
        (4, lambda driver: driver.lose(3)),
        (6, lambda driver: driver.with_gpu(3, recovery=1)),
        (4, lambda driver: driver.with_init_error(9)),
        (0, lambda driver: driver.with_error(0, "ComputeRunningProcesses*", 999)),
    ],
)
def test_doctor(
    gpudash_command: Runner, fake_driver: FakeDriver, code: int, driver: object
) -> None:
    changed = driver(fake_driver).write()  # type: ignore[operator]
    done = gpudash_command(changed, "doctor", "--format", "json")
    document = json.loads(done.out)
    schema.check(document, schema.DOCTOR)
    assert (done.code, done.err) == (code, "")
    states = {finding["state"] for finding in document["findings"]}
    assert ("fail" in states) is (code != 0)
    if code:
        assert any(finding["advice"] for finding in document["findings"])


def test_doctor_without_library(gpudash_command: Runner) -> None:
    done = gpudash_command(None, "doctor")
    assert done.code == 4
    assert "libnvidia-ml.so.1 was not found" in done.out


def test_doctor_formats(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    for line in gpudash_command(fake_driver, "doctor", "--format", "jsonl").out.splitlines():
        schema.check(json.loads(line), schema.DOCTOR_LINE)
    rows = csv.DictReader(io.StringIO(gpudash_command(fake_driver, "doctor", "--format=csv").out))
    assert {"gpudash", "driver", "GPUs"} <= {row["what"] for row in rows}
    assert gpudash_command(fake_driver, "doctor", "--format", "smi").code == 2


def test_show_probe_is_what_is_sent(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    done = gpudash_command(fake_driver, "doctor", "--show-probe")
    assert (done.code, done.err) == (0, "")
    assert shipping.COMMAND in done.out.replace('\\"', '"')
    for document in (shipping.sampler_payload(), shipping.hand_payload()):
        sent = json.loads(document)
        assert sent["bootstrap"] in done.out
        for name, text in (*sent["modules"], *sent["spare"]):
            assert f"# ---- {name}\n{text}" in done.out


# -- the front door ----------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("--version",), ("-V",)])
def test_version(gpudash_command: Runner, words: tuple[str, ...]) -> None:
    done = gpudash_command(None, *words)
    assert (done.code, done.out, done.err) == (0, f"gpudash {__version__}\n", "")


@pytest.mark.parametrize("words", [("--help",), ("-h",), ("help",)])
def test_help(gpudash_command: Runner, words: tuple[str, ...]) -> None:
    done = gpudash_command(None, *words)
    assert (done.code, done.err) == (0, "")
    assert "exit codes" in done.out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("chekc",), "gpudash check"),
        (("docter",), "gpudash doctor"),
        (("sream",), "gpudash stream"),
        (("wiat",), "gpudash wait"),
        (("claen",), "gpudash clean"),
        (("explian",), "gpudash explain"),
        (("basline",), "gpudash baseline"),
        (("dmeo",), "gpudash demo"),
        (("demo", "trainig"), "training"),
    ],
    ids=" ".join,
)
def test_a_typo_names_the_nearest(
    gpudash_command: Runner, words: tuple[str, ...], hint: str
) -> None:
    done = gpudash_command(None, *words)
    assert (done.code, done.out) == (2, "")
    assert hint in done.err


def test_a_bug_is_never_a_verdict(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    """Python's own code for a traceback is 1: that would read as HELD."""
    script = (
        "import sys\n"
        "from gpudash.cli import main\n"
        "from gpudash.cli.commands import doctor\n"
        "doctor.run = lambda words: 1 / 0\n"
        "sys.exit(main.run(['doctor']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-Pc", script],
        env=gpudash_command.env(fake_driver),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 4
    assert "this is a bug in gpudash: ZeroDivisionError" in done.stderr


# -- what is loaded ----------------------------------------------------------------------------

HEAVY = ("textual", "rich", "plotext", "asyncssh", "gpudash.ui", "gpudash.probe", "pynvml")
SCRIPT = """
import os, sys
from gpudash.__main__ import main
path = sys.argv.pop(1)
try:
    code = main()
except SystemExit as end:
    code = end.code
open(path, "w").write("\\n".join(sys.modules))
sys.stdout.flush()
os._exit(int(code or 0))
"""


def loaded(
    runner: Runner, driver: FakeDriver | None, folder: Path, *words: str, **changes: str
) -> set[str]:
    path = folder / "modules"
    done = subprocess.run(
        [sys.executable, "-Pc", SCRIPT, str(path), *words],
        env=runner.env(driver, **changes),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode in (0, 1, 2, 4), done.stderr
    names = path.read_text().split("\n")
    return {".".join(parts[:2]) for name in names if (parts := name.split("."))} | set(names)


@pytest.mark.parametrize(
    "words",
    [
        ("--help",),
        ("--version",),
        ("check",),
        ("check", "--help"),
        ("check", "--format", "xml"),
        *(("check", "--format", wanted) for wanted in ("csv", "json", "jsonl", "smi", "table")),
        ("doctor",),
        ("doctor", "--show-probe"),
        ("stream", "--count", "1"),
        ("hosts",),
        ("hosts", "node[01-32]"),
        ("config",),
        ("config", "validate"),
        ("config", "--defaults"),
        ("baseline", "list"),
        ("explain",),
        ("explain", "--list"),
        ("check", "--strict"),
        ("check", "--hold", "250ms"),
        ("wait", "--zero", "--hold", "250ms"),
        ("wait", "--gpus", "1", "--hold", "250ms"),
        ("follow", "--log", "/dev/null", "--once"),
        ("follow", "--help"),
        ("clean", "--dry-run"),
        ("run", "--zero", "--hold", "250ms", "--", "true"),
    ],
    ids=" ".join,
)
def test_headless_commands_load_no_screen(
    gpudash_command: Runner, fake_driver: FakeDriver, tmp_path: Path, words: tuple[str, ...]
) -> None:
    driver = fake_driver.with_used(0, 1).lose(1).write()
    names = loaded(gpudash_command, driver, tmp_path, *words)
    assert "gpudash.cli.main" in names
    assert not names & set(HEAVY)
    if words[0] not in ("stream", "wait", "clean", "run") and "--hold" not in words:
        assert "asyncio" not in names
    if words[0] == "check":
        assert not names & {"ClusterShell", "tomllib", "gpudash.config.load"}
    assert not names & {"yaml", "ClusterShell.NodeSet"}


def test_the_probe_loads_nothing_of_the_machine(
    gpudash_command: Runner, fake_driver: FakeDriver
) -> None:
    """A user's sitecustomize and PYTHON… variables don't reach the probe."""
    folder = gpudash_command.folder / "evil"
    folder.mkdir(exist_ok=True)
    (folder / "pynvml.py").write_text("raise SystemExit(3)")
    (folder / "json.py").write_text("raise SystemExit(3)")
    from gpudash.sources.oneshot import python_argv
    from gpudash.sources.process import Child
    from tests.probe.running import reaped

    env = fake_driver.env() | {"PYTHONPATH": str(folder), "PYTHONSTARTUP": str(folder / "json.py")}
    child = Child(python_argv(), env)
    child.write(shipping.with_options(shipping.sampler_payload(), b'{"token":"t","once":true}'))
    try:
        assert reaped(child) == 0
        assert child.errors() == ""
    finally:
        child.end()
    assert os.environ.get("PYTHONPATH") != str(folder)
