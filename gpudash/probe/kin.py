"""Who descends from the members of an order, also after their parents are gone."""

import os

from gpudash.probe.line import now, read_file
from gpudash.probe.target import Refused, Target, difference, look

LOOK_S = 0.2  # so often the tree of processes is read while an order runs


def tree():
    """Return (parent, group, session, start) of each process, by pid."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            fields = (read_file("/proc/%s/stat" % name) or b"").rpartition(b")")[2].split()
            if len(fields) > 19:
                found[int(name)] = tuple(int(fields[place]) for place in (1, 2, 3, 19))
    return found


def untouchable():
    """Return pids that no order may name: init, this process, and who it descends from."""
    never = {0, 1}
    up = tree()
    pid = os.getpid()
    while pid and pid not in never:
        never.add(pid)
        pid = up[pid][0] if pid in up else 0
    return never


class Kin(object):
    """Heirs: born after the plan of a member or heir, or in a session or group that one leads."""

    def __init__(self, since, never):
        """`since` is when the plan was made, in clock ticks after boot."""
        self._since = since
        self._never = never
        self._known = set()
        self._born = {}
        self._looked = 0.0

    def name(self, pids):
        """Take note of who the order names: nobody of them is an heir."""
        self._known.update(pids)

    def follow(self, living):
        """Look at the tree when it is time to; `living` are the pids of living members."""
        if now() - self._looked >= LOOK_S:
            self.look(living)

    def look(self, living):
        """Remember who descends from a living member or from an heir."""
        self._looked = now()
        found = tree()
        leaders = self._known | set(self._born)
        mine = set(living) | set(self._born)
        for pid, (_, group, session, start) in found.items():
            if pid in self._known or pid in self._born or pid in self._never:
                continue
            if start < self._since:
                continue
            above = mine.intersection(_line(found, pid)) or leaders.intersection((group, session))
            if above:
                one = look(pid)
                if one is not None:
                    self._born[pid] = (one[0], one[1], max(above))

    def join(self, course, holds):
        """Bind and return heirs of a family's user that hold a device; each is returned once.

        What it ran when it was born says nothing: a child is forked first and becomes another
        program after. It is bound as what it is now, and compared with that from then on.
        """
        new = []
        mine = {one.pid for one in course.members + course.joined if one is not None}
        for pid, (start, uid, above) in sorted(self._born.items()):
            found = look(pid)
            if pid in self._known or difference([start, uid, None], found):
                continue
            if found[1] not in course.uids or not self._is_of(above, mine) or not holds(pid):
                continue
            try:
                heir = Target(pid, found[:3], holds)
            except Refused:
                continue
            self._known.add(pid)
            new.append(heir)
            course.told_of(heir, above, comm_of(pid))
        return new

    def _is_of(self, above, mine):
        """Tell whether a line of heirs leads to one of these."""
        seen = set()
        while above in self._born and above not in mine and above not in seen:
            seen.add(above)
            above = self._born[above][2]
        return above in mine


def comm_of(pid):
    """Return a process's short name."""
    return (read_file("/proc/%d/comm" % pid) or b"").decode("utf-8", "replace").strip()


def _line(found, pid):
    """Return the ancestors of a pid."""
    line = []
    step = found[pid][0]
    while step > 1 and step not in line:
        line.append(step)
        step = found[step][0] if step in found else 0
    return line
