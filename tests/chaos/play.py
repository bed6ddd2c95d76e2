"""One cleanup of a host behind a real sshd, with a cast that is observed, and what came of it."""

from __future__ import annotations

import json
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gpudash.core.cleanup.phases import Phase
from gpudash.core.cleanup.unfinished import Unfinished, unfinished_of
from gpudash.services.record_files import list_runs, read_record
from tests.cleaning.scenes import Scene
from tests.cleaning.terminal import Terminal
from tests.cli.running import children_of, is_running, wait_for
from tests.isolation.stage import OTHER_UID, Stage
from tests.ssh.sshd import Home, Sshd, session_env

HERE = Path(__file__).parent
HOST = "gpu-a"
PATIENCE_S = 60


class Play:
    """The cast, the host, and gpudash at a terminal."""

    def __init__(self, stage: Stage, sshd: Sshd, gate: Path) -> None:
        self.stage = stage
        self.scene = Scene(stage)
        self.sshd = sshd
        self.gate = gate
        self.log = stage.folder / "observed.jsonl"
        family = self.scene.server((0, "sglang::scheduler_TP0"), (0, "sglang::scheduler_TP1"))
        self.targets = [*family, self.scene.holder(0, ignore_term=True)]
        self.others = [
            self.scene.bystander(),
            self.scene.holder_of(OTHER_UID, 1),
            self.scene.holder(1, title="nv-hostengine"),
        ]
        home, _ = stage.surroundings()
        self.records_folder = home / ".local/state/gpudash/records"
        self.observer, _ = stage.start(
            [
                *(sys.executable, "-ISB", str(HERE / "observer.py")),
                *(str(self.log), str(self.records_folder)),
                *map(str, [*self.targets, *self.others]),
            ]
        )
        self.staff = everybody()
        """Who was here before gpudash came, and may stay."""

    def begin(self, *words: str) -> Terminal:
        return Terminal(self.stage, "clean", HOST, *words)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Look until something is so; tell where everything stands when it never is."""
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            if time.monotonic() > deadline:
                raise AssertionError(self.state_of_things())
            select.select([], [], [], 0.005)

    def state_of_things(self) -> str:
        told = [f"{line['kind']}: {line['says']}" for line in self.lines]
        names = {pid: words_of(pid)[:4] for pid in self.strays()}
        return "\n".join(map(str, [*told, *self.observed, names, self.sshd.log]))

    # -- what is known of it -------------------------------------------------------------------

    @property
    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of all records, the oldest first."""
        paths = sorted(self.records_folder.glob("*.jsonl"))
        texts = [line for path in paths for line in path.read_bytes().splitlines(keepends=True)]
        return [json.loads(line) for line in texts if line.endswith(b"\n")]

    def of_kind(self, *kinds: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["kind"] in kinds]

    @property
    def phase(self) -> Phase | None:
        """Return where the cleanup is, as its record says."""
        lines = self.of_kind("phase")
        return Phase(lines[-1]["phase"]) if lines else None

    def unfinished(self) -> tuple[Unfinished, ...]:
        """Return the orders that the records don't close."""
        runs = list_runs(self.records_folder)
        return unfinished_of(read_record(self.records_folder, run) for run in runs)

    @property
    def observed(self) -> list[dict[str, Any]]:
        """Return what the observer wrote down."""
        text = self.log.read_text() if self.log.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def is_held(self) -> bool:
        return (self.gate / "held").exists()

    def open_gate(self) -> None:
        (self.gate / "open").touch()

    def is_unlocked(self) -> bool:
        """Tell whether another cleaner could take this host."""
        name = f"\0gpudash/clean/{Path('/proc/self/ns/pid').stat().st_ino}"
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(name) != 0

    def carrier(self) -> int:
        """Return the process that carries the order: it belongs to nobody."""
        (pid,) = (pid for pid in self.strays() & set(children_of(1)) if b"-ISBc" in words_of(pid))
        return pid

    def strays(self) -> set[int]:
        """Return who is here that came with gpudash."""
        return everybody() - self.staff


def words_of(pid: int) -> list[bytes]:
    """Return the command line of a process; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


def everybody() -> set[int]:
    """Return the processes of this room that run."""
    pids = [int(path.name) for path in Path("/proc").glob("[0-9]*")]
    return {pid for pid in pids if is_running(pid)}


@contextmanager
def playing(stage: Stage, spec: dict[str, object]) -> Iterator[Play]:
    """Set the stage: a home, an sshd, and on its host a gate that holds as the spec says."""
    gate = stage.folder / "gate"
    gate.mkdir()
    (gate / "spec.json").write_text(json.dumps(spec))
    tools = stage.folder / "bin"
    tools.mkdir()
    python = tools / "python3"
    words = [sys.executable, "-ISB", str(HERE / "gate.py"), str(gate), sys.executable]
    python.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    python.chmod(0o755)
    home = Home(stage.folder / "ssh")
    env = session_env(stage.driver, path=f"{tools}:/usr/bin:/bin")
    sshd = Sshd(stage.folder / "sshd", home.public, env=env).start()
    home.knows(sshd)
    home.name(HOST, sshd.port)
    stage.variables["PATH"] = f"{home.bin}:/usr/bin:/bin"
    try:
        wait_for(lambda: not sshd.sessions())
        yield Play(stage, sshd, gate)
    finally:
        sshd.stop()
