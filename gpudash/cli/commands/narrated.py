"""Follows a start-up that runs: narrates it on stderr until it is ready, failed or over."""

from __future__ import annotations

import argparse
import asyncio
import logging

from gpudash.cli import diagnostics
from gpudash.cli.commands import recorded
from gpudash.cli.commands.followargs import spec_of
from gpudash.cli.entering import can_ask, enter
from gpudash.cli.interrupted import on_interrupt
from gpudash.cli.settings import configured
from gpudash.cli.ways import ways_of
from gpudash.config.markers import load_catalog
from gpudash.core.errors import ExitCode, UsageError
from gpudash.core.events import Event, Hello
from gpudash.core.model import Host
from gpudash.core.record import ended
from gpudash.core.startup import report
from gpudash.core.startup.following import Followed, FollowSpec
from gpudash.core.startup.model import Outcome
from gpudash.core.startup.narration import Said, running_words, told
from gpudash.core.units import format_duration, parse_duration
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.recorder import Run
from gpudash.services.startup.following import Following
from gpudash.services.startup.past import Past
from gpudash.sources.base import HostSource
from gpudash.sources.hosts import Hosts

LOGIN_LIMIT_S = 30.0
BAR_S = 2.0
"""Between two repaints of the line that tells what goes on."""
CODES = {
    Outcome.READY: ExitCode.OK,
    Outcome.FAILED: ExitCode.START_FAILED,
    Outcome.STARTING: ExitCode.UNKNOWN,
}


def follow(plan: argparse.Namespace, words: list[str]) -> tuple[Followed, int]:
    """Follow until it is over; return what is known then, and the exit code."""
    plan.interval = None
    config = configured(plan)
    ways = ways_of([plan.host] if plan.host else [], config)
    if len(ways) != 1:
        raise UsageError(f"--host {plan.host} names {len(ways)} hosts: a start-up is on one")
    limit_s = None if plan.timeout is None else parse_duration(plan.timeout, flag="--timeout")
    logging.getLogger("gpudash").addHandler(logging.NullHandler())
    with recorded.recording("startup", ("gpudash", "follow", *words), ways) as record:
        followed, code, says = asyncio.run(_follow(plan, Hosts(ways), limit_s, record))
        record.end(ended(int(code), says, **_told(followed)))
        diagnostics.say(f"gpudash: {says}")
    return followed, int(code)


def _told(followed: Followed) -> dict[str, object]:
    """Return what the end of the record carries."""
    document = report.document(followed.startup)
    kept = ("engine", "version", "ready", "ready_line", "failure", "phases", "notes")
    numbers = [{"name": name, "value": value} for name, value in document["numbers"].items()]
    return {"log": followed.source.words, **{name: document[name] for name in kept}} | {
        "numbers": numbers
    }


async def _follow(
    plan: argparse.Namespace, hosts: Hosts, limit_s: float | None, record: Run
) -> tuple[Followed, ExitCode, str]:
    source = hosts.sources[0]
    clock = SystemClock()
    monitor = FleetMonitor(hosts.sources, clock)
    spec = spec_of(plan, source.name)
    narrator = Narrator()
    following = Following(
        source if spec.source.kind != "stdin" else _stdin(source),
        spec,
        clock=clock,
        catalog=load_catalog(),
        changed=lambda: narrator.look(following.followed),
        history=None if plan.once else Past(),
        record=record,
        monitor=monitor,
    )
    interrupted = asyncio.Event()
    on_interrupt(interrupted.set)
    running: asyncio.Future[Followed] | None = None
    watching = [asyncio.ensure_future(interrupted.wait())]
    try:
        if can_ask():
            await enter(hosts, LOGIN_LIMIT_S)
        if not plan.once:
            monitor.listeners.append(lambda event, _, host: _heed(event, spec, host))
            monitor.start()
        running = asyncio.ensure_future(following.run())
        await asyncio.wait(
            (running, *watching), timeout=limit_s, return_when=asyncio.FIRST_COMPLETED
        )
        if interrupted.is_set():
            return following.followed, ExitCode.INTERRUPTED, "interrupted; the server goes on"
        if not running.done():
            words = f"neither ready nor failed within {format_duration(limit_s or 0.0)}"
            return following.followed, ExitCode.TIMED_OUT, words
        followed = running.result()
        return followed, CODES[followed.startup.outcome], followed.ending
    finally:
        narrator.clear()
        await following.close()
        for task in (*watching, *((running,) if running is not None else ())):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await monitor.stop()
        await hosts.close()


def _heed(event: Event, spec: FollowSpec, host: Host) -> None:
    if isinstance(event, Hello):
        _check_scope(spec, host)


def _check_scope(spec: FollowSpec, host: Host) -> None:
    """Say once when a GPU that was named is none of the host's."""
    if spec.scope is not None:
        try:
            spec.scope.select(host.name, host.gpus)
        except UsageError as error:
            diagnostics.say(f"gpudash: {error.message}; its memory is not watched")


def _stdin(source: HostSource) -> HostSource:
    from gpudash.sources.stdin import StdinSource

    return StdinSource(source.name)


class Narrator:
    """Says what is new as lines; on a terminal one more line tells what goes on."""

    def __init__(self) -> None:
        self._line = diagnostics.Progress()
        self._before: Followed | None = None
        self._shown_s = 0.0

    def look(self, after: Followed) -> None:
        """Take the newest value."""
        for said in told(self._before, after):
            self._line.say(_words(said))
            self._shown_s = 0.0
        self._before = after
        if after.now_s - self._shown_s >= BAR_S:
            self._shown_s = after.now_s
            self._line.show(running_words(after))

    def clear(self) -> None:
        """Take the line away."""
        self._line.clear()


def _words(said: Said) -> str:
    return said.words
