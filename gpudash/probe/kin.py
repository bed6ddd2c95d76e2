"""Who descends from the targets of an order, also after their parents are gone."""

import os

from gpudash.probe.line import now, read_file
from gpudash.probe.target import Refused, Target, difference, look

LOOK_S = 0.2  # so often the tree of processes is read while an order runs


def parents():
    """Return each process's parent, by pid."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = (read_file("/proc/%s/stat" % name) or b"").rpartition(b")")[2].split()
            if len(fields) > 1:
                found[int(name)] = int(fields[1])
    return found


def untouchable():
    """Return pids that no order may name: init, this process, and who it descends from."""
    never = {0, 1}
    up = parents()
    pid = os.getpid()
    while pid and pid not in never:
        never.add(pid)
        pid = up.get(pid, 0)
    return never


class Kin(object):
    """Descendants of targets, remembered from one look at the tree to the next."""

    def __init__(self, known, never):
        """`known` are the pids that the order names; nobody in `never` is ever anybody's kin."""
        self._known = set(known)
        self._never = never
        self._born = {}
        self._looked = 0.0

    def follow(self, living):
        """Look at the tree when it is time to; `living` are the pids of living targets."""
        if now() - self._looked >= LOOK_S:
            self.look(living)

    def look(self, living):
        """Remember who descends from a living target or from kin."""
        self._looked = now()
        up = parents()
        mine = set(living) | set(self._born)
        for pid in up:
            if pid in self._known or pid in self._born or pid in self._never:
                continue
            if mine.intersection(_line(up, pid)):
                found = look(pid)
                if found is not None:
                    self._born[pid] = found[:2]

    def join(self, uids, holds):
        """Bind and return kin of these users that hold a device; each is returned once.

        What it ran when it was born says nothing: a child is forked first and becomes another
        program after. It is bound as what it is now, and compared with that from then on.
        """
        new = []
        for pid, born in sorted(self._born.items()):
            found = look(pid)
            if pid in self._known or difference([born[0], born[1], None], found):
                continue
            if found[1] not in uids or not holds(pid):
                continue
            try:
                new.append(Target(pid, found[:3], holds))
            except Refused:
                continue
            self._known.add(pid)
        return new


def _line(up, pid):
    """Return the ancestors of a pid."""
    line = []
    step = up.get(pid, 0)
    while step > 1 and step not in line:
        line.append(step)
        step = up.get(step, 0)
    return line
