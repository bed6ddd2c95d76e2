"""`gpudash stream`: every sample as one JSON line, and every change of the link."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import logging

from gpudash.cli import arguments, diagnostics, output
from gpudash.cli.commands.documents import distance_document, info_document, reading_document
from gpudash.cli.entering import can_ask, enter
from gpudash.cli.interrupted import on_interrupt
from gpudash.cli.settings import configured
from gpudash.cli.ways import ways_of
from gpudash.core.errors import ExitCode, GpudashError, UsageError, worst
from gpudash.core.events import Event, Sample
from gpudash.core.model import GpuReading, Host, Link
from gpudash.core.ways import Way
from gpudash.services.clock import SystemClock
from gpudash.services.monitor import FleetMonitor
from gpudash.sources.hosts import Hosts

SAMPLE_SCHEMA = "gpudash.sample/1"
LINK_SCHEMA = "gpudash.link/1"
LOGIN_LIMIT_S = 30.0
"""So long the stream waits for logins before it asks for passwords and begins."""


def run(words: list[str]) -> int:
    """Stream until interrupted, until `--count` samples came, or until nobody reads."""
    parser = arguments.Parser(
        prog="gpudash stream",
        description="Samples as JSON lines on stdout. Ends with 0 after --count samples of each "
        "host, 130 when interrupted, else with the code of what went wrong.",
    )
    parser.add_argument("hosts", nargs="*", metavar="HOST", help=arguments.HOST_HELP)
    parser.add_argument("--interval", metavar="D", help="100ms to 1h (default 1s)")
    parser.add_argument("--count", type=int, metavar="N", help="end after N samples of each host")
    plan = parser.parse_words(words)
    if plan.count is not None and plan.count < 1:
        raise UsageError(f"--count {plan.count}: must be at least 1")
    config = configured(plan)
    return asyncio.run(_stream(ways_of(plan.hosts, config), plan))


async def _stream(ways: tuple[Way, ...], plan: argparse.Namespace) -> int:
    hosts = Hosts(ways)
    writer = _Writer(len(ways), plan.count)
    monitor = FleetMonitor(
        hosts.sources, SystemClock(), interval_s=plan.interval_s, listener=writer.take
    )
    # Warnings are told as lines of the link; without a handler Python would print them bare.
    logging.getLogger("gpudash").addHandler(logging.NullHandler())
    on_interrupt(lambda: writer.end(ExitCode.INTERRUPTED))
    try:
        if can_ask():
            await enter(hosts, LOGIN_LIMIT_S)
        monitor.start()
        return int(await writer.ended)
    finally:
        await monitor.stop()
        await hosts.close()


class _Writer:
    """Writes what the monitor tells; decides when the stream is over."""

    def __init__(self, hosts: int, count: int | None) -> None:
        self.ended: asyncio.Future[ExitCode] = asyncio.get_running_loop().create_future()
        self._left: dict[str, int] = {}
        self._hosts = hosts
        self._count = count
        self._failed: dict[str, ExitCode] = {}

    def end(self, code: ExitCode) -> None:
        """End the stream."""
        if not self.ended.done():
            self.ended.set_result(code)

    def take(self, event: Event, before: Host, after: Host) -> None:
        """Write what one event changed."""
        try:
            if after.link is not before.link:
                self._link(after)
            if isinstance(event, Sample) and after.samples != before.samples:
                output.write_line(_sample(after))
                self._counted(after.name)
        except output.Closed:
            self.end(ExitCode.OK)
        except GpudashError as error:
            diagnostics.report(error)
            self.end(error.exit_code)

    def _counted(self, name: str) -> None:
        self._failed.pop(name, None)
        if self._count is not None:
            self._left[name] = self._left.get(name, self._count) - 1
            self._end_if_done()

    def _end_if_done(self) -> None:
        """End where every host gave its samples, or never gave one; no host waits for another."""
        done = sum(left <= 0 for left in self._left.values())
        if done + len(self._failed) == self._hosts:
            self.end(worst((ExitCode.OK, *self._failed.values())))

    def _link(self, host: Host) -> None:
        if host.link in (Link.CONNECTING, Link.PAUSED):
            return
        problem = host.problem
        output.write_line(
            {
                "schema": LINK_SCHEMA,
                "host": host.name,
                "at": _utc_now(),
                "link": host.link.value,
                "problem": problem and problem.sentence,
                "transport": host.transport or None,
                "link_notes": list(host.link_notes),
            }
        )
        if problem is None:
            return
        diagnostics.say(f"gpudash: {host.name}: {problem.sentence} {problem.advice}".rstrip())
        if host.samples == 0 and host.link in (Link.DOWN, Link.LIVE):
            # A host that never gave a reading: when that is all of them, there is no stream.
            self._failed[host.name] = problem.exit_code
            self._end_if_done()


def _utc_now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def _sample(host: Host) -> dict[str, object]:
    return {
        "schema": SAMPLE_SCHEMA,
        "host": host.name,
        "simulated": host.is_simulated,
        "at": _utc_now(),
        "host_monotonic_s": host.host_monotonic_s,
        "seq": host.seq,
        **distance_document(host),
        "gpus": [
            {
                **info_document(gpu.info),
                "state": gpu.state.value,
                **reading_document(gpu.reading or GpuReading(), host),
            }
            for gpu in host.gpus
        ],
    }
