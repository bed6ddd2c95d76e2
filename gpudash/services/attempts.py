"""Attempts at one host: one that can be called off, the rest between two, how one fails."""

from __future__ import annotations

import asyncio

from gpudash.core.model import Host, Link, Problem
from gpudash.sources.base import HostSource, Stream

STALE_INTERVALS = 3
LEAST_STALE_S = 1.5
HELLO_PATIENCE_S = 30.0
RETRY_S = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0)
"""Rests after the first failure, the second … the last one holds for all that follow."""

GOOD_STREAM_S = 30.0


def was_good(host: Host, began_s: float) -> bool:
    """Tell whether an attempt gave readings for some time; hanging on for long is none."""
    return host.received_s is not None and host.received_s - began_s > GOOD_STREAM_S


async def open_unless_woken(
    source: HostSource, interval_s: float, wake: asyncio.Event
) -> Stream | None:
    """Open a host's sampler; None where something else is wanted meanwhile. Raises SourceError."""
    opening = asyncio.ensure_future(source.open_sampler(interval_s))
    waker = asyncio.ensure_future(wake.wait())
    stream: Stream | None = None
    try:
        await asyncio.wait((opening, waker), return_when=asyncio.FIRST_COMPLETED)
        if opening.done():
            stream = opening.result()
        return stream
    finally:
        waker.cancel()
        if stream is None:
            opening.cancel()
            (late,) = await asyncio.gather(opening, return_exceptions=True)
            if not isinstance(late, BaseException):
                await late.close()


def patience_s(host: Host) -> float:
    """Return how long a stream may say nothing before what was read is old."""
    is_new = host.link is Link.CONNECTING
    return HELLO_PATIENCE_S if is_new else max(LEAST_STALE_S, STALE_INTERVALS * host.interval_s)


def waits_for_person(host: Host) -> Problem | None:
    """Return why a host is not tried by itself; None where it is."""
    is_waiting = host.link is Link.DOWN and host.problem and host.problem.needs_person
    return host.problem if is_waiting else None


async def rest(wake: asyncio.Event, failures: int, jitter: float) -> None:
    """Wait before the next attempt, or until woken; `jitter` from 0 to 1 spreads many hosts."""
    step = RETRY_S[min(failures, len(RETRY_S) - 1)]
    try:
        async with asyncio.timeout(step * (0.75 + 0.5 * jitter)):
            await wake.wait()
    except TimeoutError:
        return


SILENT = Problem(
    title="no answer",
    sentence="The probe started and said nothing.",
    advice="Often a driver fault: look for Xid lines in the kernel log (dmesg).",
)


def bug_problem(error: Exception) -> Problem:
    """Say that what a host said broke us, not it."""
    return Problem(
        title="not watched",
        sentence="What this host said could not be worked on: this is a bug in gpudash.",
        advice="gpudash tries again; please report it with what e shows.",
        detail=repr(error)[:2000],
    )
