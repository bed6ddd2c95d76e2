"""`gpudash clean`: a plan, consent, signals to nobody else, and proof.

Nothing is signalled before the plan was agreed to: by `--yes`, or on a terminal by a typed yes.
Each host ends by itself; the worst counts.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
from collections import Counter

from gpudash.cli import diagnostics, output
from gpudash.cli.asking import agreed
from gpudash.cli.commands import cleaned, recorded
from gpudash.cli.commands.cleanargs import parse
from gpudash.cli.entering import can_ask, enter
from gpudash.cli.interrupted import on_interrupt
from gpudash.core.cleanup.consent import chosen, strangers
from gpudash.core.cleanup.lines import outcome_line
from gpudash.core.cleanup.orders import order_of
from gpudash.core.cleanup.plantext import plan_text
from gpudash.core.cleanup.results import HostResult, Stop, joint_code
from gpudash.core.cleanup.script import script_of
from gpudash.core.cleanup.state import State
from gpudash.core.errors import UsageError
from gpudash.core.record import Line, ended
from gpudash.services.cleaner import Cleaner
from gpudash.services.cleaning import Cleaning
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Run
from gpudash.services.scanning import scanner
from gpudash.sources.hosts import Hosts

PROGRESS_S = 0.1
MOST_TRIES = 5
"""So often --yes agrees to a plan that changed before it could be carried out."""


def run(words: list[str]) -> int:
    """Plan, ask, clean, prove; return the exit code."""
    plan = parse(words)
    with recorded.recording("clean", ("gpudash", "clean", *words), plan.ways) as record:
        command = _Command(plan, record)
        results = asyncio.run(command.clean())
        for one in results:
            for before in one.picked_up:
                diagnostics.say(f"gpudash: {one.host}: {before.says}")
        code = joint_code(results)
        says = "; ".join(f"{one.host}: {one.says}" for one in results)
        for one in results:
            record.write(outcome_line(one))
        record.end(ended(int(code), says))
        if plan.format == "sh":
            output.write(command.script())
        else:
            cleaned.report(
                results,
                plan.given,
                record.id,
                plan.format,
                code=code,
                texts=command.texts(),
                is_dry=plan.dry_run,
                was_asked=plan.shm,
            )
        return int(code)


class _Command:
    """One run of the command."""

    def __init__(self, plan: argparse.Namespace, record: Run) -> None:
        self._plan = plan
        self._record = record
        self._line = diagnostics.Progress()
        self._tries: Counter[str] = Counter()
        self._deadline: asyncio.TimerHandle | None = None
        self._states: dict[str, State] = {}
        self._said: dict[str, str] = {}

    async def clean(self) -> tuple[HostResult, ...]:
        """Clean every host; return how each ended."""
        plan = self._plan
        hosts = Hosts(plan.ways)
        clock = SystemClock()
        monitor = FleetMonitor(hosts.sources, clock)
        cleaner = Cleaner(
            plan.wish, monitor, clock, scanner(monitor), self._record, baselines=plan.baselines
        )
        # What goes wrong is told by the result; without a handler Python would print it bare.
        logging.getLogger("gpudash").addHandler(logging.NullHandler())
        on_interrupt(lambda: cleaner.stop(Stop.INTERRUPTED))
        self._start_timer(cleaner)
        try:
            if can_ask():
                await enter(hosts, plan.timeout_s)
            monitor.start()
            return await self._drive(cleaner)
        finally:
            if self._deadline is not None:
                self._deadline.cancel()
            self._line.clear()
            await cleaner.close()
            await monitor.stop()
            await hosts.close()

    def _start_timer(self, cleaner: Cleaner) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = asyncio.get_running_loop().call_later(
            self._plan.timeout_s, cleaner.stop, Stop.TIMED_OUT
        )

    async def _drive(self, cleaner: Cleaner) -> tuple[HostResult, ...]:
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
        self._states = {name: one.state for name, one in cleaner.cleanings.items()}
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
        return bool(plan.yes and not plan.given.pids and not plan.gpu)

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
            self._start_timer(cleaner)
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

    # -- what is printed -----------------------------------------------------------------------

    def texts(self) -> dict[str, str]:
        """Return the plans as text, by host."""
        return {
            name: plan_text(state.plan, self._plan.given, has_sudo=self._plan.sudo)
            for name, state in self._states.items()
            if state.plan is not None
        }

    def script(self) -> str:
        """Return the plan of the one host as a shell script."""
        (state,) = self._states.values()
        plan = state.plan
        if plan is None:
            return "#!/bin/sh\n# gpudash: there is no plan\nexit 4\n"
        picked = chosen(plan, self._plan.given)
        if not picked:
            return "#!/bin/sh\n# gpudash: nobody to end\n"
        order = order_of(
            plan,
            picked,
            run=self._record.id,
            host_now_s=plan.host_monotonic_s,
            gpu_names=dict(state.gpu_names),
            is_forced=self._plan.force,
        )
        return script_of(plan, order)
