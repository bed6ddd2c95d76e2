"""What earlier gpudashes did to the hosts on the screen: told once a host can be read.

Read from the records, in a thread of its own: homes hang on NFS, and the screen must not. An order
whose end is on no record is picked up: its reports are fetched, recorded and acknowledged, so that
its host lets go of them. Nobody is signalled. Until the records were read, and for good where they
can't be, every host counts as one that was never cleaned.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from gpudash.core.cleanup.progress import Fate
from gpudash.core.cleanup.results import PickedUp
from gpudash.core.cleanup.unfinished import Unfinished
from gpudash.core.model import Happening
from gpudash.core.record import Record, ended
from gpudash.core.units import plural
from gpudash.services.clock import Clock
from gpudash.services.ground import Ground, readable
from gpudash.services.monitor import FleetMonitor
from gpudash.services.pickup import picked_up
from gpudash.services.proof_record import first_line
from gpudash.services.recorder import Recorder
from gpudash.services.unfinished import clean_records, unfinished_in

log = logging.getLogger(__name__)

PATIENCE_S = 600.0
"""So long an order that is still carried out is followed."""
COMMAND = ("gpudash", "(dashboard)", "pick up")


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What the records tell."""

    cleaned: frozenset[str] = frozenset()
    """Hosts, as they are called from this machine, on which a cleanup was seen through."""
    unfinished: tuple[Unfinished, ...] = ()


def past_of(folder: Path, machine: str) -> Past:
    """Read what the records of a folder tell this machine."""
    records = clean_records(folder)
    return Past(cleaned=cleaned_in(records, machine), unfinished=unfinished_in(records, folder))


def cleaned_in(records: Iterable[Record], machine: str) -> frozenset[str]:
    """Return the hosts that were cleaned from this machine: a home may be shared by several.

    An order counts once all of its reports came: `gpudash` showed its plan, and how it went.
    """
    found: set[str] = set()
    for record in records:
        first = record.lines[0] if record.lines else {}
        if first.get("machine") == machine and not first.get("simulated"):
            found |= {
                str(line["host"])
                for line in record.lines
                if line["kind"] == "done" and line.get("host") and not line.get("of")
            }
    return frozenset(found)


class Earlier:
    """Keeps up with what earlier gpudashes left under way on the hosts of a monitor."""

    def __init__(
        self,
        monitor: FleetMonitor,
        clock: Clock,
        recorder: Recorder,
        *,
        known: Callable[[frozenset[str]], None],
    ) -> None:
        """Read nothing yet; `known` is told the hosts that were cleaned before."""
        self._monitor = monitor
        self._clock = clock
        self._recorder = recorder
        self._known = known
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Read the records, then pick up what there is, each host when it can be read."""
        self._task = asyncio.create_task(self._pick_up(), name="earlier orders")

    async def close(self) -> None:
        """Ask for nothing more; what was not acknowledged is kept by its host."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _pick_up(self) -> None:
        past = await self._read()
        self._known(past.cleaned)
        names = {host.name for host in self._monitor.fleet.hosts}
        hosts = {one.host for one in past.unfinished} & names
        await asyncio.gather(
            *(
                self._from(tuple(one for one in past.unfinished if one.host == host))
                for host in sorted(hosts)
            )
        )

    async def _read(self) -> Past:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Past] = loop.create_future()

        def give(past: Past) -> None:
            if not answer.done():
                answer.set_result(past)

        def work() -> None:
            past = past_of(self._recorder.folder, socket.gethostname())
            if not loop.is_closed():
                loop.call_soon_threadsafe(give, past)

        # A daemon: a disk that hangs must not keep gpudash from leaving.
        threading.Thread(target=work, name="records", daemon=True).start()
        return await answer

    async def _from(self, orders: tuple[Unfinished, ...]) -> None:
        """Pick up the orders of one host, and tell what they came to."""
        host = orders[0].host
        run = self._recorder.begin("clean")
        ground = Ground(
            monitor=self._monitor,
            clock=self._clock,
            run=run,
            prove=lambda *_: None,
            changed=lambda _: None,
        )
        # Of a host that never comes there is nothing to record.
        await readable(host, ground)
        run.write(first_line(COMMAND, (host,)))
        says = "gpudash ended before it was told"
        try:
            told = await picked_up(orders, ground, PATIENCE_S)
            says = "; ".join(one.says for one in told) or "nothing was left to tell"
            for one in told:
                words, tone = words_of(one)
                self._monitor.note(
                    Happening(at_s=self._clock.now(), host=host, words=words, tone=tone)
                )
        finally:
            run.end(ended(0, says))


def words_of(one: PickedUp) -> tuple[str, str]:
    """Return what an earlier order came to, as a line of `what happened`, with its tone."""
    count = len(one.targets)
    over = sum(target.fate is Fate.ENDED for target in one.targets)
    if not one.targets or any(target.fate is Fate.UNKNOWN for target in one.targets):
        return f"an earlier gpudash's cleanup: {one.says}", "warn"
    words = f"an earlier gpudash's cleanup ended {over} of {plural(count, 'process', 'processes')}"
    return f"{words} ({one.run})", "good" if over == count else "warn"
