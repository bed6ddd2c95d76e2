"""Carries out one order of a cleanup: signals to bound targets, at their times, and nothing else.

An order is complete in itself. It decides nothing: who is meant, which signals, when and on which
condition, is written in it; whatever differs from it gets no signal.

    {"run": NAME, "boot": ID, "deadline": SECONDS,
     "targets": [[pid, start, uid, [device, inode] or null], …],
     "gpus": [BUS ID, …],
     "steps": [{"signal": NUMBER, "to": [place in targets, …], "at": SECONDS,
                "gone": [place, …], "delay": SECONDS, "children": true}, …]}

Times of steps count from the order's start, the deadline is the host's monotonic clock. A step is
due at `at`, or `delay` after all targets of `gone` have ended, whichever comes first; a step whose
targets have all ended is passed over. A stopped target is told to go on after a signal that it
could not take otherwise. With `children`, processes that descend from the targets, hold a device
of one of `gpus` and are not in the order join the step; such a step is repeated up to three times,
100 ms apart, while new ones appear. A negative pid, pid 1, this process and its ancestors are
refused whatever the order says.

Each line of the record is a dictionary with `k` and `at` (monotonic): bound, refused, joined,
signal, ended, stuck, done.
"""

from gpudash.probe.kin import LOOK_S, Kin, untouchable
from gpudash.probe.line import boot_id, now
from gpudash.probe.stuck import waiting_facts
from gpudash.probe.target import Refused, Target

SIGKILL, SIGTERM, SIGCONT, SIGINT, SIGQUIT = 9, 15, 18, 2, 3
ALLOWED = (SIGKILL, SIGTERM, SIGINT, SIGQUIT)
POLL_S = 0.02  # without a descriptor
AGAIN_S = 0.1
MOST_REPEATS = 3
STUCK_S = 2.0
MOST_TARGETS = 1000


class BadOrder(Exception):
    """What was sent is not an order; nothing was done."""


