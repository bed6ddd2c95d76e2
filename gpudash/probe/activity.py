"""What a plan must know of what a process does now, and with whom it shares what.

A log that grew, a checkpoint that is being written, CPU time while we watched: whoever shows any
of these is alive. Shared sockets, pipes and segments tell kin whose common root is gone.
"""

import os
import time

from gpudash.probe.details import TICKS, stat_of
from gpudash.probe.line import now, read_file

LOGS = (".log", ".out", ".err", ".txt", ".jsonl")
CHECKPOINTS = (".pt", ".pth", ".safetensors", ".ckpt", ".distcp", ".bin", ".tmp")
GROWING_S = 10.0  # a checkpoint that was written to so lately is being written
MAX_WATCH_S = 2.0
MAX_LINKS = 40
MAX_THREADS = 2000


def watched(rows, stats, seconds):
    """Put into rows the share of a core that each used until now, and for how long we watched.

    `stats` are those of the walk, and `seconds` the least time between both looks.
    """
    began = min((one.read_at for one in stats.values()), default=now())
    time.sleep(min(MAX_WATCH_S, max(0.0, began + seconds - now())))
    for row in rows:
        before = stats.get(row["pid"])
        after = stat_of(row["pid"])
        if before is None or after is None or before.start != after.start:
            continue
        passed = after.read_at - before.read_at
        if passed > 0:
            used = (after.cpu_ticks - before.cpu_ticks) / TICKS
            row["share"] = round(max(0.0, used / passed), 3)


def add_activity(rows, seen):
    """Put into rows what their processes do; `seen` is a `handles.Open` by pid, of everybody."""
    shared = _shared(seen)
    wall = time.time()
    for row in rows:
        opened = seen.get(row["pid"])
        if opened is None:
            continue
        row["log"] = _log_age(opened.files, wall)
        row["saving"] = _is_saving(row["pid"], opened.files, wall)
        row["links"] = sorted(link for link in opened.links if link in shared)[:MAX_LINKS]
        if row["handles"]:
            row["blocked"] = _blocked(row["pid"])


def _shared(seen):
    """Return the links that more than one process has."""
    once = set()
    shared = set()
    for opened in seen.values():
        for link in opened.links:
            (shared if link in once else once).add(link)
    return shared


def _log_age(files, wall):
    ages = [
        wall - written
        for name, path, written, _ in files
        if name in ("1", "2") or path.endswith(LOGS)
    ]
    return round(max(0.0, min(ages)), 1) if ages else None


def _is_saving(pid, files, wall):
    return any(
        path.endswith(CHECKPOINTS) and wall - written < GROWING_S and _is_written(pid, name)
        for name, path, written, _ in files
    )


def _is_written(pid, name):
    """Tell whether a descriptor is open for writing."""
    for line in (read_file("/proc/%d/fdinfo/%s" % (pid, name)) or b"").splitlines():
        if line.startswith(b"flags:"):
            return bool(int(line.split()[1], 8) & (os.O_WRONLY | os.O_RDWR))
    return False


def _blocked(pid):
    """Return how many threads are in uninterruptible sleep."""
    try:
        threads = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return 0
    blocked = 0
    for thread in threads[:MAX_THREADS]:
        data = read_file("/proc/%d/task/%s/stat" % (pid, thread)) or b""
        blocked += data.rpartition(b")")[2].split()[:1] == [b"D"]
    return blocked
