"""`gpudash clean --yes`, from the key to its exit, beside the sequence that it replaces.

Families are real processes with stand-in devices in a room of their own; the fake driver gives
memory back as soon as the last handle is closed, so what is measured is gpudash.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import tempfile
import time
from pathlib import Path

from tests.benchmarks.figures import Comparison, Metric
from tests.benchmarks.settings import Settings
from tests.cleaning.scenes import Scene, read_cleaned
from tests.isolation.room import play
from tests.isolation.stage import Stage

METRICS = (
    Metric("exit_s", "s to exit", 2),
    Metric("signal_s", "s to first signal", 2),
    Metric("zero_s", "s to zero", 2),
    Metric("code", "exit code", 0),
)
STATUS_QUO = "killall; sleep 2; fuser -k; sleep 3"
FIGURES = "figures.json"


def measure(settings: Settings) -> list[Comparison]:
    """Clean each family in a room of its own, then wait as the old sequence does."""
    found = Comparison("clean: one command, from the key to its exit", METRICS)
    for _ in range(min(settings.loops, 3)):
        for family, scene in SCENES.items():
            with tempfile.TemporaryDirectory() as folder:
                play(__name__, scene, Path(folder))
                found.add(family, json.loads((Path(folder) / FIGURES).read_text()))
        began = time.monotonic()
        subprocess.run(["/bin/sh", "-c", "sleep 2; sleep 3"], check=True)
        found.add(STATUS_QUO, {"exit_s": time.monotonic() - began})
    found.notes.append(
        "the old sequence sleeps for 5 s whatever is there, took 5.04 s on a real host, and proves "
        "nothing; a respawning family is watched until its memory could have come back"
    )
    return [found]


class cooperative:
    """Two holders that end when they are asked to."""

    @staticmethod
    def scene(stage: Stage) -> None:
        stage.holder(0)
        stage.holder(1)
        _clean(stage)


class sglang_shaped:
    """A root without a GPU and a renamed worker on each GPU."""

    @staticmethod
    def scene(stage: Stage) -> None:
        start_server(Scene(stage))
        _clean(stage)


class respawning:
    """A loop in a shell starts it again."""

    @staticmethod
    def scene(stage: Stage) -> None:
        scene = Scene(stage)
        scene.shell(f"while :; do {shlex.join(scene.holder_argv(0))}; done")
        _clean(stage)


SCENES = {
    "cooperative": "cooperative",
    "SGLang-shaped, root and 2 workers": "sglang_shaped",
    "respawning": "respawning",
}


def start_server(scene: Scene) -> list[int]:
    """Start a root and two workers; return their pids."""
    return scene.server(*((gpu, f"sglang::scheduler_TP{gpu}") for gpu in (0, 1)))


def _clean(stage: Stage) -> None:
    began = time.monotonic()
    done = stage.gpudash("clean", "--yes", "--format", "json")
    exit_s = time.monotonic() - began
    cleaned = read_cleaned(done)
    times = cleaned.host["times"]
    # The command's own clock starts at consent: what comes before is the start and the plan.
    before_s = exit_s - (times["ended_s"] or exit_s)
    figures = {
        "exit_s": exit_s,
        "signal_s": before_s + times["first_signal_s"],
        "zero_s": before_s + times["first_zero_s"] if times["first_zero_s"] is not None else None,
        "code": float(cleaned.code),
    }
    (stage.folder / FIGURES).write_text(json.dumps(figures))
