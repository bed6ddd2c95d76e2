"""Drives a cleanup from a terminal: shows plans, asks, agrees by --yes, and says how it goes.

Nobody is signalled before the plan was agreed to: by `--yes`, or on a terminal by a typed yes.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

from gpudash.cli import diagnostics
from gpudash.cli.asking import agreed
from gpudash.cli.commands import cleaned
from gpudash.cli.entering import can_ask
from gpudash.core.cleanup.consent import Given, chosen, strangers
from gpudash.core.cleanup.plantext import plan_text
from gpudash.core.cleanup.results import HostResult, Stop
from gpudash.core.cleanup.state import State
from gpudash.core.errors import UsageError
from gpudash.core.record import Line
from gpudash.services.cleaner import Cleaner
from gpudash.services.cleaning import Cleaning
from gpudash.services.recorder import Run

PROGRESS_S = 0.1
MOST_TRIES = 5
"""So often --yes agrees to a plan that changed before it could be carried out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What was agreed to beforehand, and how far it may go."""

    given: Given
    yes: bool
    timeout_s: float
    names_gpus: bool = False
    dry_run: bool = False
    sudo: bool = False
    shm: bool = False


class Driver:
    """One cleanup at a terminal."""

    def __init__(self, terms: Terms, record: Run, line: diagnostics.Progress) -> None:
        self._plan = terms
        self._record = record
        self._line = line
        self._tries: Counter[str] = Counter()
        self._deadline: asyncio.TimerHandle | None = None
        self.states: dict[str, State] = {}
        """How each host's cleanup stood at its end."""
        self._said: dict[str, str] = {}

    def start_timer(self, cleaner: Cleaner) -> None:
        """Begin to count the time that it may take."""
        self.stop_timer()
        self._deadline = asyncio.get_running_loop().call_later(
            self._plan.timeout_s, cleaner.stop, Stop.TIMED_OUT
        )

    def stop_timer(self) -> None:
        """Count no longer."""
        if self._deadline is not None:
            self._deadline.cancel()

    async def drive(self, cleaner: Cleaner) -> tuple[HostResult, ...]:
        """Go on until every host has ended; return how. Raises UsageError."""
        while not cleaner.is_over:
            self._show(cleaner)
            if cleaner.waiting and (cleaner.are_planned or self._agrees_at_once):
                if self._plan.dry_run:
                    break
                await self._consent(cleaner)
                continue
            try:
                async with asyncio.timeout(PROGRESS_S):
                    await cleaner.changed()
            except TimeoutError:
                continue
        self.states = {name: one.state for name, one in cleaner.cleanings.items()}
        self._check_words(cleaner)
        await cleaner.look_for_remains(remove=self._plan.shm)
        return cleaner.results()

    def _show(self, cleaner: Cleaner) -> None:
        for one in cleaner.cleanings.values():
            news = cleaned.phase_words(one.name, one.state, one.hold)
            if news and news != self._said.get(one.name):
                self._said[one.name] = news
                self._line.say(news)
        working = [one for one in cleaner.cleanings.values() if not one.is_over]
        words = [cleaned.progress_words(one.name, one.state) for one in working[:3]]
        more = f" (and {len(working) - 3} more)" if len(working) > 3 else ""
        self._line.show("; ".join(words) + more)

    # -- consent -------------------------------------------------------------------------------

    @property
    def _agrees_at_once(self) -> bool:
        """Whether a host need not wait for the others' plans, as no word may be wrong for one."""
        plan = self._plan
        return bool(plan.yes and not plan.given.pids and not plan.names_gpus)

    async def _consent(self, cleaner: Cleaner) -> None:
        self._check_words(cleaner)
        waiting = cleaner.waiting
        asked = [one for one in waiting if not self._needs_nobody(one)]
        if not asked:
            for one in waiting:
                self._tries[one.name] += 1
                one.confirm(self._plan.given)
            return
        self._show_plans(waiting)
        shown = {one.name: one.state.plan.digest for one in waiting if one.state.plan is not None}
        if self._plan.yes:
            diagnostics.say(f"gpudash: the plan changed {MOST_TRIES} times; nothing was signalled")
        elif not can_ask():
            diagnostics.say("gpudash: nothing was signalled; without a terminal: --yes")
        elif await self._is_agreed(cleaner):
            self._record.write(Line(kind="consent", says="a person said yes to the plan"))
            self.start_timer(cleaner)
            self._confirm_shown(cleaner, shown)
            return
        cleaner.stop(Stop.DECLINED)

    def _confirm_shown(self, cleaner: Cleaner, shown: dict[str, str]) -> None:
        """Agree to the plans that were shown, on the hosts that still wait with exactly these."""
        still = {one.name for one in cleaner.waiting}
        for name, digest in shown.items():
            if name in still:
                cleaner.cleanings[name].confirm(self._plan.given, digest)
            else:
                diagnostics.say(f"gpudash: {name}: it went down meanwhile; nobody was signalled")

    def _needs_nobody(self, one: Cleaning) -> bool:
        """Tell whether a plan needs no question: --yes agrees to it, or it ends nobody."""
        if self._plan.yes and self._tries[one.name] < MOST_TRIES:
            return True
        return one.state.plan is None or not chosen(one.state.plan, self._plan.given)

    def _show_plans(self, waiting: tuple[Cleaning, ...]) -> None:
        self._line.clear()
        for one in waiting:
            if one.why:
                diagnostics.say(f"gpudash: {one.name}: {one.why} This is the plan now:")
            if one.state.plan is not None:
                text = plan_text(one.state.plan, self._plan.given, has_sudo=self._plan.sudo)
                diagnostics.say(text.rstrip("\n"))

    async def _is_agreed(self, cleaner: Cleaner) -> bool:
        """Ask the person here; False where it was all over before they answered."""
        task = asyncio.ensure_future(agreed("Carry this out? There is no undo. [y/N]"))
        while not task.done() and not cleaner.is_over:
            await asyncio.wait((task,), timeout=PROGRESS_S)
        if not task.done():
            task.cancel()
            return False
        return task.result()

    def _check_words(self, cleaner: Cleaner) -> None:
        """Raise UsageError for a GPU that a host does not have, and a pid that is in no plan."""
        for one in cleaner.cleanings.values():
            # One that is missing after an order was sent is no wrong word: it was lost.
            if one.usage is not None and not one.state.is_sent:
                raise one.usage
        plans = [one.state.plan for one in cleaner.cleanings.values() if one.state.plan]
        if not plans:
            return
        unknown = set(self._plan.given.pids)
        for plan in plans:
            unknown &= set(strangers(plan, self._plan.given))
        if unknown:
            raise UsageError(
                f"--pid {min(unknown)}: no family of the plan has it",
                hint="See who is there: gpudash clean --dry-run",
            )
