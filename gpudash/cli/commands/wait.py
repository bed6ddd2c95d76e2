"""`gpudash wait`: until GPUs are proven; then run a command.

The monitor has ended and no driver handle of ours is open when the command starts. We stay its
parent: claims last as long as it does, and its exit code becomes ours.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os

from gpudash.cli import diagnostics
from gpudash.cli.commands import recorded, waited
from gpudash.cli.entering import can_ask, enter
from gpudash.cli.interrupted import on_interrupt
from gpudash.core.choosing import visible_devices
from gpudash.core.errors import ExitCode
from gpudash.core.masking import masked_argv
from gpudash.core.model import Gpu
from gpudash.core.proof import Proof
from gpudash.core.record import Line, ended
from gpudash.core.waiting import Ending
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Run
from gpudash.services.scanning import scanner
from gpudash.services.some import WaitForSome
from gpudash.services.waiting import Goal, Stage, WaitForAll
from gpudash.sources.claims import Claims, require_claims
from gpudash.sources.command import CommandError, run_command
from gpudash.sources.hosts import Hosts

LOGIN_LIMIT_S = 30.0


def run(words: list[str]) -> int:
    """Wait, then run the command; return its exit code, or why it was not run."""
    plan = waited.parse(words)
    if plan.wish is not None:
        require_claims()
    claims = Claims()
    with recorded.recording("wait", ("gpudash", "wait", *words), plan.ways) as record:
        try:
            ending, chosen, proofs = asyncio.run(_wait(plan, claims, record))
            if plan.command is None or ending.exit_code is not ExitCode.OK:
                return _without_command(plan, ending, chosen, proofs, record)
            return _then(plan, ending, chosen, record)
        finally:
            claims.close()


async def _wait(
    plan: argparse.Namespace, claims: Claims, record: Run
) -> tuple[Ending, tuple[Gpu, ...], tuple[Proof, ...]]:
    hosts = Hosts(plan.ways)
    clock = SystemClock()
    goal = Goal(
        policy=plan.policy,
        local=frozenset(way.name for way in plan.ways if way.is_local),
        timeout_s=plan.timeout_s,
        wish=plan.wish,
    )
    monitor = FleetMonitor(hosts.sources, clock, interval_s=plan.policy.interval_s)
    line = diagnostics.Progress()
    stage = Stage(monitor=monitor, clock=clock, scan=scanner(monitor), run=record, say=line.say)
    wait = WaitForAll(goal, stage) if goal.wish is None else WaitForSome(goal, stage, claims)
    # What goes wrong is told by the wait; without a handler Python would print it bare.
    logging.getLogger("gpudash").addHandler(logging.NullHandler())
    on_interrupt(lambda: wait.end(Ending(exit_code=ExitCode.INTERRUPTED, says="interrupted")))
    try:
        if can_ask():
            await enter(hosts, min(LOGIN_LIMIT_S, plan.timeout_s))
        monitor.start()
        ending = await wait.watched(line.show)
        return ending, wait.chosen, wait.proofs
    finally:
        line.clear()
        await wait.close()
        await monitor.stop()
        await hosts.close()


def _without_command(
    plan: argparse.Namespace,
    ending: Ending,
    chosen: tuple[Gpu, ...],
    proofs: tuple[Proof, ...],
    record: Run,
) -> int:
    record.end(ended(int(ending.exit_code), ending.says))
    if plan.command is None:
        waited.report(ending, proofs, chosen, record.id, plan.format)
    diagnostics.say(f"gpudash: {ending.says}")
    if ending.advice:
        diagnostics.say(f"         {ending.advice}")
    return int(ending.exit_code)


def _then(plan: argparse.Namespace, ending: Ending, chosen: tuple[Gpu, ...], record: Run) -> int:
    shown = visible_devices(chosen, by_uuid=plan.named_as == "uuid") if chosen else {}
    before = os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen and before is not None:
        diagnostics.say(
            f"gpudash: CUDA_VISIBLE_DEVICES={before} is replaced; to choose among those: --gpu"
        )
    name = " ".join(masked_argv(plan.command))
    diagnostics.say(f"gpudash: {ending.says}; starting {name}")
    details: dict[str, object] = {"command": list(masked_argv(plan.command)), **shown}
    record.write(Line(kind="start", says=f"starting {name}", details=details))
    try:
        code = run_command(plan.command, os.environ | shown)
    except CommandError as error:
        diagnostics.say(f"gpudash: {error.why}")
        record.end(ended(error.code, f"the command could not be started: {error.why}"))
        return error.code
    record.end(ended(code, f"the command ended with {code}"))
    return code
