"""Carries out one order of a cleanup: signals to bound members, in steps, and nothing else.

The order and the reports are specified in core.cleanup.orders; an order is complete in itself.
Nothing is decided here: who is meant, which signals, when and on which condition, is written in
it, and whoever differs from it gets no signal.
"""

import os

from gpudash.probe.course import SIGNALS, Course
from gpudash.probe.devices import INITIAL_PID_NAMESPACE
from gpudash.probe.kin import LOOK_S, Kin, untouchable
from gpudash.probe.line import boot_id, now, pid_namespace
from gpudash.probe.managed import Managed
from gpudash.probe.stuck import survivor

VERSION = 1
POLL_S = 0.02  # without a descriptor
WATCH_S = 0.5
MOST_MEMBERS = 10000  # a host has that many processes; an order with more is none


class BadOrder(Exception):
    """What was sent is not an order, or not one for here; nothing was done."""


def check(order):
    """Raise BadOrder unless every part of an order is what it must be."""
    try:
        if order["v"] != VERSION or not isinstance(order["run"], str) or not order["run"]:
            raise BadOrder("not an order of this version")
        float(order["by"])
        members = 0
        for family in order["families"]:
            if type(family["f"]) is not int:
                raise BadOrder("a family has no number")
            if "run" in family:
                _check_commands(family)
            else:
                members += _check_members(family)
        if members > MOST_MEMBERS:
            raise BadOrder("more than %d processes" % MOST_MEMBERS)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadOrder("not an order: %s" % (error,))


def _check_commands(family):
    float(family["for"])
    for words in family["run"]:
        if not words or any(not isinstance(word, str) for word in words):
            raise BadOrder("a command is not made of words")


def _check_members(family):
    members = family["members"]
    for pid, start, uid, exe in members:
        if [type(part) for part in (pid, start, uid)] != [int, int, int] or pid < 2:
            raise BadOrder("a member is not an identity")
        if exe is not None and [type(part) for part in exe] != [int, int]:
            raise BadOrder("an executable is not device and inode")
    if any(not isinstance(gpu, str) for gpu in family["gpus"]):
        raise BadOrder("a GPU has no name")
    for step in family["steps"]:
        if step["send"] not in SIGNALS:
            raise BadOrder("no such signal: %r" % (step["send"],))
        to = step["to"]
        if to not in ("roots", "rest", "all"):
            if any(type(place) is not int or not 0 <= place < len(members) for place in list(to)):
                raise BadOrder("a step names a member that is not there")
        float(step["wait"]), float(step.get("settle") or 0), int(step.get("rounds") or 1)
    return len(members)


def check_place(order):
    """Raise BadOrder for an order that was made for another boot, namespace or user."""
    if order.get("boot") not in (None, boot_id()):
        raise BadOrder("the host was started anew since the plan")
    if order.get("pidns") not in (None, pid_namespace()):
        raise BadOrder("the plan was made in another pid namespace")
    if order.get("uid") != os.getuid():
        raise BadOrder("the plan was made as another user")
    if order.get("simulated") and pid_namespace() in (None, INITIAL_PID_NAMESPACE):
        raise BadOrder("a plan about stand-in devices is not carried out on a real host")


class Execution(object):
    """One order on its way."""

    def __init__(self, order, tell, holds, never=()):
        """Bind every member. Raises BadOrder for an order that is not for here.

        `tell(what, **fields)` keeps a report line; `holds(pid, gpus)` tells whether a process or
        one of its living threads holds a device of these GPUs.
        """
        check(order)
        check_place(order)
        self._tell = tell
        self.deadline = float(order["by"])
        # Who is above the hand is told by it: this process was let go and has nobody above.
        self._never = untouchable() | set(never)
        ticks = os.sysconf("SC_CLK_TCK")
        self._kin = Kin(int(float(order.get("since", now())) * ticks), self._never)
        self._courses = [self._course(family, holds) for family in order["families"]]
        polled = sum(one.fd is None for one in self.living())
        self._tell("begun", polled=polled)
        self._watched = now()
        self._is_aborted = False
        self.is_over = False

    def _course(self, family, holds):
        if "run" in family:
            return Managed(family, self._tell)
        self._kin.name({pid: start for pid, start, _, _ in family["members"]})
        return Course(family, self._tell, holds, self._kin, self._never)

    def living(self):
        """Return the bound members and heirs that have not ended."""
        return [one for course in self._courses for one in course.living()]

    def descriptors(self):
        """Return what becomes readable when a member ends."""
        return [one.fd for one in self.living() if one.fd is not None]

    def abort(self):
        """Begin no further step; what was sent stays sent."""
        self._is_aborted = True
        for course in self._courses:
            course.stop()

    def replace(self, order):
        """Take other steps for the same members. Raises BadOrder where they are not the same."""
        check(order)
        if self._is_aborted:
            raise BadOrder("the order was told to begin nothing more")
        known = {course.number: course for course in self._courses}
        families = {family["f"]: family for family in order["families"]}
        if set(families) - set(known):
            raise BadOrder("the order that runs has no such family")
        for number, family in families.items():
            bound = {one.pid for one in getattr(known[number], "members", []) if one is not None}
            named = {row[0] for row in family.get("members", [])}
            if not bound <= named:
                raise BadOrder("the order that runs has other members")
        self.deadline = float(order["by"])
        for number, family in families.items():
            known[number].replace(family)

    def advance(self):
        """Do what is due; return the seconds until the next look, or None at the end."""
        at = now()
        living = {one.pid for one in self.living()}
        self._kin.follow(living)
        due = [course.advance(at) for course in self._courses]
        self._watch(at)
        if all(course.is_over for course in self._courses):
            return self._finish("aborted" if self._is_aborted else "finished")
        if at >= self.deadline:
            return self._finish("deadline")
        wait = min([self.deadline - at, LOOK_S, *[max(0.0, one - at) for one in due]])
        if any(one.fd is None for one in self.living()):
            wait = min(wait, POLL_S)
        return wait

    def _finish(self, why):
        for course in self._courses:
            course.note_ends()
        self._tell("done", why=why)
        for course in self._courses:
            course.close()
        self.is_over = True

    def _watch(self, at):
        """Twice a second say who is still there, with the facts about whoever was killed."""
        if at - self._watched < WATCH_S:
            return
        self._watched = at
        left = []
        survivors = []
        for course in self._courses:
            living = course.living()
            if living:
                left.append([course.number, len(living)])
            killed = [one for one in living if one.pid in course.killed]
            survivors += [survivor(course.number, one.pid) for one in killed[:16]]
        if left:
            self._tell("waiting", left=left, survivors=[one for one in survivors if one])
