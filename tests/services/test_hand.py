"""One hand for all who ask: answers come to whoever waits, and its end is told to all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from gpudash.core.events import Ack, Event
from gpudash.services.hand import Hand, Heard
from gpudash.sources.base import SourceError
from tests.core.making import HOST, hello, process, reading, roster, sample
from tests.core.scans import scanned, seen
from tests.services.virtual import ScriptedSource, ScriptedStream, Watched, down
from tests.services.virtual import run as virtual


class Scripted(ScriptedStream):
    """Answers each command with what a test says."""

    def __init__(self, answers: dict[str, list[Event] | SourceError]) -> None:
        super().__init__(())
        self._answers = answers
        self._queue: asyncio.Queue[Event | SourceError] = asyncio.Queue()

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        super().send(command_id, do, arguments)
        answer = self._answers.get(do, [])
        if isinstance(answer, SourceError):
            self._queue.put_nowait(answer)
            return
        for event in answer:
            if isinstance(event, Heard):
                self._queue.put_nowait(
                    type(event)(
                        **{
                            name: getattr(event, name)
                            for name in event.__dataclass_fields__
                            if name != "id"
                        },
                        id=command_id,
                    )
                )

    async def read(self) -> list[Event]:
        event = await self._queue.get()
        if isinstance(event, SourceError):
            raise event
        return [event]


OK = Ack(id=0, is_ok=True)


class Source(ScriptedSource):
    """A host with a hand that answers so, after some time to start."""

    def __init__(
        self, answers: dict[str, list[Event] | SourceError], *scripts: object, start_s: float = 0.0
    ) -> None:
        super().__init__(*scripts)  # type: ignore[arg-type]
        self._answers = answers
        self._start_s = start_s

    async def open_hand(self) -> Scripted:  # type: ignore[override]
        await asyncio.sleep(self._start_s)
        hand = Scripted(self._answers)
        self.hands.append(hand)  # type: ignore[arg-type]
        return hand


def hand_of(source: ScriptedSource, heard: list[Heard]) -> Hand:
    return Hand(source, heard.append)


def test_answers_come_to_whoever_asked() -> None:
    async def test() -> None:
        heard: list[Heard] = []
        source = Source({"scan": [scanned(), OK], "process": [OK]})
        hand = hand_of(source, heard)
        hand.tell("process", {"pids": [1]})
        answer = await hand.ask("scan", {}, 5.0)
        assert [type(event).__name__ for event in answer] == ["Scanned", "Ack"]
        assert [type(event).__name__ for event in heard] == ["Ack", "Scanned", "Ack"]
        assert len(source.hands) == 1
        await hand.close()
        assert source.is_all_closed

    virtual(test())


def test_while_it_starts_only_the_newest_of_a_kind_waits() -> None:
    async def test() -> None:
        source = Source({"process": [OK], "scan": [OK]}, start_s=2.0)
        hand = hand_of(source, [])
        for number in range(5):
            hand.tell("process", {"pids": [number]})
            await asyncio.sleep(0)
        first = asyncio.create_task(hand.ask("scan", {"first": True}, 5.0))
        await asyncio.sleep(0)
        hand.tell("scan", {})
        await first
        sent = [(do, arguments) for _, do, arguments in source.hands[0].sent]
        assert sent == [("process", {"pids": [4]}), ("scan", {"first": True}), ("scan", {})]
        await hand.close()

    virtual(test())


def test_its_end_is_told_to_who_waits_and_the_next_need_starts_another() -> None:
    async def test() -> None:
        source = Source({"scan": down("gone"), "process": [OK]})
        hand = hand_of(source, [])
        with pytest.raises(SourceError, match="gone"):
            await hand.ask("scan", {}, 5.0)
        await hand.ask("process", {}, 5.0)
        assert len(source.hands) == 2
        await hand.close()
        assert source.is_all_closed

    virtual(test())


def test_closing_it_is_told_too() -> None:
    async def test() -> None:
        hand = hand_of(Source({}), [])
        waiting = asyncio.create_task(hand.ask("scan", {}, 5.0))
        await asyncio.sleep(1)
        await hand.close()
        with pytest.raises(SourceError, match="closed"):
            await waiting

    virtual(test())


def test_no_answer_is_a_timeout() -> None:
    async def test() -> None:
        hand = hand_of(Source({}), [])
        with pytest.raises(TimeoutError):
            await hand.ask("scan", {}, 5.0)
        await hand.close()

    virtual(test())


# -- through the monitor -----------------------------------------------------------------------


def begun(*pids: int) -> list[tuple[float, Event]]:
    listed = reading(0, *(process(pid, 0) for pid in pids))
    return [(0.0, hello(*roster(1))), (0.0, sample(1, listed))]


def test_the_monitor_scans_on_request_and_keeps_it() -> None:
    async def test() -> None:
        found = scanned(seen(7))
        source = Source({"scan": [found, OK], "process": [OK]}, begun(7))
        async with Watched(source) as monitor:
            await asyncio.sleep(0.1)
            got = await monitor.scan(HOST, is_whole=True)
            assert got == found.scan
            assert monitor.fleet.host(HOST).scan == found.scan
            sent = [arguments for _, do, arguments in source.hands[0].sent if do == "scan"]
            assert sent == [{"pids": [7], "all": True, "maps": False}]

    virtual(test())


@pytest.mark.parametrize("answer", [[Ack(id=0, is_ok=False, error="no")], [OK], [], down("broken")])
def test_a_scan_that_fails_says_so(answer: list[Event] | SourceError) -> None:
    async def test() -> None:
        source = Source({"scan": answer}, begun())
        async with Watched(source) as monitor:
            await asyncio.sleep(0.1)
            with pytest.raises(SourceError):
                await monitor.scan(HOST)

    virtual(test())
