"""`gpudash run -- CMD`: check, clean, prove, check again, start, follow until READY.

CMD is started by the host's hand and outlives us: READY, detaching and a crash leave it running.
The last line on stderr says what it ended with, where it has.
"""

from __future__ import annotations

import argparse
import asyncio
import logging

from gpudash.cli import diagnostics, output
from gpudash.cli.asking import answer_to
from gpudash.cli.commands import ran, recorded, runargs
from gpudash.cli.commands.consenting import Driver
from gpudash.cli.entering import can_ask, enter
from gpudash.cli.interrupted import on_interrupt
from gpudash.config.markers import load_catalog
from gpudash.core.cleanup.lines import outcome_line
from gpudash.core.cleanup.results import Stop, joint_code
from gpudash.core.launch import happened as ev
from gpudash.core.launch.machine import State, exit_code_of, shell_code
from gpudash.core.launch.records import ended_words, intent_line
from gpudash.core.launch.report import document
from gpudash.core.record import ended
from gpudash.core.startup.following import Followed
from gpudash.core.startup.narration import running_words
from gpudash.services.cleaner import Cleaner
from gpudash.services.clock import SystemClock
from gpudash.services.launching.gates import Gates
from gpudash.services.launching.launching import Launching, Wanted
from gpudash.services.launching.pursuit import PursuitGround
from gpudash.services.launching.stopping import Stopping
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Run
from gpudash.services.scanning import scanner
from gpudash.services.startup.past import Past
from gpudash.services.waiting import Goal, Stage
from gpudash.sources.claims import Claims, require_claims
from gpudash.sources.hosts import Hosts

LOGIN_LIMIT_S = 30.0
QUESTION = "pid {} runs: [d]etach and leave it, [s]top it, [k]ill it? Anything else: go on."
FOREGROUND = "pid {} runs here: [s]top it, [k]ill it? Anything else: go on."
BAR_S = 2.0
"""Between two repaints of the line that tells what goes on."""


def run(words: list[str]) -> int:
    """Go through the gates, start the command, follow it; return the exit code."""
    plan = runargs.parse(words)
    if plan.wish is not None:
        require_claims()
    ran.require_writable(plan.report)
    claims = Claims()
    # What goes wrong is told by the launch; without a handler Python would print it bare.
    logging.getLogger("gpudash").addHandler(logging.NullHandler())
    with recorded.recording("run", ("gpudash", "run", *words), plan.ways) as record:
        try:
            command = _Command(plan, claims, record)
            state = asyncio.run(command.go())
        finally:
            claims.close()
        code = exit_code_of(state)
        told = document(
            state, plan.spec, plan.ways[0].name, command.results, command.followed, record.id
        )
        record.end(ended(code, state.says, **_kept(told)))
        if not plan.foreground:
            # Else stdout is the command's.
            ran.report(told, command.followed, plan.format)
        ran.write(plan.report, told)
        _last_words(state)
        return code


def _kept(told: dict[str, object]) -> dict[str, object]:
    kept = ("spoke", "command_code", "ready", "pid", "runs", "log", "cleaned")
    return {name: told[name] for name in kept}


def _last_words(state: State) -> None:
    if exit_code_of(state) or not state.is_ready:
        # READY was told when it came.
        diagnostics.say(f"gpudash: {state.says}")
    if state.runs:
        diagnostics.say(f"gpudash: pid {state.pid} runs on; its log: {state.log}")
    if state.has_exited and state.command_code is None:
        diagnostics.say(f"gpudash: {ended_words(None)}")
    elif state.has_exited:
        diagnostics.say(f"gpudash: CMD exited {shell_code(state.command_code or 0)}")


