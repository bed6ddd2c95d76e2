"""What the screen does about cleanups: which hosts, the plan, the consent, and the way it goes.

Who decides is `core.cleanup`, who carries it out the cleaner behind `make`; here a person's keys
come to them. Nobody agrees to anything but what was on the screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from textual.app import App

from gpudash.core.cleanup.consent import Given, runs_at_once
from gpudash.core.cleanup.course import Course, followed
from gpudash.core.cleanup.forecast import given_for
from gpudash.core.cleanup.phases import Phase
from gpudash.core.cleanup.plan import Plan
from gpudash.core.cleanup.state import State
from gpudash.core.families import holders
from gpudash.core.model import Fleet, Problem
from gpudash.core.scope import Scope
from gpudash.services.clock import Clock
from gpudash.ui.keystrokes import QUIET_S, Keystrokes
from gpudash.ui.paint.cleaning import CleaningView, HostProgress
from gpudash.ui.paint.plandialog import PlanView
from gpudash.ui.paint.plankeys import letters_of, toggles_of
from gpudash.ui.screens.plan import PlanScreen, Turned
from gpudash.ui.strips import Ink
from gpudash.ui.targets import Target


class HostCleaning(Protocol):
    """One host that is being cleaned, as the screen needs it."""

    name: str
    why: str
    problem: Problem | None
    state: State

    def confirm(self, given: Given, digest: str) -> None:
        """Agree to the plan of this digest."""

    def stop(self) -> None:
        """Go no further."""

    def give_up(self) -> None:
        """Wait for nothing more."""

    def force(self) -> None:
        """Kill at once."""


class Cleaner(Protocol):
    """The cleanups that were begun together."""

    cleanings: Mapping[str, HostCleaning]

    async def close(self) -> None:
        """Let go of all hosts."""


MakeCleaner = Callable[[Scope | None, tuple[str, ...], Callable[[], None]], Cleaner]
"""Scope, names of the hosts, and what is called after each change."""


@dataclass(slots=True)
class _Round:
    """What one key began."""

    target: Target
    cleaner: Cleaner
    is_shown_first: bool
    keys: int
    """How many keys had been pressed when it was asked for."""
    asked_s: float
    courses: dict[str, Course | None] = field(default_factory=dict)
    letters: dict[tuple[str, int], str] = field(default_factory=dict)
    screen: PlanScreen | None = None


class Cleanups:
    """The screen's end of cleaning; without `make` nothing can be cleaned from here."""

    def __init__(
        self,
        app: App[None],
        clock: Clock,
        keys: Keystrokes,
        make: MakeCleaner | None,
        changed: Callable[[], None],
        *,
        confirms_always: bool = False,
    ) -> None:
        """`changed` is called when there is something new to paint."""
        self._app = app
        self._clock = clock
        self._keys = keys
        self._make = make
        self._changed = changed
        self._confirms_always = confirms_always
        self._round: _Round | None = None
        self._cleaned: set[str] = set()
        """Hosts of which a cleanup was seen through: only there one key may run it."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._fleet = Fleet()
        self._ink: Ink | None = None

    @property
    def is_possible(self) -> bool:
        """Tell whether anything can be cleaned from here."""
        return self._make is not None

    @property
    def is_open(self) -> bool:
        """Tell whether a plan is shown, or a cleanup runs that the screen is about."""
        return self._round is not None and (
            self._round.screen is not None or self.view() is not None
        )

    def begin(self, target: Target, fleet: Fleet, ink: Ink, *, is_shown_first: bool) -> None:
        """Look at the hosts of a target and show the plan; one key may be all if all allow it."""
        if self._make is None or self.is_open:
            return
        self._drop()
        self._fleet, self._ink = fleet, ink
        was_alone = self._keys.is_after_quiet
        cleaner = self._make(target.scope, target.hosts, self._heard)
        self._round = _Round(
            target=target,
            cleaner=cleaner,
            is_shown_first=is_shown_first or self._confirms_always or not was_alone,
            keys=self._keys.count,
            asked_s=self._keys.last_s,
            letters=_letters(fleet),
        )
        self._show_plan(self._round)
        self._heard()

    def _drop(self) -> None:
        before, self._round = self._round, None
        if before is not None:
            task = asyncio.get_running_loop().create_task(before.cleaner.close())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """Let go of everything; what the hosts carry they carry to its end."""
        self._drop()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- what the hosts say ------------------------------------------------------------------

    def _heard(self) -> None:
        round_ = self._round
        if round_ is None:
            return
        now = self._clock.now()
        for name, one in round_.cleaner.cleanings.items():
            round_.courses[name] = followed(round_.courses.get(name), one.state, now)
            if one.state.phase is Phase.DONE and one.state.is_sent:
                self._cleaned.add(name)
        if _is_planned(round_):
            self._settle(round_)
        self._changed()

    def _settle(self, round_: _Round) -> None:
        """Show what waits for consent, or close the dialog where nothing does."""
        waiting = _waiting(round_)
        if not waiting and not any(one.problem for one in round_.cleaner.cleanings.values()):
            self._hide(round_)
        elif waiting and self._may_run(round_):
            self._app.call_later(self._run_at_once, round_)
        elif waiting or round_.screen is not None:
            self._show_plan(round_)

    def _may_run(self, round_: _Round) -> bool:
        plans = _plans(round_)
        return (
            not round_.is_shown_first
            and round_.keys == self._keys.count
            and len(plans) == len(round_.cleaner.cleanings)
            and all(name in self._cleaned for name in round_.cleaner.cleanings)
            and all(runs_at_once(plan) for plan in plans)
        )

    def _run_at_once(self, round_: _Round) -> None:
        """Run what needs no plan shown, once it is sure that no more keys follow the one."""
        if self._round is not round_ or not self._may_run(round_):
            self._heard()
            return
        left_s = QUIET_S - (self._clock.now() - round_.asked_s)
        if left_s > 0:
            asyncio.get_running_loop().call_later(left_s, self._run_at_once, round_)
            return
        self._agree(_plans(round_), frozenset())

    # -- what the person says ----------------------------------------------------------------

    def _show_plan(self, round_: _Round) -> None:
        assert self._ink is not None
        view = self._plan_view(round_)
        if round_.screen is None:
            round_.screen = PlanScreen(
                self._ink, self._keys, self._clock.now, self._agree, self._cancel
            )
            round_.screen.show(view)
            self._app.push_screen(round_.screen)
        else:
            round_.screen.show(view)

    def _plan_view(self, round_: _Round) -> PlanView:
        plans = _plans(round_)
        letters = letters_of(plans, round_.letters)
        waiting = tuple(
            (name, one.problem.sentence if one.problem else "")
            for name, one in round_.cleaner.cleanings.items()
            if one.state.phase is Phase.SCANNING or one.problem is not None
        )
        return PlanView(
            plans=plans,
            toggles=toggles_of(plans, letters),
            letters=letters,
            waiting=waiting,
            why=tuple(
                one.why for one in round_.cleaner.cleanings.values() if one.why and _waits(one)
            ),
            title=f"Clean {round_.target.words}",
            now_s=self._clock.now(),
            wall_of=self._clock.wall,
            glyphs=round_.target.glyphs,
        )

    def _agree(self, plans: tuple[Plan, ...], turned: Turned) -> None:
        """Confirm each plan as it was on the screen; a host where nobody is to end is left."""
        round_ = self._round
        if round_ is None:
            return
        self._hide(round_)
        round_.target.done()
        for plan in plans:
            one = round_.cleaner.cleanings[plan.host]
            given = given_for(plan, frozenset(id_ for host, id_ in turned if host == plan.host))
            if given.is_confirmed:
                one.confirm(given, plan.digest)
            else:
                one.give_up()
        self._heard()

    def _cancel(self) -> None:
        round_ = self._round
        if round_ is None:
            return
        self._hide(round_)
        round_.target.done()
        for one in round_.cleaner.cleanings.values():
            if _waits(one) or one.state.phase is Phase.SCANNING:
                one.give_up()
        self._changed()

    def _hide(self, round_: _Round) -> None:
        screen, round_.screen = round_.screen, None
        if screen is not None:
            screen.dismiss(None)

    def force(self) -> None:
        """Kill at once what was asked to end; only while that is what the screen shows."""
        view = self.view()
        if self._round is not None and view is not None and view.can_force:
            for one in self._round.cleaner.cleanings.values():
                one.force()
            self._heard()

    def stop(self) -> bool:
        """Go no further; tell whether there was anything to stop."""
        view = self.view()
        if self._round is None or view is None or not view.can_stop:
            return False
        for one in self._round.cleaner.cleanings.values():
            one.stop()
        self._heard()
        return True

    # -- what is shown -----------------------------------------------------------------------

    def view(self) -> CleaningView | None:
        """Return the cleanups under way; None while nothing is, or all is in the proof's hands."""
        round_ = self._round
        if round_ is None:
            return None
        hosts = tuple(
            HostProgress(
                name=name,
                state=one.state,
                course=round_.courses.get(name),
                letters={
                    pid: letter for (host, pid), letter in round_.letters.items() if host == name
                },
            )
            for name, one in round_.cleaner.cleanings.items()
            if one.state.given is not None
        )
        if not any(one.is_running for one in hosts):
            return None
        return CleaningView(hosts, self._clock.now(), self._clock.wall, "")


def _is_planned(round_: _Round) -> bool:
    return all(one.state.phase is not Phase.SCANNING for one in round_.cleaner.cleanings.values())


def _waits(one: HostCleaning) -> bool:
    return one.state.phase is Phase.PLANNED


def _waiting(round_: _Round) -> list[HostCleaning]:
    return [one for one in round_.cleaner.cleanings.values() if _waits(one)]


def _plans(round_: _Round) -> tuple[Plan, ...]:
    return tuple(one.state.plan for one in _waiting(round_) if one.state.plan is not None)


def _letters(fleet: Fleet) -> dict[tuple[str, int], str]:
    """Return the letter of each listed pid, and of who keeps a dead one's memory."""
    found: dict[tuple[str, int], str] = {}
    for host in fleet.hosts:
        for holder in holders(host, fleet.letters):
            heirs = [pid for _, pids in holder.kept for pid in pids]
            for pid in (*holder.pids, *heirs):
                if holder.letter:
                    found[host.name, pid] = holder.letter
    return found
