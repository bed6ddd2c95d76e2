"""A cleanup under way: what the banner, the GPUs and the panel say of it."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.cleanup.course import Course, force_at_s, freed_bytes, to_free_bytes
from gpudash.core.cleanup.judging import stays_on
from gpudash.core.cleanup.phases import Phase
from gpudash.core.cleanup.progress import Fate, Target
from gpudash.core.cleanup.state import State
from gpudash.core.model import Gpu
from gpudash.core.units import format_duration, format_memory, gib, plural
from gpudash.ui.paint.facts import fact
from gpudash.ui.paint.spans import Row, outside
from gpudash.ui.paint.story import Keys, Story
from gpudash.ui.paint.view import WallClock, no_clock

FORCE = ("!", "force now")
STOP = ("esc", "stop here")
_RUNNING = (
    Phase.CONFIRMED,
    Phase.BOUND,
    Phase.TERMINATING,
    Phase.KILLING,
    Phase.DRAINING,
    Phase.RESCANNING,
)
_FORCEABLE = (Phase.BOUND, Phase.TERMINATING, Phase.KILLING)


class HostProgress(NamedTuple):
    """One host that is being cleaned."""

    name: str
    state: State
    course: Course | None
    letters: dict[int, str]
    """By pid, of everybody in the plan."""

    @property
    def is_running(self) -> bool:
        """Tell whether something is still to happen before the proof."""
        return self.state.phase in _RUNNING

    def target(self, pid: int) -> Target | None:
        """Return what became of one process."""
        return next((one for one in self.state.targets if one.identity.pid == pid), None)


class CleaningView(NamedTuple):
    """The cleanups that run now."""

    hosts: tuple[HostProgress, ...]
    now_s: float
    wall_of: WallClock = no_clock
    record: str = ""

    @property
    def can_force(self) -> bool:
        """Tell whether `!` would change anything."""
        return any(one.state.phase in _FORCEABLE and not one.state.is_forced for one in self.hosts)

    @property
    def can_stop(self) -> bool:
        """Tell whether escape would change anything."""
        return any(one.is_running and not one.state.is_aborted for one in self.hosts)

    @property
    def keys(self) -> Keys:
        """Return the keys of this screen."""
        force = (FORCE,) if self.can_force else ()
        return (*force, *((STOP,) if self.can_stop else ()))

    def of(self, name: str) -> HostProgress | None:
        """Return one host's."""
        return next((one for one in self.hosts if one.name == name), None)


def to_free(one: HostProgress) -> int:
    """Return how many bytes the chosen families held when the plan was made."""
    return to_free_bytes(one.state)


def freed(one: HostProgress) -> int:
    """Return how many of these came back."""
    return freed_bytes(one.state, one.course) if one.course else 0


def cleaning_story(view: CleaningView, *, is_wide: bool) -> Story:
    """Return what the banner says while hosts are cleaned."""
    targets = [target for one in view.hosts for target in one.state.targets]
    ended = sum(target.fate is Fate.ENDED for target in targets)
    done, whole = sum(map(freed, view.hosts)), sum(map(to_free, view.hosts))
    amount = f"{gib(done)} of {gib(whole)} GiB freed"
    began = [one.course.began_s for one in view.hosts if one.course]
    since = format_duration(view.now_s - min(began), tenths=True) if began else ""
    processes = plural(len(targets), "process", "processes")
    headline = (fact(amount, "text-strong b"), fact(f"{ended} of {processes} ended"))
    return Story(
        tone="cleaning",
        symbol="going",
        word="CLEANING",
        since=f"for {since}" if since else "",
        headline=headline if is_wide else headline[:1],
        second=(fact(_next_words(view, targets, is_wide=is_wide)),),
        keys=view.keys,
        short=fact(amount, "text-strong b"),
    )


def _next_words(view: CleaningView, targets: list[Target], *, is_wide: bool) -> str:
    if any(one.state.is_aborted for one in view.hosts):
        return "stopped here: nobody else is signalled"
    stuck = [target.identity.pid for target in targets if target.fate is Fate.STUCK]
    if stuck:
        return f"pid {stuck[0]} does not end: it waits in the kernel"
    there = [target for target in targets if not target.is_over]
    left = len(there)
    asked = [one.course.first_asked_s for one in view.hosts if one.course and one.course.asked]
    words = f"asked to end at {view.wall_of(min(asked))}. " if asked and is_wide else ""
    if not asked:
        return "the order is on its way"
    if left:
        many = plural(left, "process", "processes") if is_wide else str(left)
        return f"{words}{many} left{_force_words(view, there)}"
    return f"{words}All ended: waiting for the memory"


def next_force_s(view: CleaningView) -> float | None:
    """Return when the next survivor is forced; None where none will be."""
    times = [
        at_s
        for one in view.hosts
        if one.course is not None
        for target in one.state.targets
        if target.fate in (Fate.ASKED, Fate.UNTOUCHED)
        and (at_s := force_at_s(one.state, one.course, target.family)) is not None
    ]
    return min(times, default=None)


