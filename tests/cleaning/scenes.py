"""Families for the scenes of `gpudash clean`, and what one run of it said."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from typing import Any

from tests.cli.running import is_running
from tests.isolation.stage import Stage


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


def clean(stage: Stage, *words: str, uid: int | None = None) -> Cleaned:
    """Run `gpudash clean` and read its report."""
    done = stage.gpudash("clean", "--format", "json", *words, uid=uid)
    text = done.stdout.decode() + done.stderr.decode()
    assert done.stdout, text
    return Cleaned(done.returncode, json.loads(done.stdout), text)


class Scene:
    """Processes of one scene."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage

    def holder(self, *gpus: int, **options: Any) -> int:
        return self.stage.holder(*gpus, **options).pid

    def bystander(self) -> int:
        """Start a Python that has nothing to do with any GPU."""
        return self.stage.start([sys.executable, "-c", "print(flush=True); input()"])

    def signals(self) -> list[tuple[int, str]]:
        """Return what the newest record says was sent, in order."""
        done = self.stage.gpudash("explain", "--format", "jsonl")
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        sent = (line for line in lines if line["kind"] == "signal")
        return [(line["pid"], line["signal"]) for line in sent]

    def is_alive(self, pid: int) -> bool:
        return is_running(pid)
