"""Read this machine once, without asyncio: the sampler starts first, imports come after.

`begin` costs a few milliseconds and returns at once; while the child starts, the caller imports
what it needs; `finish` collects the events.
"""

from __future__ import annotations

import os
import sys
import time

from gpudash.sources import shipping
from gpudash.sources.process import Child

TYPE_CHECKING = False  # typing takes 5 ms to import, and the sampler waits for it
if TYPE_CHECKING:
    from collections.abc import Callable

    from gpudash.core.events import Event, ProbeEvent, Sample
    from gpudash.core.holders import ScanNeed
    from gpudash.core.model import Problem
    from gpudash.core.wire import LineDecoder

WHO_PATIENCE_S = 1.5
"""So long names are waited for: a directory service may be slow, and memory is read already."""
HUNG_S = 8.0
"""A call on a GPU that has not returned for so long hangs."""
PATIENCE_S = 30.0
"""First answers of 24 s were met in public reports (many GPUs without persistence mode)."""


def python_argv() -> list[str]:
    """Return how a probe is started here: isolated, without site-packages, no .pyc written."""
    return [sys.executable or "python3", "-ISBc", shipping.COMMAND]


def new_token() -> str:
    """Return a handshake token that no banner contains by chance."""
    return "gpudash-" + os.urandom(9).hex()


class Probe:
    """A probe program of this machine, read synchronously."""

    def __init__(self, document: bytes, options: str) -> None:
        """Start it. Raises OSError. `options` are members of a JSON object, or empty."""
        self.token = new_token()
        members = f'{{"token":"{self.token}"{"," + options if options else ""}}}'
        self._child = Child(python_argv())
        self._child.write(shipping.with_options(document, members.encode()))
        self._decoder: LineDecoder | None = None

    def send(self, line: bytes) -> None:
        """Send one command."""
        self._child.write(line)

    def events_until(self, is_done: Callable[[Event], bool], patience_s: float) -> list[Event]:
        """Collect events until `is_done(event)` is true of one, the stream ends or time is up.

        What went wrong is the last event: a LinkDown.
        """
        from gpudash.core.wire import LineDecoder

        decoder = self._decoder = self._decoder or LineDecoder(self.token)
        events: list[Event] = []
        deadline = time.monotonic() + patience_s
        while (left_s := deadline - time.monotonic()) > 0:
            if not self._child.wait_readable(left_s):
                break
            data = self._child.read()
            if data == b"":
                return [*events, self._ended()]
            new: list[ProbeEvent] = decoder.feed(data or b"")
            events += new
            if any(is_done(event) for event in new):
                return events
        return [*events, _too_slow(patience_s)]

    def _ended(self) -> Event:
        from gpudash.core.events import LinkDown

        status = self._child.end()
        return LinkDown(problem=ended_problem(status, self._child.errors()))

    def end(self) -> None:
        """End it; at most about two seconds."""
        self._child.end()


def ended_problem(status: int | None, errors: str, *, has_begun: bool = True) -> Problem:
    """Say why a probe's stream ended, from its exit status and last words."""
    from gpudash.core.model import Problem
    from gpudash.core.names import printable_lines
    from gpudash.core.wire import ending

    if status is None:
        title = "probe silent"
        sentence = "The probe gave up its output and did not end."
        advice = "Often a driver fault: look for Xid lines in the kernel log (dmesg)."
    else:
        title, sentence, advice = ending(status, has_begun=has_begun)
    return Problem(
        title=title, sentence=sentence, advice=advice, detail=printable_lines(errors[-2000:])
    )


def _too_slow(patience_s: float) -> Event:
    from gpudash.core.events import LinkDown
    from gpudash.core.model import Problem

    return LinkDown(
        problem=Problem(
            title="no answer",
            sentence=f"The driver gave no reading within {patience_s:.0f} s.",
            advice="Often a driver fault: look for Xid lines in the kernel log (dmesg).",
        )
    )


def begin() -> Probe:
    """Start the sampler for one reading. Raises OSError, FileNotFoundError.

    The text that answers who is listed goes along: after its one tick the sampler runs it, and a
    second start of Python is spared.
    """
    options = f'"once":true,"hung":{HUNG_S}'
    return Probe(shipping.sampler_payload(shipping.WHO_MODULES), options)


def finish(probe: Probe, patience_s: float = PATIENCE_S) -> list[Event]:
    """Return all that the one-shot said; the caller ends it, when there is time for it."""
    from gpudash.core.events import Ack, Fault, LinkDown, Sample

    def is_read(event: object) -> bool:
        if isinstance(event, Fault):
            # Opening a session may take half a minute; a call on one GPU that long is a hang.
            hangs = event.code is None and event.gpu_index is not None
            return event.is_fatal or hangs
        return isinstance(event, Sample)

    events = probe.events_until(is_read, patience_s)
    samples = [event for event in events if isinstance(event, Sample)]
    if samples and is_anybody_listed(samples[-1]):
        answers = probe.events_until(
            lambda event: isinstance(event, Ack) and event.is_last, WHO_PATIENCE_S
        )
        # The reading is whole; that nobody said who is listed takes nothing from it.
        events += [event for event in answers if not isinstance(event, LinkDown)]
    return events


def is_anybody_listed(sample: Sample) -> bool:
    """Tell whether a process is listed on any GPU or slice of a tick."""
    lists = [
        listed
        for reading in sample.readings
        for listed in (reading.processes, *(slice_.processes for slice_ in reading.mig))
    ]
    return any(lists)


def scan_processes(need: ScanNeed, patience_s: float = 5.0) -> list[Event]:
    """Have the hand scan; the events of one answer."""
    from gpudash.core.events import Ack
    from gpudash.core.wire import encode_command

    probe = Probe(shipping.hand_payload(), "")
    probe.send(encode_command(1, "scan", pids=list(need.pids), maps=need.has_maps))
    try:
        return probe.events_until(lambda event: isinstance(event, Ack), patience_s)
    finally:
        probe.end()


def ask_processes(pids: frozenset[int], patience_s: float = 5.0) -> list[Event]:
    """Ask the hand who these pids are; the events of one answer."""
    from gpudash.core.events import Ack
    from gpudash.core.wire import encode_command

    probe = Probe(shipping.hand_payload(), "")
    probe.send(encode_command(1, "process", pids=sorted(pids)))
    try:
        return probe.events_until(
            lambda event: isinstance(event, Ack) and event.is_last, patience_s
        )
    finally:
        probe.end()
