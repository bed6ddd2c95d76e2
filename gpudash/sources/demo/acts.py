"""The scene of the whole job: leftovers, and once they are gone a launch, then the next one.

What was ended by orders decides when the next act begins, so this tenant alone knows the deeds of
its host. Between zero and a launch there is time to see ALL CLEAR.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpudash.sources.demo.deeds import Deeds
from gpudash.sources.demo.jobs import FAILED_S, READY_S, load, memory_mib
from gpudash.sources.demo.logs import RANKS, Script
from gpudash.sources.demo.machine import Holding
from gpudash.sources.demo.tasks import (
    ROOT,
    Task,
    sglang_scheduler,
    sglang_server,
    torch_rank,
    torchrun,
)
from gpudash.sources.demo.tenants import Crashed

ACTS = ("serve", "oom", "train")
AFTER_S = 16.0
"""From zero to the next launch: a proof of 10 s, and a moment to read it."""
_FIRST_PID, _STEP_PIDS = 51_102, 613
_FLAGS = {
    "serve": ("--mem-fraction-static", "0.9", "--cuda-graph-max-bs", "64"),
    "oom": ("--mem-fraction-static", "0.97", "--cuda-graph-max-bs", "160"),
}
MODEL = "Qwen3-235B-A22B-FP8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One job that was launched."""

    job: str
    began_s: float
    number: int
    unix_s: float
    """Wall clock at demo time 0."""

    @property
    def pid(self) -> int:
        """Return the pid of its root."""
        return _FIRST_PID + self.number * _STEP_PIDS % 9_000

    @property
    def script(self) -> Script:
        """Return its log."""
        return Script(name=self.job, pid=self.pid, unix_s=self.unix_s + self.began_s)

    @property
    def is_doomed(self) -> bool:
        """Tell whether it fails by itself."""
        return self.job == "oom"

    def root(self) -> Task:
        """Return the process that was launched."""
        if self.job == "train":
            return torchrun(self.pid, self.began_s, ROOT, RANKS)
        server = sglang_server(self.pid, self.began_s, MODEL, RANKS)
        return replace(server, argv=(*server.argv, *_FLAGS[self.job]), clients=0)

    def rank(self, rank: int, at_s: float) -> Task:
        """Return one rank: an orphan once its root has ended by itself."""
        root: Task | None = self.root()
        if self.is_doomed and at_s >= self.began_s + FAILED_S:
            root = None
        if self.job == "train":
            return torch_rank(self.pid + 67 + rank, self.began_s + 3.0, ROOT, root)
        return sglang_scheduler(self.pid + 111 + rank, self.began_s + 3.0, rank, root)

    def pids(self) -> tuple[int, ...]:
        """Return root and ranks."""
        return self.pid, *(self.rank(rank, 0.0).pid for rank in range(RANKS))

    def holdings(self, at_s: float, seed: int) -> tuple[Holding, ...]:
        """Return what its ranks hold."""
        after_s = at_s - self.began_s
        is_over = self.is_doomed and after_s >= FAILED_S
        heat = min(0.9, max(0.0, after_s - READY_S.get(self.job, 60.0)) / 60)
        held = []
        for rank in range(RANKS):
            if mib := memory_mib(self.job, rank, after_s):
                busy = 0.0 if is_over else load(self.job, rank, after_s, seed, at_s)
                task = self.rank(rank, at_s)
                held.append(Holding(gpu=rank, task=task, mib=mib, load=busy, heat=heat))
        return tuple(held)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """What holds memory on the host of the scene."""

    deeds: Deeds
    seed: int
    remains: Crashed | None = None
    """What is left over at first; None: the first launch is at `first_s`."""
    acts: tuple[str, ...] = ACTS
    first_s: float = -26.0
    unix_s: float = 1_796_040_000.0

    def holdings(self, at_s: float) -> tuple[Holding, ...]:
        """Return the leftovers and whatever was launched."""
        held = self.remains.holdings(at_s) if self.remains is not None else ()
        newest = self.launch(at_s)
        return held if newest is None else (*held, *newest.holdings(at_s, self.seed))

    def launch(self, at_s: float) -> Launch | None:
        """Return what was launched last."""
        began_s, number, found = self._first_s(), 0, None
        while began_s <= at_s:
            job = self.acts[number % len(self.acts)]
            found = Launch(job=job, began_s=began_s, number=number, unix_s=self.unix_s)
            ended = [self.deeds.ended_s(pid) for pid in self._held_pids(found)]
            began_s, number = max(ended) + AFTER_S, number + 1
        return found

    def due_s(self, at_s: float) -> float | None:
        """Return when the next job is launched, as far as that is known; None for not yet."""
        newest = self.launch(at_s)
        if newest is None:
            began_s = self._first_s()
        else:
            began_s = max(self.deeds.ended_s(pid) for pid in self._held_pids(newest)) + AFTER_S
        return began_s if at_s < began_s < float("inf") else None

    def _held_pids(self, launch: Launch) -> tuple[int, ...]:
        """Return who must have ended before the next one: a failed one's root has by itself."""
        return launch.pids()[1:] if launch.is_doomed else launch.pids()

    def _first_s(self) -> float:
        if self.remains is None:
            return self.first_s
        left = self.remains.holdings(self.remains.died_s)
        keepers = [one.task.keeper or one.task.pid for one in left]
        return max((self.deeds.ended_s(pid) for pid in keepers), default=0.0) + AFTER_S