class _Command:
    """One run of the command."""

    def __init__(self, plan: argparse.Namespace, claims: Claims, record: Run) -> None:
        self._plan = plan
        self._claims = claims
        self._record = record
        self._line = diagnostics.Progress()
        self._shown_s = 0.0
        self._clock = SystemClock()
        self._cleaner: Cleaner | None = None
        self._launching: Launching | None = None

    @property
    def results(self) -> tuple[ran.Result, ...]:
        """Return what the newest checks found."""
        return self._launching.results if self._launching else ()

    followed: Followed | None = None
    """The start-up at its end."""

    async def go(self) -> State:
        """Go through all of it."""
        plan = self._plan
        hosts = Hosts(plan.ways)
        name = plan.ways[0].name
        monitor = self._monitor = FleetMonitor(hosts.sources, self._clock)
        stage = Stage(
            monitor=monitor,
            clock=self._clock,
            scan=scanner(monitor),
            run=self._record,
            say=self._line.say,
        )
        launching = self._launching = Launching(
            self._wanted(),
            hosts.sources[0],
            self._gates(name, stage),
            self._record,
            PursuitGround(
                clock=self._clock,
                catalog=load_catalog(),
                monitor=monitor,
                run=self._record,
                past=Past(),
                say=self._line.say,
                changed=self._show,
                echo=output.write_bytes if plan.foreground else None,
            ),
            ask=self._ask,
            stop=self._stop,
            say=self._line.say,
        )
        self._tell_intent(name)
        on_interrupt(launching.interrupt)
        try:
            if can_ask():
                await enter(hosts, LOGIN_LIMIT_S)
            monitor.start()
            state = await launching.run()
            self.followed = launching.followed
            return state
        finally:
            self._line.clear()
            await launching.close()
            if self._cleaner is not None:
                await self._cleaner.close()
            await monitor.stop()
            await hosts.close()

    def _wanted(self) -> Wanted:
        plan = self._plan
        return Wanted(
            spec=plan.spec,
            aim=plan.aim,
            checks=plan.checks,
            by_uuid=plan.named_as == "uuid",
            source=plan.source,
            url=plan.url,
            timeout_s=plan.timeout_s,
        )

    def _gates(self, name: str, stage: Stage) -> Gates:
        plan = self._plan
        goal = Goal(
            policy=plan.policy,
            local=frozenset(way.name for way in plan.ways if way.is_local),
            timeout_s=plan.wait_s,
            wish=plan.wish,
        )
        return Gates(
            name,
            stage,
            goal,
            self._claims,
            clean=self._clean,
            call_off=self._call_off,
            show=self._line.show,
        )

    def _tell_intent(self, name: str) -> None:
        plan, aim = self._plan, self._plan.aim
        gates = [
            "preflight",
            *(["clean"] if aim.cleans else []),
            *(["zero"] if aim.proves else []),
            *([plan.wish.words] if plan.wish else []),
        ]
        scope = plan.policy.scope
        names = ",".join(item.text for item in scope.items) if scope else "all GPUs"
        words = f"{names}, by {plan.scope_words}" if plan.scope_words else names
        if scope is not None and not plan.gpu:
            self._line.say(f"scope: GPU {words}")
        self._record.write(intent_line(plan.spec, name, tuple(gates), words))

    # -- cleaning ------------------------------------------------------------------------------

    async def _clean(self) -> ev.Cleaned:
        driver = Driver(self._plan.terms, self._record, self._line)
        monitor = self._monitor
        cleaner = self._cleaner = Cleaner(
            self._plan.clean_wish,
            monitor,
            self._clock,
            scanner(monitor),
            self._record,
            baselines=self._plan.policy.baselines,
        )
        driver.start_timer(cleaner)
        try:
            results = await driver.drive(cleaner)
        finally:
            driver.stop_timer()
            self._line.clear()
        for one in results:
            self._record.write(outcome_line(one))
        says = "; ".join(one.says for one in results)
        return ev.Cleaned(
            exit_code=joint_code(results),
            says=says,
            was_sent=any(one.was_sent and not one.refused for one in results),
            is_proven=all(one.proof is not None and one.proof.is_proven for one in results),
        )

    def _call_off(self) -> None:
        if self._cleaner is not None:
            self._cleaner.stop(Stop.INTERRUPTED)

    # -- while it runs -------------------------------------------------------------------------

    def _show(self, followed: Followed) -> None:
        if self._plan.foreground:
            return
        if followed.now_s - self._shown_s >= BAR_S:
            self._shown_s = followed.now_s
            self._line.show(running_words(followed))

    async def _ask(self, state: State) -> ev.Event | None:
        """Ask what to do with the command; where nobody can be asked it is left running."""
        if not state.runs or not can_ask():
            return ev.Interrupted()
        self._line.clear()
        question = FOREGROUND if self._plan.foreground else QUESTION
        match await answer_to(question.format(state.pid)):
            case "d" | "detach" if not self._plan.foreground:
                return ev.Interrupted()
            case "s" | "stop":
                return ev.StopChosen(is_forced=False)
            case "k" | "kill":
                return ev.StopChosen(is_forced=True)
            case _:
                self._line.say("it is followed on")
                return None

    async def _stop(self, pid: int, start_ticks: int, is_forced: bool) -> str:
        stopping = Stopping(self._plan.ways[0].name, self._monitor, self._record)
        return await stopping.stop(pid, start_ticks, is_forced=is_forced)
