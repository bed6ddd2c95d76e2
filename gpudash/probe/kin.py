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


KERNEL_THREAD = 0x00200000  # PF_KTHREAD


def untouchable():
    """Return pids that no order may name: init, the kernel's, this process and those above it."""
    never = {0, 1}
    up = tree()
    for pid in up:
        fields = (read_file("/proc/%d/stat" % pid) or b"").rpartition(b")")[2].split()
        if len(fields) > 6 and int(fields[6]) & KERNEL_THREAD:
            never.add(pid)
    pid = os.getpid()
    while pid and pid not in never:
        never.add(pid)
        pid = up[pid][0] if pid in up else 0
    return never


class Kin(object):
    """Heirs: born after the plan of a member or heir, or in a session or group that one leads.

    A pid counts for who had it then: one that somebody else has now leads nobody and bears nobody.
    """

    def __init__(self, since, never):
        """`since` is when the plan was made, in clock ticks after boot."""
        self._since = since
        self._never = never
        self._known = {}
        self._born = {}
        self._looked = 0.0

    def name(self, starts):
        """Take note of who the order names, by pid with their start: nobody of them is an heir."""
        self._known.update(starts)

    def follow(self, living):
        """Look at the tree when it is time to; `living` are the pids of living members."""
        if now() - self._looked >= LOOK_S:
            self.look(living)

    def look(self, living):
        """Remember who descends from a living member or from an heir."""
        self._looked = now()
        found = tree()
        for pid, (_, _, _, start) in found.items():
            if pid in self._known or pid in self._born or pid in self._never:
                continue
            if start < self._since:
                continue
            above = self._above(found, pid, living)
            if above is not None:
                one = look(pid)
                if one is not None:
                    self._born[pid] = (one[0], one[1], above)

    def _above(self, found, pid, living):
        """Return the member or heir that a process comes from; None for a stranger.

        Whoever was there before the plan and is not in it was left out on purpose, with all that
        it starts. Who has no parent any more is known by the leader of its session or group.
        """
        seen = set()
        step = found[pid][0]
        while step > 1 and step in found and step not in seen:
            seen.add(step)
            start = found[step][3]
            if step in living or (step in self._born and self._born[step][0] == start):
                return step
            if start < self._since:
                return None
            step = found[step][0]
        for leader in found[pid][1:3]:
            start = self._start_of(leader)
            if start is not None and (leader not in found or found[leader][3] == start):
                return leader
        return None

    def _start_of(self, pid):
        """Return when a member or heir of that pid started, or None."""
        if pid in self._born:
            return self._born[pid][0]
        return self._known.get(pid)

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
            self._known[pid] = start
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
