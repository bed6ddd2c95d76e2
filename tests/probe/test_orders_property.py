"""Whatever happens between two looks: a signal only ever reaches who the plan named, as it was.

A kernel of values stands in for the real one: pids are used again, processes exec, change their
user, fork and die at any moment between two steps of an order.
"""

from __future__ import annotations

import contextlib
import errno
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash.probe import course, kin, orders, saving, target

UIDS = (0, 1000)


@dataclass(eq=False)
class Proc:
    pid: int
    start: int
    uid: int
    exe: list[int] | None
    parent: int
    holds: bool
    state: str = "S"
    was_kin: bool = False

    def identity(self) -> list[Any]:
        return [self.pid, self.start, self.uid, self.exe]


@dataclass
class Kernel:
    has_pidfd: bool
    table: dict[int, Proc] = field(default_factory=dict)
    open: dict[int, Proc] = field(default_factory=dict)
    sent: list[tuple[list[Any], Proc, int]] = field(default_factory=list)
    time: float = 1000.0
    starts: int = 100
    other: dict[str, Any] = field(default_factory=dict)
    """The order that takes the place of the first."""

    def born(self, pid: int, parent: int, uid: int, exe: int, *, holds: bool) -> Proc:
        self.starts += 1
        proc = Proc(pid, self.starts, uid, [1, exe], parent, holds)
        self.table[pid] = proc
        return proc

    # -- what the probe calls ------------------------------------------------------------

    def look(self, pid: int) -> list[Any] | None:
        proc = self.table.get(pid)
        return proc and [proc.start, proc.uid, proc.exe, proc.state, 1]

    def pidfd(self, pid: int) -> int:
        if not self.has_pidfd:
            raise OSError(errno.ENOSYS, "none")
        if pid not in self.table:
            raise OSError(errno.ESRCH, "none")
        fd = 1000 + len(self.open)
        self.open[fd] = self.table[pid]
        return fd

    def send(self, fd: int, number: int) -> None:
        proc = self.open[fd]
        if self.table.get(proc.pid) is not proc:
            raise OSError(errno.ESRCH, "gone")
        self._deliver(proc, number)

    def kill(self, pid: int, number: int) -> None:
        if pid not in self.table:
            raise OSError(errno.ESRCH, "gone")
        self._deliver(self.table[pid], number)

    def _deliver(self, proc: Proc, number: int) -> None:
        self.sent.append((proc.identity(), proc, number))
        if number == 9:
            del self.table[proc.pid]

    def tree(self) -> dict[int, tuple[int, int, int, int]]:
        return {pid: (proc.parent, 1, 1, proc.start) for pid, proc in self.table.items()}


