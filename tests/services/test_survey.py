"""One reading of a host: who holds what is asked, and what that leaves open is scanned."""

from __future__ import annotations

from gpudash.core.events import Event
from gpudash.core.holding import Existence
from gpudash.core.model import Host
from gpudash.services.survey import survey
from tests.core.making import GIB, HOST, hello, process, reading, roster, sample
from tests.core.scans import gpu_handle, scan, seen
from tests.services.virtual import ScriptedSource
from tests.services.virtual import run as virtual


def read(source: ScriptedSource) -> Host:
    async def test() -> Host:
        return (await survey((source,))).host(HOST)

    host = virtual(test())
    assert source.is_all_closed
    return host


def begun(used: int, *pids: int) -> list[tuple[float, Event]]:
    got = reading(used, *(process(pid, GIB) for pid in pids))
    return [(0.0, hello(*roster(1))), (0.5, sample(1, got))]


def test_the_known_are_not_scanned() -> None:
    source = ScriptedSource(begun(GIB, 7))
    host = read(source)
    assert ([info.pid for info in host.processes], host.scan, source.scans) == ([7], None, [])


def test_nobody_needs_no_hand() -> None:
    source = ScriptedSource(begun(0))
    read(source)
    assert source.hands == []


def test_a_dead_pid_is_looked_into_once_where_handles_explain_it() -> None:
    source = ScriptedSource(begun(GIB, 7))
    source.ended.add(7)
    source.scan = scan(seen(8, gpu_handle()), listed=((7, Existence.DEAD),))
    host = read(source)
    assert host.scan == source.scan
    assert [has_maps for _, has_maps in source.scans] == [False]


def test_what_handles_do_not_explain_is_looked_for_in_maps() -> None:
    source = ScriptedSource(begun(GIB))
    source.scan = scan()
    host = read(source)
    assert host.scan is not None
    assert host.scan.has_maps
    assert [has_maps for _, has_maps in source.scans] == [False, True]


def test_a_hand_that_refuses_takes_nothing_from_a_reading() -> None:
    source = ScriptedSource(begun(GIB))
    host = read(source)
    assert (host.samples, host.scan, host.problem) == (1, None, None)
