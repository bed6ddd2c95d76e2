"""The probe under every older Python that is found here; which ones is printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from gpudash.core.events import Ack, Hello, Sample, Scanned
from gpudash.sources import shipping
from tests.fake_driver import FakeDriver, Process
from tests.probe.running import Program, cut_sampler

OLDEST, NEWEST = (3, 6), (3, 15)


@cache
def version_of(python: str) -> tuple[int, int] | None:
    """Return the version that a program says it is; None where it does not run."""
    command = [python, "-ISBc", "import sys; print('%d.%d' % sys.version_info[:2])"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    match = re.fullmatch(r"(\d+)\.(\d+)\n", done.stdout)
    return (int(match[1]), int(match[2])) if match and done.returncode == 0 else None


@cache
def pythons() -> dict[str, str]:
    """Return one program for each version between the oldest and the newest."""
    names = [f"python3.{minor}" for minor in range(OLDEST[1], NEWEST[1])] + ["python3"]
    found = [shutil.which(name) for name in names]
    versions = Path.home() / ".pyenv" / "versions"
    found += [str(path) for path in sorted(versions.glob("3.*/bin/python3"))]
    found.append(sys.executable)
    by_version: dict[str, str] = {}
    for python in found:
        version = version_of(python) if python else None
        if python and version and version >= OLDEST:
            by_version.setdefault(f"{version[0]}.{version[1]}", python)
    return by_version


@pytest.mark.parametrize("version", sorted(pythons(), key=lambda v: int(v.split(".")[1])))
def test_sampler_and_hand(fake_driver: FakeDriver, version: str, tmp_path: Path) -> None:
    driver = fake_driver.with_process(0, Process(os.getpid(), 5)).with_used(0, 5).lose(1).write()
    python = pythons()[version]
    with Program(cut_sampler(), driver.env(), python=python, once=True) as program:
        program.to_end()
        assert program.child.errors() == ""
        assert program.status() == 0
    hello, sample = program.events[:2]
    assert isinstance(hello, Hello)
    assert isinstance(sample, Sample)
    assert hello.facts.python is not None
    assert hello.facts.python.startswith(f"{version}.")
    assert sample.readings[0].used_bytes == 5
    assert sample.readings[1].memory_code == 15
    with Program(shipping.hand_payload(), dict(os.environ), python=python) as hand:
        hand.send(1, "process", pids=[os.getpid()])
        hand.of("ack")
        hand.send(2, "scan", pids=[os.getpid()], all=True, maps=True, watch=0.01)
        assert hand.of("ack", id=2)["ok"]
        answer, scanned, _ = hand.events
        check = {"kind": "command", "argv": ["true"]}
        hand.send(3, "preflight", checks=[check, {"kind": "port_free", "port": 1}])
        assert [ok for ok, _ in hand.of("preflight")["results"]][:1] == [True]
        hand.send(4, "launch", argv=["sh", "-c", "exit 3"], cwd=str(tmp_path), login=True)
        assert hand.of("ack", id=4)["ok"]
        assert hand.of("exited")["code"] == 3
        hand.send(5, "launch", argv=["no-such-program"], cwd=str(tmp_path))
        assert "no such program" in hand.of("ack", id=5)["error"]
        follow_logs(hand, tmp_path)
        assert hand.child.errors() == ""
    assert isinstance(answer, Ack)
    assert isinstance(scanned, Scanned)
    assert scanned.scan.process(os.getpid()) is not None
    assert answer.processes[0].pid == os.getpid()


def follow_logs(hand: Program, folder: Path) -> None:
    """Let a hand read a file and a command, and ask a URL."""
    path = folder / "x.log"
    path.write_bytes(b"hello\n")
    hand.send(6, "tail", of={"path": str(path)}, once=True)
    hand.of("log", id=6, note="ended")
    hand.send(7, "tail", of={"argv": ["cat", str(path)]})
    assert hand.of("log", id=7, note="ended")["code"] == 0
    hand.send(8, "url", url="http://127.0.0.1:1/health", timeout_s=2)
    assert hand.of("url", id=8)["error"] == "refused"
    said = [line for line in hand.lines if line["t"] == "log" and line.get("data")]
    assert [line["data"] for line in said] == ["aGVsbG8K", "aGVsbG8K"]


def test_the_syntax_is_that_of_3_6() -> None:
    probe = Path(shipping.__file__).parent.parent / "probe"
    vermin = Path(sys.executable).with_name("vermin")
    command = [str(vermin), "-t=3.6-", "--no-tips", str(probe)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
