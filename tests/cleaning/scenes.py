"""Families for the scenes of `gpudash clean`, and what one run of it said."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.running import children_of, is_running, wait_for
from tests.fake_driver.holding import SCRIPT, holder_options
from tests.isolation.stage import FULL, GIB, ZERO, Stage, as_user

_SERVER = Path(__file__).with_name("server.py")
_STARTER = Path(__file__).with_name("starter.py")


@dataclass(frozen=True, slots=True)
class Cleaned:
    """What one `gpudash clean --format json` said."""

    code: int
    document: dict[str, Any]
    text: str

    @property
    def host(self) -> dict[str, Any]:
        (host,) = self.document["hosts"]
        assert isinstance(host, dict)
        return host

    @property
    def gpu_outcomes(self) -> list[str]:
        return [gpu["outcome"] for gpu in self.host["gpus"]]

    @property
    def fates(self) -> dict[int, str]:
        return {target["pid"]: target["fate"] for target in self.host["targets"]}

    @property
    def families(self) -> dict[int, dict[str, Any]]:
        return {family["root_pid"]: family for family in self.host["families"]}

    @property
    def planned(self) -> dict[int, dict[str, Any]]:
        return {family["root_pid"]: family for family in self.host["plan"]["families"]}


def read_cleaned(done: subprocess.CompletedProcess[bytes]) -> Cleaned:
    text = done.stdout.decode() + done.stderr.decode()
    assert done.stdout, text
    return Cleaned(done.returncode, json.loads(done.stdout), text)


def clean(stage: Stage, *words: str, uid: int | None = None) -> Cleaned:
    """Run `gpudash clean` and read its report."""
    return read_cleaned(stage.gpudash("clean", "--format", "json", *words, uid=uid))


class Scene:
    """Processes of one scene."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def holder(self, *gpus: int, **options: Any) -> int:
        return self.stage.holder(*gpus, **options).pid

    def bystander(self) -> int:
        """Start a Python that has nothing to do with any GPU."""
        pid, _ = self.stage.start([sys.executable, "-c", "print(flush=True); input()"])
        return pid

    def holder_argv(self, *gpus: int, **options: Any) -> list[str]:
        """Return the words that start a holder of 1 GiB on each GPU."""
        standins = tuple((FULL, ZERO)[gpu] for gpu in gpus)
        driver = self.stage.driver
        words = holder_options(driver, gpus, GIB, devices=standins, **options)
        return [sys.executable, "-ISB", str(SCRIPT), *words]

    def holder_of(self, uid: int, *gpus: int, **options: Any) -> int:
        """Start a holder as another user from its first instruction on."""
        folder = self.stage.driver.folder
        folder.chmod(0o777)
        holds = Path(f"{self.stage.driver.env()['FAKE_NVML_STATE']}.holds")
        holds.touch()
        holds.chmod(0o666)
        pid, _ = self.stage.start([*as_user(uid), *self.holder_argv(*gpus, **options)])
        return pid

    def without_parent(self, how: str, *gpus: int, **options: Any) -> int:
        """Start a holder whose starter is dead: `orphan`, `nohup` or `setsid`."""
        argv = [sys.executable, "-ISB", str(_STARTER), how, "--"]
        _, line = self.stage.start([*argv, *self.holder_argv(*gpus, **options)])
        return int(line.split()[1])

    def shell(self, script: str) -> tuple[int, int]:
        """Start a shell that starts a holder; return the pids of both."""
        pid, line = self.stage.start(["/bin/sh", "-c", script])
        return pid, int(line.split()[1])

    def server(self, *workers: tuple[int, str], ignore_term: bool = False) -> list[int]:
        """Start a root without a GPU and its workers, each on a GPU under a title; their pids."""
        words: list[str] = []
        for gpu, title in workers:
            words += ["--"] if words else []
            words += self.holder_argv(gpu, retitle=title, ignore_term=ignore_term)
        _, line = self.stage.start([sys.executable, "-ISB", str(_SERVER), *words])
        return [int(word) for word in line.split()[1:]]

    def begin(self, *words: str) -> subprocess.Popen[bytes]:
        """Start `gpudash clean` and go on while it runs."""
        return self.stage.begin_gpudash("clean", "--format", "json", *words)

    def signals(self) -> list[tuple[int, str]]:
        """Return what the newest record says was sent, in order."""
        return [(line["pid"], line["signal"]) for line in self.lines("signal")]

    def lines(self, kind: str | None = None) -> list[dict[str, Any]]:
        """Return the lines of a kind, or all, in the newest record."""
        done = self.stage.gpudash("explain", "--format", "jsonl")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return [line for line in lines if kind in (None, line["kind"])]

    def records(self) -> list[Path]:
        """Return the records, the newest last."""
        return sorted(self.stage.folder.glob("home-*/.local/state/gpudash/records/*.jsonl"))

    def wait_for_line(self, kind: str, words: str = "") -> None:
        """Wait until the newest record has a line of this kind."""
        mark = f'"kind":"{kind}"'

        def is_there() -> bool:
            lines = self.records()[-1].read_text().splitlines() if self.records() else []
            return any(mark in line and words in line for line in lines)

        wait_for(is_there)

    def is_alive(self, pid: int) -> bool:
        return is_running(pid)

    def probes_of(self, pid: int) -> list[int]:
        """Return the probes that a gpudash started."""
        return children_of(pid)

    def hands_of(self, pid: int) -> list[int]:
        """Return the hands that a gpudash started: children without the driver's library."""
        maps = {child: Path(f"/proc/{child}/maps").read_text() for child in children_of(pid)}
        return [child for child, text in maps.items() if "libnvidia-ml" not in text]
