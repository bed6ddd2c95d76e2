"""An event loop whose time passes only when nothing is left to do, and sources that follow scripts.

A test that waits for an hour takes a millisecond and always goes the same way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from gpudash.core.events import Ack, Event, KindredTold, Scanned
from gpudash.core.holding import Scan
from gpudash.core.kinship import Kindred
from gpudash.core.model import Problem
from gpudash.services.monitor import FleetMonitor
from gpudash.sources.base import SourceError
from tests.core.making import HOST, info

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """Jumps to the next timer as soon as nothing is ready."""

    def __init__(self) -> None:
        self.now_s = 0.0
        super().__init__()

    def time(self) -> float:
        return self.now_s

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self.now_s = max(self.now_s, self._scheduled[0]._when)  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


class VirtualClock:
    """The loop's time as the product's clock."""

    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def unix(self) -> float:
        return 1e9 + self.now()

    def wall(self, at_s: float) -> str:
        return f"{at_s:.0f}"


def run(test: Coroutine[Any, Any, T]) -> T:
    """Run one test to its end; a task that it leaves behind is an error."""
    loop = VirtualLoop()
    try:
        result = loop.run_until_complete(test)
        assert not asyncio.all_tasks(loop), "a task was left behind"
        return result
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def down(title: str = "gone") -> SourceError:
    return SourceError(Problem(title=title, sentence=f"It is {title}."))


Step = tuple[float, Event | SourceError]
"""Seconds to wait, then what comes."""


class ScriptedStream:
    """Gives the events of a script, then is silent."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._steps = list(steps)
        self.sent: list[tuple[int, str, Mapping[str, object]]] = []
        self.is_closed = False

    async def read(self) -> list[Event]:
        if not self._steps:
            await asyncio.Event().wait()
        wait_s, what = self._steps[0]
        await asyncio.sleep(wait_s)
        del self._steps[0]
        if isinstance(what, SourceError):
            raise what
        return [what]

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        self.sent.append((command_id, do, arguments))

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.is_closed = True


class ScriptedHand(ScriptedStream):
    """Knows every pid but those that it was told to be silent about, or that ended.

    A scan is what the source says it is, or refused.
    """

    def __init__(self, source: ScriptedSource) -> None:
        super().__init__(())
        self._source = source
        self._answers: asyncio.Queue[Event | SourceError] = asyncio.Queue()

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        if do == "scan":
            self._scan(command_id, arguments)
            return
        if do in ("kindred", "environment"):
            self._closer(command_id, do)
            return
        pids = arguments["pids"]
        assert do == "process"
        assert isinstance(pids, list)
        ended = frozenset(pids) & self._source.ended
        if "known" in arguments:
            self._answers.put_nowait(Ack(id=command_id, is_ok=True, gone=ended))
            return
        self._source.questions.append((asyncio.get_running_loop().time(), pids))
        known = tuple(info(pid) for pid in pids if pid not in self._source.silent | ended)
        self._answers.put_nowait(Ack(id=command_id, is_ok=True, processes=known, gone=ended))

    def _closer(self, command_id: int, do: str) -> None:
        self._source.closer.append(do)
        look = self._source.kindred
        if do == "kindred" and look is not None:
            self._answers.put_nowait(KindredTold(kindred=replace(look, id=command_id)))
            self._answers.put_nowait(Ack(id=command_id, is_ok=True))
            return
        rows = self._source.variables if do == "environment" else ()
        error = "" if rows else "no"
        self._answers.put_nowait(Ack(id=command_id, is_ok=bool(rows), error=error, variables=rows))

    def _scan(self, command_id: int, arguments: Mapping[str, object]) -> None:
        now_s = asyncio.get_running_loop().time()
        self._source.scans.append((now_s, arguments["maps"] is True))
        scan = self._source.scan
        if scan is None:
            self._answers.put_nowait(Ack(id=command_id, is_ok=False, error="no"))
            return
        scan = replace(scan, has_maps=arguments["maps"] is True)
        self._answers.put_nowait(Scanned(id=command_id, scan=scan))
        self._answers.put_nowait(Ack(id=command_id, is_ok=True))

    def die(self) -> None:
        self._answers.put_nowait(down())

    async def read(self) -> list[Event]:
        answer = await self._answers.get()
        if isinstance(answer, SourceError):
            raise answer
        return [answer]


class ScriptedSource:
    """A host whose streams follow scripts; after the last one it can't be reached."""

    def __init__(self, *scripts: Iterable[Step] | SourceError, name: str = HOST) -> None:
        self.name = name
        self.is_simulated = False
        self.silent: frozenset[int] = frozenset()
        self.ended: set[int] = set()
        self.scan: Scan | None = None
        self.scans: list[tuple[float, bool]] = []
        """When each was asked for, and whether with maps."""
        self.kindred: Kindred | None = None
        self.variables: tuple[tuple[str, str], ...] = ()
        self.closer: list[str] = []
        """What else the hand was asked."""
        self._scripts = list(scripts)
        self.opened_s: list[float] = []
        self.streams: list[ScriptedStream] = []
        self.hands: list[ScriptedHand] = []
        self.questions: list[tuple[float, list[int]]] = []

    async def open_sampler(self, interval_s: float) -> ScriptedStream:
        self.opened_s.append(asyncio.get_running_loop().time())
        script = self._scripts.pop(0) if self._scripts else down()
        if isinstance(script, SourceError):
            raise script
        self.streams.append(ScriptedStream(script))
        return self.streams[-1]

    async def open_hand(self) -> ScriptedHand:
        self.hands.append(ScriptedHand(self))
        return self.hands[-1]

    @property
    def is_all_closed(self) -> bool:
        return all(stream.is_closed for stream in (*self.streams, *self.hands))


class Watched:
    """A running monitor over scripted sources; leaves nothing behind."""

    def __init__(self, *sources: ScriptedSource, **settings: Any) -> None:
        self.sources = sources
        self.monitor = FleetMonitor(sources, VirtualClock(), **({"jitter": lambda: 0.5} | settings))

    async def __aenter__(self) -> FleetMonitor:
        self.monitor.start()
        return self.monitor

    async def __aexit__(self, *error: object) -> None:
        await self.monitor.stop()
        assert all(source.is_all_closed for source in self.sources)
        assert asyncio.all_tasks() == {asyncio.current_task()}