def check(order):
    """Raise BadOrder unless every part of an order is what it must be."""
    try:
        targets = order["targets"]
        if not isinstance(order["run"], str) or not order["run"] or len(targets) > MOST_TARGETS:
            raise BadOrder("no run, or too many targets")
        for pid, start, uid, exe in targets:
            if [type(part) for part in (pid, start, uid)] != [int, int, int] or pid < 1:
                raise BadOrder("a target is not an identity")
            if exe is not None and [type(part) for part in exe] != [int, int]:
                raise BadOrder("an executable is not device and inode")
        for step in order["steps"]:
            if step["signal"] not in ALLOWED:
                raise BadOrder("no such signal: %r" % (step["signal"],))
            places = list(step["to"]) + list(step.get("gone") or ())
            if any(type(at) is not int or not 0 <= at < len(targets) for at in places):
                raise BadOrder("a step names a target that is not there")
            float(step["at"]), float(step.get("delay") or 0)
        float(order["deadline"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadOrder("not an order: %s" % (error,))


class Execution(object):
    """One order on its way."""

    def __init__(self, order, record, has_handle, protected=()):
        """Bind every target. Raises BadOrder for an order of another boot.

        `record(k, **fields)` keeps a line; `has_handle(pid, gpus)` tells whether a process or one
        of its living threads holds a device of these GPUs.
        """
        check(order)
        if order["boot"] != boot_id():
            raise BadOrder("the order was made before this host was started")
        self._record = record
        self._has_handle = has_handle
        self._gpus = order.get("gpus") or []
        self.deadline = float(order["deadline"])
        self.started = now()
        self._never = untouchable() | set(protected)
        self._targets = [self._bind(pid, wanted) for pid, *wanted in order["targets"]]
        self._joined = []
        named = [pid for pid, *_ in order["targets"]]
        self._kin = Kin(named, self._never)
        self._uids = {uid for _, _, uid, _ in order["targets"]}
        self._steps = [dict(step, place=place) for place, step in enumerate(order["steps"])]
        self._gone_since = {}
        self._repeats = []
        self._killed = {}
        self.is_aborted = False
        self.end = ""

    def _bind(self, pid, wanted):
        try:
            if pid in self._never:
                raise Refused("it is this program's own room, or init")
            target = Target(pid, wanted, self._holds)
        except Refused as why:
            self._record("refused", pid=pid, start=wanted[0], why=str(why))
            return None
        self._record("bound", pid=pid, start=wanted[0], by=target.why_no_fd or "pidfd")
        return target

    def _holds(self, pid):
        return self._has_handle(pid, self._gpus)

    def living(self):
        """Return the bound targets that have not ended, those that joined included."""
        bound = [target for target in self._targets if target is not None] + self._joined
        return [target for target in bound if not target.is_gone]

    def descriptors(self):
        """Return what becomes readable when a target ends."""
        return [target.fd for target in self.living() if target.fd is not None]

    def abort(self):
        """Send nothing any more; what was sent stays sent."""
        if not self.is_aborted:
            self.is_aborted = True
            self._steps = []
            self._repeats = []
            self._record("aborted")

    def force(self):
        """Let what remains of the order's SIGKILL steps be due now; without one nothing is."""
        for step in self._steps:
            if step["signal"] == SIGKILL:
                step["at"] = 0.0
        self._steps = [step for step in self._steps if step["signal"] == SIGKILL]
        self._record("forced")

    def advance(self):
        """Do what is due; return the seconds until the next look, or None at the end."""
        at = now()
        self._note_ends(at)
        self._kin.follow({target.pid for target in self.living()})
        for step in [one for one in self._steps if self._is_due(one, at)]:
            self._steps.remove(step)
            self._take(step)
        for repeat in [one for one in self._repeats if one[0] <= at]:
            self._repeats.remove(repeat)
            self._again(repeat, at)
        self._note_stuck(at)
        living = self.living()
        if not living and not self._repeats:
            return self._finish("ended")
        if at >= self.deadline:
            return self._finish("deadline")
        if self.is_aborted:
            return self._finish("aborted")
        waits = [self.deadline - at, LOOK_S]
        waits += [max(0.0, one[0] - at) for one in self._repeats]
        waits += [max(0.0, due - at) for due in map(self._due, self._steps) if due is not None]
        if any(target.fd is None for target in living):
            waits.append(POLL_S)
        return min(waits)

    def _finish(self, why):
        self._note_ends(now())
        self.end = why
        left = [[target.pid, target.wanted[0], target.state()] for target in self.living()]
        self._record("done", why=why, left=left)
        for target in self._targets + self._joined:
            if target is not None:
                target.close()

    # -- steps -------------------------------------------------------------------------------

    def _note_ends(self, at):
        for target in self.living():
            if target.has_ended():
                self._record("ended", pid=target.pid, start=target.wanted[0])
        for place, target in enumerate(self._targets):
            if (target is None or target.is_gone) and place not in self._gone_since:
                self._gone_since[place] = at

    def _due(self, step):
        """Return when a step is due by the host's clock; one that waits for ends counts them."""
        due = self.started + step["at"]
        gone = step.get("gone")
        if gone and all(place in self._gone_since for place in gone):
            since = max(self._gone_since[place] for place in gone)
            due = min(due, since + float(step.get("delay") or 0))
        return due

    def _is_due(self, step, at):
        return self._due(step) <= at

    def _take(self, step):
        named = [self._targets[place] for place in step["to"]]
        known = [target for target in named if target is not None]
        if step.get("children"):
            self._join()
            known += [one for one in self._joined if one not in known]
        for target in known:
            self._signal(target, step["signal"], step["place"])
        if step.get("children") and step["signal"] == SIGKILL:
            self._repeats.append((now() + AGAIN_S, step, 1))

    def _again(self, repeat, at):
        """Signal who was born meanwhile; up to three times, as long as there is somebody."""
        _, step, count = repeat
        new = self._join()
        for target in new:
            self._signal(target, step["signal"], step["place"])
        if new and count < MOST_REPEATS:
            self._repeats.append((at + AGAIN_S, step, count + 1))

    def _join(self):
        self._kin.look({target.pid for target in self.living()})
        new = self._kin.join(self._uids, self._holds)
        for target in new:
            self._record("joined", pid=target.pid, start=target.wanted[0], uid=target.wanted[1])
        self._joined += new
        return new

    def _signal(self, target, number, place):
        if target.has_ended():
            return
        try:
            is_stopped = target.state() == "T"
            target.send(number)
            if number == SIGKILL:
                self._killed.setdefault(target.pid, [now(), None, False])
            elif is_stopped:
                target.send(SIGCONT)
        except Refused as why:
            if not target.has_ended():
                self._record("refused", pid=target.pid, start=target.wanted[0], why=str(why))
                self._forget(target)
            return
        except OSError as error:
            code = error.errno
            self._record("signal", pid=target.pid, signal=number, step=place, error=code)
            return
        self._record("signal", pid=target.pid, start=target.wanted[0], signal=number, step=place)

    def _forget(self, target):
        """Let go of what is not what was planned any more: it gets no signal from here on."""
        target.close()
        self._targets = [None if one is target else one for one in self._targets]
        self._joined = [one for one in self._joined if one is not target]

    # -- stuck -------------------------------------------------------------------------------

    def _note_stuck(self, at):
        """Say of a killed process that does not die what it waits for; once, and nothing more."""
        for target in self.living():
            killed = self._killed.get(target.pid)
            if killed is None or killed[2] or at - killed[0] < STUCK_S:
                continue
            facts = waiting_facts(target.pid)
            if facts is None or facts["signature"] != killed[1]:
                killed[0], killed[1] = at, facts and facts["signature"]
                continue
            killed[2] = True
            self._record("stuck", pid=target.pid, start=target.wanted[0], **facts["words"])
