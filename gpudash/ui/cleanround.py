"""One round of cleaning: what one key began on some hosts, until all of them are done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpudash.core.cleanup.consent import Given, chosen, runs_at_once
from gpudash.core.cleanup.course import Course, followed, freed_bytes
from gpudash.core.cleanup.phases import Phase
from gpudash.core.cleanup.plan import Plan
from gpudash.core.cleanup.progress import Fate
from gpudash.core.cleanup.results import joint_code
from gpudash.core.cleanup.state import State
from gpudash.core.families import holders
from gpudash.core.model import Fleet
from gpudash.core.record import ended
from gpudash.core.units import format_duration, format_memory, index_list, plural
from gpudash.services.cleaner import Cleaner
from gpudash.services.cleaning import Cleaning
from gpudash.services.clock import Clock
from gpudash.services.recorder import Run
from gpudash.ui.paint.cleaning import CleaningView, HostProgress
from gpudash.ui.paint.former import Former, formers_of
from gpudash.ui.paint.plandialog import PlanView
from gpudash.ui.paint.plankeys import letters_of, toggles_of
from gpudash.ui.screens.plan import PlanScreen
from gpudash.ui.targets import Target


@dataclass(slots=True)
class Round:
    """What one key began."""

    target: Target
    cleaner: Cleaner
    run: Run
    """Its record."""
    is_shown_first: bool
    keys: int
    """How many keys had been pressed when it was asked for."""
    asked_s: float
    letters: dict[tuple[str, int], str]
    """Of each listed pid, by host: as on the screen when it began."""
    courses: dict[str, Course | None] = field(default_factory=dict)
    screen: PlanScreen | None = None
    told: set[str] = field(default_factory=set)
    """Hosts whose result was told."""
    is_closed: bool = False
    """Its hosts were let go of."""

    async def close(self) -> None:
        """Let go of the hosts and end the record; what hosts carry they carry to its end."""
        await self.cleaner.close()
        if not self.run.has_ended:
            results = self.cleaner.results()
            says = "; ".join(f"{one.host}: {one.says}" for one in results)
            self.run.end(ended(int(joint_code(results)), says))

    @property
    def cleanings(self) -> Mapping[str, Cleaning]:
        """Return the hosts of it, by name."""
        return self.cleaner.cleanings

    @property
    def is_planned(self) -> bool:
        """Tell whether no host is still looked at."""
        return all(one.state.phase is not Phase.SCANNING for one in self.cleanings.values())

    @property
    def waiting(self) -> tuple[Cleaning, ...]:
        """Return the hosts whose plan waits for consent."""
        return tuple(one for one in self.cleanings.values() if one.waits_for_consent)

    @property
    def has_problems(self) -> bool:
        """Tell whether a host could not be looked at."""
        return any(one.problem for one in self.cleanings.values())

    @property
    def plans(self) -> tuple[Plan, ...]:
        """Return the plans that wait for consent."""
        return tuple(one.state.plan for one in self.waiting if one.state.plan is not None)

    def may_run(self, keys: int, cleaned: set[str]) -> bool:
        """Tell whether one key was enough: all allow it, and nothing was typed since."""
        return (
            not self.is_shown_first
            and self.keys == keys
            and len(self.plans) == len(self.cleanings)
            and cleaned.issuperset(self.cleanings)
            and all(runs_at_once(plan) for plan in self.plans)
        )

    def begun_words(self, plan: Plan, given: Given) -> str:
        """Say who was agreed to be ended on one host."""
        letters = letters_of((plan,), self.letters)
        names = sorted(letters[plan.host, family] for family in chosen(plan, given))
        *first, last = names
        words = f"{', '.join(first)} and {last}" if first else last
        return f"cleanup of {words} started by you"

    def result_words(self, name: str, says: str, *, is_clean: bool) -> str:
        """Say what a host's cleanup came to."""
        course, state = self.courses.get(name), self.cleanings[name].state
        targets = state.targets
        if course is None or not targets or not all(one.fate is Fate.ENDED for one in targets):
            return says
        last_s = max([course.began_s, *(at_s for _, at_s in (*course.ended, *course.zero))])
        took = format_duration(last_s - course.began_s, tenths=True)
        number = plural(len(course.ended), "process", "processes")
        forced = f", {len(course.forced)} of them forced" if course.forced else ""
        freed = freed_bytes(state, course)
        words = f"cleaned in {took}: {number} ended{forced}, {format_memory(freed)} freed"
        words += _beside(state)
        return words if is_clean else f"{words}; {kept_words(state)}"

    def follow(self, at_s: float) -> None:
        """Take note of when things were seen to happen."""
        for name, one in self.cleanings.items():
            self.courses[name] = followed(self.courses.get(name), one.state, at_s)

    def plan_view(self, clock: Clock) -> PlanView:
        """Return what the dialog shows."""
        letters = letters_of(self.plans, self.letters)
        return PlanView(
            plans=self.plans,
            toggles=toggles_of(self.plans, letters),
            letters=letters,
            waiting=tuple(
                (name, one.problem.sentence if one.problem else "")
                for name, one in self.cleanings.items()
                if one.state.phase is Phase.SCANNING or one.problem is not None
            ),
            why=tuple(one.why for one in self.waiting if one.why),
            title=f"Clean {self.target.words}",
            now_s=clock.now(),
            wall_of=clock.wall,
            glyphs=self.target.glyphs,
        )

    def _letters_on(self, one: Cleaning) -> dict[int, str]:
        """Return the letter of every pid in a host's plan."""
        plan = one.state.plan
        if plan is None:
            return {}
        letters = letters_of((plan,), self.letters)
        return {
            pid: letters[plan.host, family.id] for family in plan.families for pid in family.pids
        }

    def formers(self, name: str) -> dict[tuple[str, str], Former]:
        """Return what the GPUs of a host were used for before it was cleaned."""
        plan, course = self.cleanings[name].state.plan, self.courses.get(name)
        if plan is None or course is None:
            return {}
        return formers_of(plan, course, letters_of((plan,), self.letters))

    def progress(self, clock: Clock) -> CleaningView | None:
        """Return the cleanups under way; None where none is before its proof."""
        hosts = tuple(
            HostProgress(
                name=name,
                state=one.state,
                course=self.courses.get(name),
                letters=self._letters_on(one),
            )
            for name, one in self.cleanings.items()
            if one.state.given is not None
        )
        if not any(one.is_running for one in hosts):
            return None
        return CleaningView(hosts, clock.now(), clock.wall, self.run.path.name)


