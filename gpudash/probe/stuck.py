"""Why a process that was killed does not die."""

import os

from gpudash.probe.line import read_file

SIGKILL = 9


def waiting_facts(pid):
    """Return what a process waits for and a signature that changes when it moves.

    None unless a SIGKILL is pending and one of its threads sleeps where no signal reaches it.
    """
    is_pending = is_deep = False
    moved = []
    wchan = ""
    try:
        threads = sorted(os.listdir("/proc/%d/task" % pid))
    except OSError:
        return None
    for thread in threads:
        base = "/proc/%d/task/%s/" % (pid, thread)
        status = read_file(base + "status") or b""
        for line in status.splitlines():
            if line.startswith((b"SigPnd:", b"ShdPnd:")):
                is_pending |= bool(int(line.split()[1], 16) >> (SIGKILL - 1) & 1)
        fields = (read_file(base + "stat") or b"").rpartition(b")")[2].split()
        if len(fields) < 22:
            continue
        is_deep |= fields[0] == b"D"
        where = (read_file(base + "wchan") or b"").decode("ascii", "replace").strip()
        wchan = where if fields[0] == b"D" else wchan
        moved.append([fields[11].decode(), fields[12].decode(), fields[21].decode(), where])
    if not (is_pending and is_deep):
        return None
    return {"signature": moved, "words": {"state": "D", "wchan": wchan}}
