"""What a tree of processes costs: CPU time, memory, and who belongs to it.

CPU time adds up over reaping: a child that ended is found again in its parent's account. So the
sum over a living tree never loses anything as long as parents wait for their children.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_CPU_CLOCK_OF_PROCESS = 2  # the kernel's CPUCLOCK_SCHED, as clock_getcpuclockid(3) composes it


@dataclass(frozen=True, slots=True)
class Stat:
    """What /proc/PID/stat says that matters here."""

    pid: int
    parent: int
    session: int
    reaped_s: float
    """CPU seconds of all descendants that were waited for."""


def parse_stat(text: str) -> Stat:
    """Read one line of /proc/PID/stat; the name in it may contain anything, `) ` too."""
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    return Stat(
        pid=int(head.split(" ", 1)[0]),
        parent=int(fields[1]),
        session=int(fields[3]),
        reaped_s=(int(fields[13]) + int(fields[14])) / _TICKS_PER_S,
    )


def all_stats(proc: Path = Path("/proc")) -> dict[int, Stat]:
    """Return every process that can be read now."""
    found: dict[int, Stat] = {}
    for entry in proc.iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError):
                found[int(entry.name)] = parse_stat((entry / "stat").read_text(errors="replace"))
    return found


def tree_of(root: int, stats: Mapping[int, Stat]) -> frozenset[int]:
    """Return root, its descendants, and whoever shares a session with one of them."""
    children: dict[int, list[int]] = {}
    for stat in stats.values():
        children.setdefault(stat.parent, []).append(stat.pid)
    tree: set[int] = set()
    wanted = [pid for pid, stat in stats.items() if pid == root or stat.session == root]
    while wanted:
        pid = wanted.pop()
        if pid not in tree:
            tree.add(pid)
            wanted += children.get(pid, [])
    return frozenset(tree)


def own_cpu_s(pid: int) -> float:
    """Return a process's own CPU seconds, its ended threads too, to the nanosecond.

    /proc/PID/stat counts in steps of 10 ms: too coarse for what takes 0.1 % of a core.
    """
    return time.clock_gettime(((~pid) << 3) | _CPU_CLOCK_OF_PROCESS)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a tree has used so far, and what it holds now."""

    cpu_s: float
    rss_mb: float
    pss_mb: float
    """Shared pages count in part; 0.0 where the kernel does not say."""
    processes: int


def cost_of_tree(root: int) -> Cost:
    """Add up a living tree."""
    stats = all_stats()
    return cost_of(tree_of(root, stats), stats)


def cost_of(pids: Iterable[int], stats: Mapping[int, Stat]) -> Cost:
    """Add up these processes; one that ends meanwhile is left out."""
    cpu_s = rss_kb = pss_kb = 0.0
    count = 0
    for pid in pids:
        try:
            cpu_s += own_cpu_s(pid) + stats[pid].reaped_s
        except OSError:
            continue
        count += 1
        rss_kb += _kilobytes(pid, "status", "VmRSS:")
        pss_kb += _kilobytes(pid, "smaps_rollup", "Pss:")
    return Cost(cpu_s=cpu_s, rss_mb=rss_kb / 1024, pss_mb=pss_kb / 1024, processes=count)


def _kilobytes(pid: int, file: str, key: str) -> float:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/{file}").read_text().splitlines():
            if line.startswith(key):
                return float(line.split()[1])
    return 0.0
