"""What is known of a process that should be gone: the near side judges from it what is stuck."""

import os

from gpudash.probe.line import read_file

SIGKILL = 9


def survivor(family, pid):
    """Return the facts about one process, or None where it is gone."""
    threads = []
    try:
        threads = sorted(os.listdir("/proc/%d/task" % pid))
    except OSError:
        return None
    facts = {"f": family, "pid": pid, "state": "", "where": "", "cpu": 0, "blocked": 0}
    facts["rss"] = None
    facts["pending"] = False
    for thread in threads:
        _add_thread(facts, pid, thread)
    return facts if facts["state"] else None


def _add_thread(facts, pid, thread):
    base = "/proc/%d/task/%s/" % (pid, thread)
    fields = (read_file(base + "stat") or b"").rpartition(b")")[2].split()
    if len(fields) < 22:
        return
    state = fields[0].decode("ascii", "replace")
    if int(thread) == pid:
        facts["state"] = state
        facts["rss"] = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    facts["cpu"] += int(fields[11]) + int(fields[12])
    for line in (read_file(base + "status") or b"").splitlines():
        if line.startswith((b"SigPnd:", b"ShdPnd:")):
            facts["pending"] |= bool(int(line.split()[1], 16) >> (SIGKILL - 1) & 1)
    if state == "D":
        facts["blocked"] += 1
        where = (read_file(base + "wchan") or b"").decode("ascii", "replace").strip()
        facts["where"] = facts["where"] or where