def kept_words(state: State) -> str:
    """Say which GPUs are not at zero afterwards, and why."""
    reasons: dict[str, list[int]] = {}
    for ending in state.endings:
        if ending.reason:
            reasons.setdefault(ending.reason, []).append(ending.index)
    return "; ".join(
        f"GPU {index_list(indices)} kept by {reason}" for reason, indices in reasons.items()
    )


def screen_letters(fleet: Fleet) -> dict[tuple[str, int], str]:
    """Return the letter of each listed pid, and of who keeps a dead one's memory."""
    found: dict[tuple[str, int], str] = {}
    for host in fleet.hosts:
        for holder in holders(host, fleet.letters):
            heirs = [pid for _, pids in holder.kept for pid in pids]
            for pid in (*holder.pids, *heirs):
                if holder.letter:
                    found[host.name, pid] = holder.letter
    return found


def _beside(state: State) -> str:
    """Say which work outside the scope ended with it; empty for none."""
    plan = state.plan
    if plan is None:
        return ""
    families = [plan.family(family) for family in state.picked]
    beside = sorted({share.index for family in families for share in family.collateral})
    if not beside:
        return ""
    here = index_list([index for _, index in plan.scope])
    return f" on GPU {here}, and its work on GPU {index_list(beside)} ended"
