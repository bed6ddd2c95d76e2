"""What a tree of processes does: what it read, its CPU time, who of it still lives.

Sums never fall: what ended keeps what it had used.
"""

import os

from gpudash.probe.line import now, read_file
from gpudash.probe.processes import argv_of, is_gone, text

MOST = 2000  # processes of one tree
MOST_TOLD = 500
MOST_WORDS = 300


class Tree(object):
    """A process and all that came from it."""

    def __init__(self, pid):
        self._root = pid
        self._start = _start_of(pid)
        self._used = {}
        self._is_gone = self._start is None
        self._argv = argv_of(pid, MOST_WORDS)

    def look(self):
        """Return the signs of life now."""
        living = self._living()
        for pid in living:
            start = _start_of(pid)
            if start is not None:
                self._used[(pid, start)] = (_read_bytes(pid), _cpu_s(pid))
        while len(self._used) > 4 * MOST:
            self._used.pop(next(iter(self._used)))
        reads = [one[0] for one in self._used.values() if one[0] is not None]
        return {
            "pid": self._root,
            "gone": self._is_gone,
            "at": round(now(), 3),
            "read": sum(reads) if reads else None,
            "cpu": round(sum(one[1] for one in self._used.values()), 2),
            "pids": sorted(living)[:MOST_TOLD],
            "age": _age_of(self._start),
            "argv": self._argv,
        }

    def _living(self):
        """Return the pids of the tree; the root is gone when its pid is, or is another process."""
        start = _start_of(self._root)
        if start is None or start != self._start or _state_of(self._root) in ("Z", "X"):
            self._is_gone = start is not None or is_gone(self._root)
        if self._is_gone:
            known = [one for one in self._used if _start_of(one[0]) == one[1]]
            return {pid for pid, _ in known if pid != self._root}
        return _descendants(self._root)


def _descendants(root):
    """Return a pid and all below it."""
    found = {root}
    new = [root]
    table = None
    while new and len(found) < MOST:
        pid = new.pop()
        children = _children_of(pid)
        if children is None:
            table = _parents() if table is None else table
            children = table.get(pid, ())
        for child in children:
            if child not in found:
                found.add(child)
                new.append(child)
    return found


def _children_of(pid):
    """Return children as the kernel lists them, by thread; None where it does not."""
    try:
        tasks = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return ()
    found = []
    for task in tasks[:MOST]:
        data = read_file("/proc/%d/task/%s/children" % (pid, task))
        if data is None:
            if os.path.exists("/proc/%d/task/%s" % (pid, task)):
                return None
            continue
        found += [int(word) for word in data.split()]
    return found


def _parents():
    table = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = _stat(int(name))
            if fields:
                table.setdefault(int(fields[1]), []).append(int(name))
    return table


def _stat(pid):
    return (read_file("/proc/%d/stat" % pid) or b"").rpartition(b")")[2].split()


def _start_of(pid):
    fields = _stat(pid)
    return int(fields[19]) if len(fields) > 19 else None


def _state_of(pid):
    fields = _stat(pid)
    return text(fields[0]) if fields else ""


def _cpu_s(pid):
    fields = _stat(pid)
    if len(fields) < 13:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / float(os.sysconf("SC_CLK_TCK"))


def _age_of(start):
    if start is None:
        return None
    return round(max(0.0, now() - start / float(os.sysconf("SC_CLK_TCK"))), 2)


def _read_bytes(pid):
    """Return the bytes that a process had fetched from storage or by system calls, or None.

    What comes over a network file system is only in the second one.
    """
    found = {}
    for line in (read_file("/proc/%d/io" % pid) or b"").splitlines():
        name, _, value = line.partition(b":")
        if name in (b"read_bytes", b"rchar"):
            found[name] = int(value)
    return max(found.values()) if found else None


def writer_of(status):
    """Return the first of those whose output goes into a file, by its stat; None where nobody's."""
    if status is None:
        return None
    writers = {}
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid() and _writes(int(name), status):
            fields = _stat(int(name))
            if len(fields) > 19:
                writers[int(name)] = (int(fields[1]), int(fields[19]))
    roots = [pid for pid, (parent, _) in writers.items() if parent not in writers]
    return max(roots, key=lambda pid: writers[pid][1]) if roots else None


def _writes(pid, status):
    for number in (1, 2):
        path = "/proc/%d/fd/%d" % (pid, number)
        try:
            its = os.stat(path)
        except OSError:
            continue
        if (its.st_dev, its.st_ino) == (status.st_dev, status.st_ino):
            return True
    return False
