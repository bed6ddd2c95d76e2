"""The course of an order for one family: its steps, one after the other (see orders)."""

from gpudash.probe.line import now
from gpudash.probe.saving import Saving
from gpudash.probe.target import Refused, Target

SIGNALS = {"TERM": 15, "KILL": 9}
SIGCONT = 18
AGAIN_S = 0.1
DENIED = (1, 13)  # EPERM, EACCES


class Course(object):
    """One family on its way to its end."""

    def __init__(self, family, tell, holds, kin, never):
        """Bind every member; `tell(what, **fields)` keeps a report line."""
        self.number = family["f"]
        self._steps = list(family["steps"])
        self._gpus = family["gpus"]
        self._save_s = float(family.get("save_s") or 0)
        self._tell = tell
        self._holds = holds
        self._kin = kin
        self._saving = Saving()
        self.asked = set()
        self.killed = {}
        self.joined = []
        self.members = [self._bind(pid, wanted, never) for pid, *wanted in family["members"]]
        self.uids = {uid for _, _, uid, _ in family["members"]}
        self._place = -1
        self._targets = []
        self._until = self._settled = 0.0
        self._again = None
        self._rounds = 0
        self._were_gone = True
        self._extended = 0.0
        self.is_over = False

    def _bind(self, pid, wanted, never):
        try:
            if pid in never:
                raise Refused("forbidden")
            return Target(pid, wanted, lambda one: self._holds(one, self._gpus))
        except Refused as refused:
            self._tell("refused", f=self.number, pid=pid, why=refused.word)
            return None

    def living(self):
        """Return the bound members and heirs that have not ended."""
        bound = [one for one in self.members if one is not None] + self.joined
        return [one for one in bound if not one.is_gone]

    def note_ends(self):
        """Report who ended since the last look."""
        for one in self.living():
            self._has_ended(one)

    def _has_ended(self, one):
        if not one.is_gone and one.has_ended():
            self._tell("exited", f=self.number, pid=one.pid)
        return one.is_gone

    def replace(self, family):
        """Go on with other steps; what was asked once is not asked again."""
        self._steps = list(family["steps"])
        self._place = -1
        self._targets = []
        self._again = None
        self._settled = 0.0
        self.is_over = False
        self._were_gone = True

    def stop(self):
        """Begin no further step."""
        self._steps = self._steps[: max(self._place + 1, 0)]
        self._again = None
        self.is_over = True

    def advance(self, at):
        """Do what is due; return when to look again, by the host's clock."""
        self.note_ends()
        while not self.is_over:
            due = self._go_on(at)
            if due is not None:
                return due
        return at + 60.0

    def _go_on(self, at):
        """Take one turn: return when the next is due, or None to take it at once."""
        if self._place < 0:
            self._begin(0, at)
            return None
        if self._settled:
            if at < self._settled:
                return self._settled
            self._settled = 0.0
            self._fire(at)
            return None
        if self._again is not None and at >= self._again:
            self._once_more(at)
        left = [one for one in self._targets if not one.is_gone]
        if not left and self._again is not None:
            # Who was born between the last look and the kill: the dead bear nobody more.
            self._once_more(at)
            left = [one for one in self._targets if not one.is_gone]
        if left and at < self._until:
            return min(self._until, self._again or self._until)
        if left and self._extends(at):
            return at + 1.0
        self._finish(len(left), at)
        return None

    # -- steps -------------------------------------------------------------------------------

    def _begin(self, place, at):
        self._place = place
        if place >= len(self._steps):
            self.is_over = True
            return
        step = self._steps[place]
        if step.get("after") == "gone" and not self._were_gone:
            self._begin(place + 1, at)
            return
        self._settled = at + float(step.get("settle") or 0)

    def _fire(self, at):
        step = self._steps[self._place]
        if step["send"] == "KILL":
            self._kin.look({one.pid for one in self.living()})
            self._take_heirs()
        self._targets = [one for one in self._meant(step) if not self._has_ended(one)]
        self._until = at + float(step["wait"])
        self._extended = 0.0
        if step["send"] == "TERM" and self._save_s:
            self._saving.note([one.pid for one in self.living()])
        for one in self._targets:
            self._signal(one, step["send"])
        self._rounds = int(step.get("rounds") or 1) - 1 if step["send"] == "KILL" else 0
        self._again = at + AGAIN_S if self._rounds > 0 else None

    def _meant(self, step):
        roots = self.members[: int(step.get("roots") or 0)]
        everybody = [one for one in self.members + self.joined if one is not None]
        to = step["to"]
        if to == "roots":
            return [one for one in roots if one is not None]
        if to == "rest":
            return [one for one in everybody if one.pid not in self.asked]
        if to == "all":
            return everybody
        named = [self.members[place] for place in to]
        return [one for one in named if one is not None]

    def _once_more(self, at):
        """Look for heirs and survivors of a kill again, some rounds long."""
        self._kin.look({one.pid for one in self.living()})
        for one in self._take_heirs():
            self._targets.append(one)
            self._signal(one, "KILL")
        self._rounds -= 1
        self._again = at + AGAIN_S if self._rounds > 0 else None

    def _take_heirs(self):
        new = self._kin.join(self, lambda pid: self._holds(pid, self._gpus))
        self.joined += new
        return new

    def told_of(self, heir, parent, comm):
        """Report an heir."""
        start, uid, exe = heir.wanted
        self._tell(
            "joined", f=self.number, who=[heir.pid, start, uid, exe], parent=parent, comm=comm
        )

    def _signal(self, one, name):
        if name == "TERM":
            if one.pid in self.asked:
                return
            self.asked.add(one.pid)
        try:
            is_stopped = one.state() == "T"
            self._send(one, SIGNALS[name], name)
            if name == "KILL":
                self.killed.setdefault(one.pid, now())
            elif is_stopped:
                self._send(one, SIGCONT, "CONT")
        except Refused as refused:
            self._refuse(one, refused.word)
        except OSError as error:
            self._refuse(one, "denied" if error.errno in DENIED else "gone")

    def _send(self, one, number, name):
        """Send and report it; one that went by the bare pid is told to have done so."""
        is_bare = one.send(number)
        more = {"by": "pid"} if is_bare else {}
        self._tell("sent", f=self.number, pid=one.pid, sig=name, **more)

    def _refuse(self, one, why):
        """Let go of what is not what was planned: it gets no signal from here on."""
        if self._has_ended(one):
            return
        self._tell("refused", f=self.number, pid=one.pid, why=why)
        one.close()
        self.members = [None if other is one else other for other in self.members]
        self.joined = [other for other in self.joined if other is not one]
        self._targets = [other for other in self._targets if other is not one]

    def _extends(self, at):
        """Wait longer while a member writes a checkpoint; at most so long as the order says."""
        step = self._steps[self._place]
        if step["send"] != "TERM" or self._extended >= self._save_s:
            return False
        if not self._saving.goes_on([one.pid for one in self.living()]):
            return False
        more = min(2.0, self._save_s - self._extended)
        self._extended += more
        self._until = at + more
        return True

    def _finish(self, left, at):
        self._tell("step", f=self.number, s=self._place, left=left)
        self._were_gone = left == 0
        self._again = None
        self._targets = []
        if not self.living():
            self.is_over = True
            return
        self._begin(self._place + 1, at)

    def close(self):
        """Let all descriptors go."""
        for one in self.members + self.joined:
            if one is not None:
                one.close()
