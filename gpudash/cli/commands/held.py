"""`gpudash check --hold D`: a proof that is tried once, and then the verdict with it."""

from __future__ import annotations

import argparse
import asyncio
import logging

from gpudash.cli import diagnostics
from gpudash.cli.commands import recorded
from gpudash.cli.entering import can_ask, enter
from gpudash.cli.interrupted import on_interrupt
from gpudash.core.errors import ExitCode
from gpudash.core.model import Fleet
from gpudash.core.proof import Policy, Proof
from gpudash.core.record import ended
from gpudash.core.verify import judge_fleet
from gpudash.core.waiting import Ending
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Run
from gpudash.services.scanning import scanner
from gpudash.services.survey import PATIENCE_S
from gpudash.services.waiting import Goal, Stage, WaitForAll
from gpudash.sources.hosts import Hosts


def prove(plan: argparse.Namespace, words: list[str]) -> tuple[Fleet, Proof, str]:
    """Return the fleet at the end of the hold, the proof, and the id of its record.

    Raises KeyboardInterrupt when interrupted, UsageError for a scope that is not there.
    """
    with recorded.recording("check", ("gpudash", "check", *words), plan.ways) as record:
        fleet, proof, ending = asyncio.run(_prove(plan, record))
        is_interrupted = ending.exit_code is ExitCode.INTERRUPTED
        # What the command exits with: a proof that did not come in time is unknown.
        code = ending.exit_code if is_interrupted else proof.exit_code
        record.end(ended(int(code), ending.says))
        if is_interrupted:
            raise KeyboardInterrupt
        return fleet, proof, record.id


def _fleet_of(wait: WaitForAll, newest: Fleet) -> Fleet:
    """Return the newest readings; those that broke the proof where the newest are clear again."""
    policy = wait.goal.policy
    is_clear = judge_fleet(newest, policy.scope, policy.baselines).exit_code is ExitCode.OK
    return wait.decided or newest if is_clear and not wait.proof.is_proven else newest


class _Once(WaitForAll):
    """Says on the way only why it takes longer: the verdict at the end says it all."""

    def say(self, words: str, *, gist: str = "") -> None:
        """Say that the hold begins anew, and why."""
        if gist and gist != words:
            super().say(words, gist=gist)


async def _prove(plan: argparse.Namespace, record: Run) -> tuple[Fleet, Proof, Ending]:
    hosts = Hosts(plan.ways)
    clock = SystemClock()
    policy = Policy(hold_s=plan.hold_s, scope=plan.scope, baselines=plan.baselines)
    goal = Goal(
        policy=policy,
        local=frozenset(way.name for way in plan.ways if way.is_local),
        timeout_s=PATIENCE_S + plan.hold_s,
    )
    monitor = FleetMonitor(hosts.sources, clock, interval_s=policy.interval_s)
    line = diagnostics.Progress()
    stage = Stage(monitor=monitor, clock=clock, scan=scanner(monitor), run=record, say=line.say)
    wait = _Once(goal, stage)
    # What goes wrong is told by the verdict; without a handler Python would print it bare.
    logging.getLogger("gpudash").addHandler(logging.NullHandler())
    on_interrupt(lambda: wait.end(Ending(exit_code=ExitCode.INTERRUPTED, says="interrupted")))
    try:
        if can_ask():
            await enter(hosts, PATIENCE_S)
        monitor.start()
        ending = await wait.watched(line.show)
        return _fleet_of(wait, monitor.fleet), wait.proof, ending
    finally:
        line.clear()
        await wait.close()
        await monitor.stop()
        await hosts.close()