class Poll:
    """Descriptors of a kernel of values: one is ready once its process is over."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._fds: list[int] = []

    def register(self, fd: int, _mask: int) -> None:
        self._fds.append(fd)

    def poll(self, _wait: int) -> list[int]:
        procs = [(fd, self._kernel.open[fd]) for fd in self._fds]
        return [fd for fd, proc in procs if self._kernel.table.get(proc.pid) is not proc]


EVENTS = st.one_of(
    st.tuples(st.sampled_from(["die", "reuse", "exec", "setuid", "stop"]), st.integers(10, 22)),
    st.tuples(st.just("fork"), st.integers(10, 15), st.integers(20, 22), st.booleans()),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.05, 0.3, 2.0])),
    st.tuples(st.sampled_from(["abort", "force"])),
)


def happen(kernel: Kernel, execution: orders.Execution, event: tuple[Any, ...]) -> None:
    match event:
        case ("wait", seconds):
            kernel.time += seconds
        case ("abort",):
            execution.abort()
        case ("force",):
            # Nothing revives an order that was told to stop.
            with contextlib.suppress(orders.BadOrder):
                execution.replace(kernel.other)
        case ("fork", pid, child, holds) if pid in kernel.table and child not in kernel.table:
            parent = kernel.table[pid]
            kernel.born(child, pid, parent.uid, 7, holds=holds)
        case (what, pid) if pid in kernel.table:
            proc = kernel.table[pid]
            if what in ("die", "reuse"):
                del kernel.table[pid]
                for other in kernel.table.values():
                    other.parent = 1 if other.parent == pid else other.parent
            if what == "reuse":
                kernel.born(pid, 1, proc.uid, 7, holds=True)
            if what == "exec":
                proc.exe = [1, 99]
            if what == "setuid":
                proc.uid = 1000 if proc.uid == 0 else 0
            if what == "stop":
                proc.state = "T"


def put(patch: pytest.MonkeyPatch, kernel: Kernel, never: set[int]) -> None:
    """Let the probe call a kernel of values."""
    patch.setattr(target, "look", kernel.look)
    patch.setattr(kin, "look", kernel.look)
    patch.setattr(target, "open_descriptor", kernel.pidfd)
    patch.setattr(target, "send_by_descriptor", kernel.send)
    patch.setattr(target.os, "kill", kernel.kill)
    patch.setattr(target.os, "close", lambda _fd: None)
    patch.setattr(target.select, "poll", lambda: Poll(kernel))
    patch.setattr(kin, "tree", kernel.tree)
    patch.setattr(kin, "comm_of", lambda _pid: "child")
    patch.setattr(saving, "written", lambda _pid: {})
    patch.setattr(kin, "now", lambda: kernel.time)
    patch.setattr(orders, "now", lambda: kernel.time)
    patch.setattr(course, "now", lambda: kernel.time)
    patch.setattr(orders, "check_place", lambda _order: None)
    patch.setattr(orders, "untouchable", lambda: {0, 1, *never})
    patch.setattr(orders, "survivor", lambda _family, _pid: None)


STEPS = st.lists(
    st.builds(
        lambda send, to, wait, settle, after, rounds: {
            "send": send,
            "to": to,
            "roots": 2,
            "wait": wait,
            "settle": settle,
            "after": after,
            "rounds": rounds,
        },
        st.sampled_from(["TERM", "KILL"]),
        st.one_of(
            st.sampled_from(["roots", "rest", "all"]),
            st.lists(st.integers(0, 3), unique=True, max_size=4),
        ),
        st.sampled_from([0.0, 0.1, 1.0]),
        st.sampled_from([0.0, 0.3]),
        st.sampled_from(["always", "gone"]),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=600, deadline=None)
@given(
    has_pidfd=st.booleans(),
    steps=STEPS,
    before=st.lists(EVENTS, max_size=4),
    later=st.lists(EVENTS, max_size=25),
    never=st.sets(st.integers(10, 13), max_size=1),
    again=STEPS,
)
def test_only_who_was_named_and_as_it_was(
    *,
    has_pidfd: bool,
    steps: list[dict[str, Any]],
    before: list[tuple[Any, ...]],
    later: list[tuple[Any, ...]],
    never: set[int],
    again: list[dict[str, Any]],
) -> None:
    kernel = Kernel(has_pidfd)
    named = [kernel.born(pid, 1, 0, 7, holds=True).identity() for pid in range(10, 14)]
    kernel.born(14, 1, 0, 7, holds=True)  # bystanders: the same user, program and devices
    kernel.born(15, 1, 1000, 7, holds=True)
    planned = {tuple(map(str, identity)) for identity in named}
    with pytest.MonkeyPatch.context() as patch:
        put(patch, kernel, never)
        record: list[dict[str, Any]] = []
        for event in before:
            if event[0] in ("die", "reuse", "exec", "setuid", "stop", "fork"):
                happen(kernel, None, event)  # type: ignore[arg-type]

        def ordered(steps: list[dict[str, Any]]) -> dict[str, Any]:
            family = {"f": 0, "members": named, "gpus": ["gpu"], "steps": steps, "save_s": 2}
            return {"v": 1, "run": "r", "by": 1060.0, "since": 0, "families": [family]}

        kernel.other = ordered(again)
        execution = orders.Execution(
            ordered(steps),
            lambda what, **fields: record.append({"what": what, **fields}),
            lambda pid, _gpus: pid in kernel.table and kernel.table[pid].holds,
        )
        assert kernel.sent == []
        for event in [*later, ("wait", 61.0)]:
            if execution.is_over:
                break
            execution.advance()
            happen(kernel, execution, event)
    joined = {tuple(line["who"][:2]) for line in record if line["what"] == "joined"}
    for identity, proc, number in kernel.sent:
        assert number in (9, 15, 18)
        assert proc.pid not in never
        assert proc.pid not in (14, 15)
        is_heir = (proc.pid, proc.start) in joined and proc.holds and identity[2] == 0
        assert tuple(map(str, identity)) in planned or is_heir
    asked = [proc for _, proc, number in kernel.sent if number == 15]
    assert len(asked) == len(set(asked))


def test_the_stand_in_has_what_the_probe_uses() -> None:
    """A name that is patched must be one that the probe calls."""
    assert kin.look is target.look
    assert course.Target is target.Target


@dataclass
class LastBreath(Kernel):
    """Its root bears a child right before it dies, in its own group."""

    def _deliver(self, proc: Proc, number: int) -> None:
        if number == 9 and proc.pid == 10:
            self.born(20, 1, proc.uid, 7, holds=True)
        super()._deliver(proc, number)

    def tree(self) -> dict[int, tuple[int, int, int, int]]:
        return {
            pid: (proc.parent, 10 if pid in (10, 20) else pid, 10, proc.start)
            for pid, proc in self.table.items()
        }


def test_who_is_born_at_the_last_moment_is_ended_too() -> None:
    kernel = LastBreath(has_pidfd=True)
    root = kernel.born(10, 1, 0, 7, holds=True).identity()
    steps = [{"send": "KILL", "to": "all", "wait": 5.0, "rounds": 3}]
    family = {"f": 0, "members": [root], "gpus": ["gpu"], "steps": steps, "save_s": 0}
    order = {"v": 1, "run": "r", "by": 1060.0, "since": 0, "families": [family]}
    record: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        put(patch, kernel, set())
        execution = orders.Execution(
            order,
            lambda what, **fields: record.append({"what": what, **fields}),
            lambda pid, _gpus: pid in kernel.table and kernel.table[pid].holds,
        )
        for _ in range(20):
            if execution.is_over:
                break
            execution.advance()
            kernel.time += 0.05
    assert execution.is_over
    assert kernel.table == {}
    assert [one["who"][0] for one in record if one["what"] == "joined"] == [20]
