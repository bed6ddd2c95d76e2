"""`gpudash clean`: a plan, consent, signals to nobody else, and proof.

Nothing is signalled before the plan was agreed to: by `--yes`, or on a terminal by a typed yes.
Each host ends by itself; the worst counts.
"""

from __future__ import annotations

import argparse
import asyncio
import logging

from gpudash.cli import diagnostics, output
from gpudash.cli.commands import cleaned, recorded
from gpudash.cli.commands.cleanargs import parse
from gpudash.cli.commands.consenting import Driver, Terms
from gpudash.cli.entering import can_ask, enter
from gpudash.cli.interrupted import on_interrupt
from gpudash.core.cleanup.consent import chosen
from gpudash.core.cleanup.lines import outcome_line
from gpudash.core.cleanup.orders import order_of
from gpudash.core.cleanup.plantext import plan_text
from gpudash.core.cleanup.results import HostResult, Stop, joint_code
from gpudash.core.cleanup.script import script_of
from gpudash.core.record import ended
from gpudash.services.cleaner import Cleaner
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Run
from gpudash.services.scanning import scanner
from gpudash.sources.hosts import Hosts


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
        terms = Terms(
            given=plan.given,
            yes=plan.yes,
            timeout_s=plan.timeout_s,
            names_gpus=bool(plan.gpu),
            dry_run=plan.dry_run,
            sudo=plan.sudo,
            shm=plan.shm,
        )
        self._driver = Driver(terms, record, self._line)

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
        self._driver.start_timer(cleaner)
        try:
            if can_ask():
                await enter(hosts, plan.timeout_s)
            monitor.start()
            return await self._driver.drive(cleaner)
        finally:
            self._driver.stop_timer()
            self._line.clear()
            await cleaner.close()
            await monitor.stop()
            await hosts.close()

    # -- what is printed -----------------------------------------------------------------------

    def texts(self) -> dict[str, str]:
        """Return the plans as text, by host."""
        return {
            name: plan_text(state.plan, self._plan.given, has_sudo=self._plan.sudo)
            for name, state in self._driver.states.items()
            if state.plan is not None
        }

    def script(self) -> str:
        """Return the plan of the one host as a shell script."""
        (state,) = self._driver.states.values()
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
