"""What a screen proves is on record: each proof, each break, and who broke it."""

from __future__ import annotations

import asyncio
from pathlib import Path

from gpudash.core.record import Record
from gpudash.services.monitor import FleetMonitor
from gpudash.services.proof_record import ProofRecord
from gpudash.services.record_files import list_runs, read_record
from gpudash.services.recorder import Recorder
from gpudash.ui.proofs import ScreenProof
from tests.core.making import GIB
from tests.services.test_some import day, roster
from tests.services.virtual import ScriptedSource, VirtualClock, run


def used(gpu: int, at_s: float) -> int:
    """A claim on GPU 3 from second 20 to 22, on eight GPUs."""
    return GIB if gpu == 3 and 20.0 <= at_s < 22.0 else 0


def watched(folder: Path, seconds: float, *, is_simulated: bool = False) -> list[Record]:
    """Watch a day as a screen does; return what is on record."""
    recorder = Recorder(folder, tell=print)

    async def watch() -> None:
        source = ScriptedSource(day(roster(), used, 120.0))
        source.is_simulated = is_simulated
        monitor = FleetMonitor((source,), VirtualClock(), interval_s=0.25)
        proof = ScreenProof(monitor, VirtualClock(), lambda: None, recorder=recorder)
        monitor.start()
        proof.start()
        await asyncio.sleep(seconds)
        await proof.close()
        await monitor.stop()

    run(watch())
    assert recorder.end(60)
    return [read_record(folder, name) for name in list_runs(folder)]


def test_a_proof_and_its_break_are_recorded(tmp_path: Path) -> None:
    (record,) = watched(tmp_path / "records", 60.0)
    kinds = [str(line["kind"]) for line in record.lines if line["kind"] not in ("named", "scan")]
    assert kinds == ["begin", "hold", "proof", "break", "hold", "proof", "end"]
    broken = next(line for line in record.lines if line["kind"] == "break")
    assert (broken["was_proven"], broken["gpu_indices"]) == (True, [3])
    assert record.last["says"] == "PROVEN: not watched any more"
    assert record.last["exit_code"] == 0


def test_what_never_began_is_not_recorded(tmp_path: Path) -> None:
    assert watched(tmp_path / "records", 0.1) == []


def test_what_is_made_up_is_not_recorded(tmp_path: Path) -> None:
    assert watched(tmp_path / "records", 60.0, is_simulated=True) == []


def test_a_record_that_can_not_be_written_is_told_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, tell=lambda _: None)
    record = ProofRecord(recorder, ("gpudash",))
    assert record.news() == ""
    recorder.problem = "the disk is full"
    assert [record.news(), record.news()] == ["the disk is full", ""]
    recorder.problem = ""
    assert record.news() == ""
    recorder.problem = "the disk is gone"
    assert record.news() == "the disk is gone"
