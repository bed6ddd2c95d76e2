"""What earlier gpudashes left under way is told, recorded and acknowledged by the next one."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from gpudash.core.cleanup.consent import Given
from gpudash.core.cleanup.phases import Phase
from gpudash.services.cleaning import Cleaning
from gpudash.services.earlier import Earlier, past_of
from gpudash.services.monitor import FleetMonitor
from gpudash.services.record_files import MAX_READ_BYTES
from gpudash.services.recorder import Recorder
from gpudash.services.unfinished import clean_records, unfinished_orders
from tests.cleaning.simulated import Fleet, planned, until

Y = Given(is_confirmed=True)
HERE = socket.gethostname()
RANKS = 7


def _deaf(_report: object) -> None:
    """Hear of no report."""


async def crash(fleet: Fleet, folder: Path) -> str:
    """Begin a cleanup and fall over in the middle of it; return its run."""
    async with planned(fleet, folder) as begun:
        one = begun.cleaner.cleanings["gpu-a"]
        one.confirm(Y)
        await until(lambda: one.state.phase is Phase.TERMINATING)
        # As SIGKILL leaves it: nobody hears what comes, and nothing is acknowledged.
        one._hear_report = _deaf  # type: ignore[method-assign]
        one._looking.report_listeners[:] = [_deaf]
    # With its process the lock on its record goes.
    file = begun.run._open.file
    assert file is not None
    file.close()
    return begun.run.id


async def seen(fleet: Fleet, folder: Path) -> tuple[FleetMonitor, list[frozenset[str]]]:
    """Watch the hosts as a dashboard does until it was told of earlier orders."""
    monitor = fleet.monitor()
    recorder = Recorder(folder, tell=lambda problem: None)
    known: list[frozenset[str]] = []
    earlier = Earlier(monitor, fleet.clock, recorder, known=known.append)
    monitor.start()
    earlier.start()
    try:
        assert earlier._task is not None
        async with asyncio.timeout(30.0):
            await asyncio.shield(earlier._task)
    finally:
        await earlier.close()
        await monitor.stop()
        recorder.end(5.0)
    return monitor, known


async def test_what_a_crashed_gpudash_ended_is_told_and_acknowledged(tmp_path: Path) -> None:
    fleet = Fleet.of("leftovers")
    run = await crash(fleet, tmp_path)
    (machine,) = fleet.machines
    assert [one.run for one in unfinished_orders(tmp_path)] == [run]
    assert machine.deeds.knows(run)
    monitor, _ = await seen(fleet, tmp_path)
    told = [one for one in monitor.fleet.happenings if "earlier" in one.words]
    assert [(one.host, one.tone) for one in told] == [("gpu-a", "good")]
    assert told[0].words == (
        f"an earlier gpudash's cleanup ended {RANKS} of {RANKS} processes ({run})"
    )
    # The host lets go of it, and nobody asks again.
    assert not machine.deeds.knows(run)
    assert unfinished_orders(tmp_path) == ()
    monitor, _ = await seen(fleet, tmp_path)
    assert not [one for one in monitor.fleet.happenings if "earlier" in one.words]
    # No further order was given for that.
    assert len(machine.deeds.orders) == 1


async def test_a_record_that_can_not_be_read_hides_no_other(tmp_path: Path) -> None:
    run = await crash(Fleet.of("leftovers"), tmp_path)
    # Nobody can read so much, root neither, and it was written last.
    with (tmp_path / "20261130T000000Z-clean-ffff.jsonl").open("wb") as file:
        file.truncate(MAX_READ_BYTES + 1)
    assert [one.run for one in unfinished_orders(tmp_path)] == [run]


async def test_an_order_that_a_living_gpudash_follows_is_its_own(tmp_path: Path) -> None:
    fleet = Fleet.of("leftovers")
    async with planned(fleet, tmp_path) as begun:
        one = begun.cleaner.cleanings["gpu-a"]
        one.confirm(Y)
        await until(lambda: one.state.phase is Phase.TERMINATING)
        assert unfinished_orders(tmp_path) == ()
        monitor, known = await seen(fleet, tmp_path)
        assert not [told for told in monitor.fleet.happenings if "earlier" in told.words]
        assert known == [frozenset()]
        await until(lambda: one.is_over)


async def test_what_the_host_forgot_is_told_as_unknown(tmp_path: Path) -> None:
    fleet = Fleet.of("leftovers")
    run = await crash(fleet, tmp_path)
    again = Fleet.of("leftovers")
    monitor, _ = await seen(again, tmp_path)
    (told,) = [one for one in monitor.fleet.happenings if "earlier" in one.words]
    assert told.tone == "warn"
    assert "can't tell any more" in told.words
    assert run in told.words
    assert unfinished_orders(tmp_path) == ()


async def seen_through(fleet: Fleet, folder: Path) -> None:
    async with planned(fleet, folder) as begun:
        one: Cleaning = begun.cleaner.cleanings["gpu-a"]
        one.confirm(Y)
        await until(lambda: one.is_over)


async def test_a_host_that_was_cleaned_is_remembered(tmp_path: Path) -> None:
    assert past_of(tmp_path, HERE).cleaned == frozenset()
    async with planned(Fleet.of("leftovers"), tmp_path):
        pass
    # A plan that nobody agreed to is no cleanup.
    assert past_of(tmp_path, HERE).cleaned == frozenset()
    await seen_through(Fleet.of("leftovers"), tmp_path)
    assert past_of(tmp_path, HERE).cleaned == {"gpu-a"}
    # A home may be shared: `local` is another machine there.
    assert past_of(tmp_path, "another").cleaned == frozenset()
    _, known = await seen(Fleet.of("idle"), tmp_path)
    assert known == [frozenset({"gpu-a"})]


async def test_records_that_can_not_be_read_remember_nothing(tmp_path: Path) -> None:
    await seen_through(Fleet.of("leftovers"), tmp_path)
    for path in tmp_path.glob("*.jsonl"):
        path.write_bytes(b"\0" * 100)
    assert all(not record.lines for record in clean_records(tmp_path))
    assert past_of(tmp_path, HERE).cleaned == frozenset()
