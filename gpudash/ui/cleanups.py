"""What the screen does about cleanups: which hosts, the plan, the consent, and the way it goes.

Who decides is `core.cleanup`, who carries it out `services.cleaner`; here a person's keys come to
them. Nobody agrees to anything but what was on the screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.app import App

from gpudash.core.cleanup.forecast import given_for
from gpudash.core.cleanup.phases import Phase
from gpudash.core.cleanup.plan import Plan
from gpudash.core.cleanup.results import Stop
from gpudash.core.errors import ExitCode
from gpudash.core.model import Fleet, Happening
from gpudash.core.scope import Scope
from gpudash.services.cleaner import Cleaner
from gpudash.services.clock import Clock
from gpudash.services.recorder import Run
from gpudash.ui.cleanround import Round, screen_letters
from gpudash.ui.keystrokes import QUIET_S, Keystrokes
from gpudash.ui.paint.cleaning import CleaningView
from gpudash.ui.screens.plan import PlanScreen, Turned
from gpudash.ui.strips import Ink
from gpudash.ui.targets import Target

MakeCleaner = Callable[[Scope | None, tuple[str, ...], Callable[[], None]], tuple[Cleaner, Run]]
"""Scope, names of the hosts, what is called after each change; with the record of it."""


class Cleanups:
    """The screen's end of cleaning; without `make` nothing can be cleaned from here."""

    def __init__(
        self,
        app: App[None],
        clock: Clock,
        keys: Keystrokes,
        make: MakeCleaner | None,
        changed: Callable[[], None],
        tell: Callable[[Happening], None],
        repaint: Callable[[], None],
        *,
        confirms_always: bool = False,
    ) -> None:
        """`changed` is called when there is something new to paint, `tell` with what happened.

        `repaint` answers a key at once.
        """
        self._app = app
        self._clock = clock
        self._keys = keys
        self._make = make
        self._changed = changed
        self._tell = tell
        self._repaint = repaint
        self._confirms_always = confirms_always
        self._round: Round | None = None
        self._cleaned: set[str] = set()
        """Hosts of which a cleanup was seen through: only there one key may run it."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._ink: Ink | None = None

    @property
    def is_possible(self) -> bool:
        """Tell whether anything can be cleaned from here."""
        return self._make is not None

    @property
    def is_running(self) -> bool:
        """Tell whether a cleanup is on the screen."""
        return self.view() is not None

    def remember(self, cleaned: frozenset[str]) -> None:
        """Take note of hosts that were cleaned before this gpudash began."""
        self._cleaned |= cleaned

    def view(self) -> CleaningView | None:
        """Return the cleanups under way; None while nothing is, or all is in the proof's hands."""
        return self._round.progress(self._clock) if self._round else None

    def begin(self, target: Target, fleet: Fleet, ink: Ink, *, is_shown_first: bool) -> None:
        """Look at the hosts of a target and show the plan; one key may be all if all allow it."""
        is_open = self._round is not None and self._round.screen is not None
        if self._make is None or is_open or self.is_running:
            return
        self._drop()
        self._ink = ink
        was_alone = self._keys.is_after_quiet
        cleaner, run = self._make(target.scope, target.hosts, self._heard)
        self._round = Round(
            target=target,
            cleaner=cleaner,
            run=run,
            is_shown_first=is_shown_first or self._confirms_always or not was_alone,
            keys=self._keys.count,
            asked_s=self._keys.last_s,
            letters=screen_letters(fleet),
        )
        self._show_plan(self._round)
        self._heard()

    def _drop(self) -> None:
        before, self._round = self._round, None
        if before is not None:
            self._close(before)

    def _close(self, round_: Round) -> None:
        """Let go of the hosts of a round, once: they tick as all others do again."""
        if not round_.is_closed:
            round_.is_closed = True
            task = asyncio.get_running_loop().create_task(round_.close())
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
        round_.follow(self._clock.now())
        for name, one in round_.cleanings.items():
            if one.state.phase is Phase.DONE and one.state.is_sent:
                self._cleaned.add(name)
                self._tell_result(round_, name)
        if round_.is_planned:
            self._settle(round_)
        if round_.screen is None and all(one.is_over for one in round_.cleanings.values()):
            self._close(round_)
        self._changed()

    def _tell_result(self, round_: Round, name: str) -> None:
        """Say once what a host's cleanup came to."""
        if name in round_.told:
            return
        round_.told.add(name)
        result = next(one for one in round_.cleaner.results() if one.host == name)
        is_clean = result.exit_code is ExitCode.OK
        words = round_.result_words(name, result.says, is_clean=is_clean)
        self._note(name, words, "good" if is_clean else "warn")

    def _note(self, host: str, words: str, tone: str) -> None:
        self._tell(Happening(at_s=self._clock.now(), host=host, words=words, tone=tone))

    def _settle(self, round_: Round) -> None:
        """Show what waits for consent, or close the dialog where nothing does."""
        if round_.waiting and round_.may_run(self._keys.count, self._cleaned):
            self._app.call_later(self._run_at_once, round_)
        elif round_.waiting or (round_.screen is not None and round_.has_problems):
            self._show_plan(round_)
        else:
            self._hide(round_)

    def _run_at_once(self, round_: Round) -> None:
        """Run what needs no plan shown, once it is sure that no more keys follow the one."""
        if self._round is not round_ or not round_.waiting:
            return
        if not round_.may_run(self._keys.count, self._cleaned):
            self._show_plan(round_)
            return
        left_s = QUIET_S - (self._clock.now() - round_.asked_s)
        if left_s > 0:
            asyncio.get_running_loop().call_later(left_s, self._run_at_once, round_)
            return
        self._agree(round_.plans, frozenset())

    # -- what the person says ----------------------------------------------------------------

    def _show_plan(self, round_: Round) -> None:
        view = round_.plan_view(self._clock)
        if round_.screen is not None:
            round_.screen.show(view)
        elif self._ink is not None:
            screen = PlanScreen(self._ink, self._keys, self._clock.now, self._agree, self._cancel)
            round_.screen = screen
            screen.show(view)
            self._app.push_screen(screen)

    def _hide(self, round_: Round) -> None:
        screen, round_.screen = round_.screen, None
        if screen is not None:
            screen.dismiss(None)

    def _agree(self, plans: tuple[Plan, ...], turned: Turned) -> None:
        """Confirm each plan as it was on the screen; a host where nobody is to end is left."""
        round_ = self._round
        if round_ is None:
            return
        self._hide(round_)
        round_.target.done()
        for plan in plans:
            one = round_.cleanings[plan.host]
            given = given_for(plan, frozenset(id_ for host, id_ in turned if host == plan.host))
            if not one.waits_for_consent:
                continue
            if given.is_confirmed:
                self._note(plan.host, round_.begun_words(plan, given), "going")
                one.confirm(given, plan.digest)
            else:
                one.give_up()
        for name, one in round_.cleanings.items():
            if one.problem is not None:
                words = f"left out of the cleanup, nobody was signalled: {one.problem.title}"
                self._note(name, words, "warn")
        self._heard()
        self._repaint()

    def _cancel(self) -> None:
        round_ = self._round
        if round_ is None:
            return
        self._hide(round_)
        round_.target.done()
        for one in round_.cleanings.values():
            if one.state.phase in (Phase.SCANNING, Phase.PLANNED):
                one.give_up()
        self._repaint()

    def force(self) -> None:
        """Kill at once what was asked to end; only while that is what the screen shows."""
        view = self.view()
        if self._round is not None and view is not None and view.can_force:
            self._round.cleaner.force()
            self._heard()

    def stop(self) -> bool:
        """Go no further; tell whether there was anything to stop."""
        view = self.view()
        if self._round is None or view is None or not view.can_stop:
            return False
        self._round.cleaner.stop(Stop.INTERRUPTED)
        self._heard()
        return True