def _force_words(view: CleaningView, there: list[Target]) -> str:
    if all(target.fate is Fate.FORCED for target in there):
        return ", forced"
    at_s = next_force_s(view)
    if at_s is None:
        return ""
    return f": force in {format_duration(max(0.0, at_s - view.now_s), tenths=True)}"


class GpuProgress(NamedTuple):
    """What a GPU's rows say while its host is cleaned."""

    before_bytes: int
    first: Row
    second: Row
    right: Row


def gpu_progress(one: HostProgress, now_s: float, gpu: Gpu) -> GpuProgress | None:
    """Return what became of one GPU in scope; None where a cleanup is not about it."""
    course, plan = one.course, one.state.plan
    if course is None or plan is None or not one.state.is_sent:
        return None
    before = dict(course.before).get(gpu.info.key)
    used = gpu.reading.used_bytes if gpu.reading else None
    if before is None or used is None:
        return None
    members = [
        (family, member)
        for family in plan.families
        if family.id in one.state.picked
        for member in family.members
        if gpu.info.key in member.gpus
    ]
    if used == 0:
        return _zero(course, gpu, before, [member.pid for _, member in members])
    left = [pid for _, member in members if not _is_over(one, pid := member.pid)]
    if members and not left and used <= stays_on(plan, one.state.picked, gpu.info.key):
        return _shared(course, before, used, [member.pid for _, member in members])
    if members and not left:
        letter = one.letters.get(members[0][1].pid, "")
        mark: Row = ((f"{letter} ", "leftover b"), ("ended, memory draining", "text"))
        back = format_memory(max(0, before - used))
        return GpuProgress(
            before, mark, ((f"  {back} given back", "text-muted"),), (("» ", "unknown"),)
        )
    if not members:
        return GpuProgress(before, (), (), ())
    if used < before - (256 << 20):
        back = f"  ends, {format_memory(before - used)} given back so far"
        return GpuProgress(before, (), ((back, "text-muted"),), (("» ", "unknown"),))
    return _waiting(one, course, before, left, now_s)


def _is_over(one: HostProgress, pid: int) -> bool:
    target = one.target(pid)
    return target is None or target.is_over


def _zero(course: Course, gpu: Gpu, before: int, pids: list[int]) -> GpuProgress:
    first: Row = (("√ zero", "clear b"),)
    if not before:
        return GpuProgress(0, first, (("  was free before", "text-muted"),), ())
    at_s = dict(course.zero).get(gpu.info.key)
    end: Row = ()
    if at_s is not None:
        end = ((f"at {format_duration(at_s - course.began_s, tenths=True)} ", "text"),)
    ended = dict(course.ended)
    times = [ended[pid] for pid in pids if pid in ended]
    words = ""
    if times:
        forced = " when forced" if any(pid in dict(course.forced) for pid in pids) else ""
        after = format_duration(max(times) - course.began_s, tenths=True)
        words = f"  ended{forced} after {after}"
    return GpuProgress(before, first, ((words, "text-muted"),), end)


def _shared(course: Course, before: int, used: int, pids: list[int]) -> GpuProgress:
    """Say of a GPU that others go on using when its leftovers were gone."""
    ended = dict(course.ended)
    after = max((ended[pid] for pid in pids if pid in ended), default=course.began_s)
    words = format_duration(after - course.began_s, tenths=True)
    said = f"  {format_memory(max(0, before - used))} given back after {words}"
    return GpuProgress(before, (), ((said, "text-muted"),), (("√ ", "clear"),))


def _waiting(
    one: HostProgress, course: Course, before: int, left: list[int], now_s: float
) -> GpuProgress:
    target = one.target(left[0])
    words, style = "asked to end, no answer yet", "text-muted"
    end: Row = ()
    if target is None or target.fate is Fate.UNTOUCHED:
        words = "not asked yet"
    elif target.fate is Fate.FORCED:
        words, style = "forced", "text"
    elif target.fate is Fate.STUCK:
        words, style = "can't be killed: it waits in the kernel", "leftover b"
    elif (at_s := force_at_s(one.state, course, target.family)) is not None and at_s > now_s:
        due = format_duration(at_s - now_s, tenths=True)
        end = ((f"force in {due} ", "unknown"),)
    return GpuProgress(before, (), ((f"  {words}", style),), end)


def member_label(one: HostProgress, pid: int) -> tuple[str, str]:
    """Return the family's name and the member's own words."""
    plan = one.state.plan
    for family in plan.families if plan else ():
        for member in family.members:
            if member.pid == pid:
                name, _, detail = outside(member.label, 60).partition(" ")
                return name, detail
    return "", f"pid {pid}"


def memory_words(one: HostProgress, pid: int) -> str:
    """Say what became of the memory of a process that ended: `memory back`, `draining`."""
    plan, used = one.state.plan, dict(one.state.used)
    gpus = {
        gpu
        for family in (plan.families if plan else ())
        for member in family.members
        if member.pid == pid
        for gpu in member.gpus
    }
    if plan is None or not gpus:
        return "held none"
    for gpu in gpus:
        size = used.get(gpu)
        if size is None or (size and size > stays_on(plan, one.state.picked, gpu)):
            return "draining"
    return "memory back"
