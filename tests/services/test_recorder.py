"""The recorder: lines are on the disk when it says so, and a disk that hangs holds up nobody."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from gpudash.core.errors import UsageError
from gpudash.core.record import Line, Record, ended
from gpudash.services import record_files
from gpudash.services.record_files import (
    RecordError,
    RecordFile,
    find_run,
    list_runs,
    prune,
    read_record,
)
from gpudash.services.recorder import QUEUE_LINES, Recorder


def note(says: str) -> Line:
    return Line(kind="note", says=says)


def says_of(record: Record) -> list[object]:
    return [line["says"] for line in record.lines]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state" / "records"


async def test_what_was_written_is_there(folder: Path) -> None:
    told: list[str] = []
    recorder = Recorder(folder, tell=told.append)
    run = recorder.begin("proof")
    run.write(note("one"))
    await run.write_durably(note("two"))
    assert says_of(read_record(folder, run.id)) == ["one", "two"]
    run.end(ended(0, "done"))
    assert await recorder.close()
    record = read_record(folder, run.id)
    assert (says_of(record), record.has_ended) == (["one", "two", "done"], True)
    assert [line["n"] for line in record.lines] == [0, 1, 2]
    assert (told, recorder.problem) == ([], "")
    assert folder.stat().st_mode & 0o777 == 0o700
    assert run.path.stat().st_mode & 0o777 == 0o600


async def test_an_open_folder_is_closed_to_others(folder: Path) -> None:
    folder.mkdir(parents=True, mode=0o755)
    recorder = Recorder(folder, tell=print)
    await recorder.begin("proof").write_durably(note("x"))
    assert await recorder.close()
    assert folder.stat().st_mode & 0o777 == 0o700


async def test_a_folder_that_is_a_link_is_refused_and_told(folder: Path, tmp_path: Path) -> None:
    folder.parent.mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    told: list[str] = []
    recorder = Recorder(folder, tell=told.append)
    with pytest.raises(RecordError, match="another user's, or a link"):
        await recorder.begin("proof").write_durably(note("x"))
    assert len(told) == 1
    assert await recorder.close()
    assert not list((tmp_path / "elsewhere").iterdir())


async def test_a_file_in_the_way_is_told_once_a_reason(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "records").touch()
    recorder = Recorder(tmp_path / "records", tell=told.append)
    run = recorder.begin("proof")
    run.write(note("one"))
    run.write(note("two"))
    with pytest.raises(RecordError, match="can't be written"):
        await run.write_durably(note("three"))
    assert len(told) == 1
    assert told[0] == recorder.problem != ""
    assert await recorder.close()


class Disk:
    """A file whose disk hangs until it is let go, and fails as long as it is told to."""

    def __init__(self) -> None:
        self.goes_on = threading.Event()
        self.is_reached = threading.Event()
        self.lines: list[bytes] = []
        self.synced = 0
        self.fails = 0
        self.size = 0
        self.is_closed = False

    def open(self, folder: Path, run: str) -> Disk:
        self.is_reached.set()
        assert self.goes_on.wait(60)
        return self

    def append(self, line: bytes) -> None:
        if self.fails:
            self.fails -= 1
            raise OSError(28, "No space left on device")
        self.lines.append(line)

    def sync(self) -> None:
        self.synced = len(self.lines)

    def close(self) -> None:
        self.is_closed = True

    @property
    def says(self) -> list[str]:
        return [json.loads(line)["says"] for line in self.lines]


async def test_a_disk_that_hangs_holds_up_nobody(folder: Path) -> None:
    """Not one of these calls may wait: the disk is let go only after all of them."""
    disk, told = Disk(), []
    recorder = Recorder(folder, tell=told.append, open_file=disk.open)
    run = recorder.begin("clean")
    run.write(note("first"))
    assert disk.is_reached.wait(60)
    for number in range(QUEUE_LINES + 5):
        run.write(note(f"{number}"))
    assert "does not keep up" in recorder.problem
    with pytest.raises(RecordError):
        await run.write_durably(note("order"), patience_s=0.0)
    assert not await recorder.close(0.0)
    disk.goes_on.set()
    assert await recorder.close(60)
    assert disk.says[0] == "6 lines could not be written here"
    assert disk.says[1:] == ["first", *map(str, range(QUEUE_LINES))]
    assert [("keep up" in one, "did not answer" in one) for one in told] == [
        (True, False),
        (False, True),
    ]


async def test_a_durable_line_that_takes_too_long_is_an_error_and_told(folder: Path) -> None:
    disk = Disk()
    told: list[str] = []
    recorder = Recorder(folder, tell=told.append, open_file=disk.open)
    run = recorder.begin("clean")
    for _ in range(2):
        with pytest.raises(RecordError, match="did not answer") as found:
            await run.write_durably(note("order"), patience_s=0.0)
        assert told == [str(found.value)]
    disk.goes_on.set()
    assert await recorder.close(60)
    assert disk.says == ["order", "order"]


async def test_durable_means_synced(folder: Path) -> None:
    disk = Disk()
    disk.goes_on.set()
    recorder = Recorder(folder, tell=print, open_file=disk.open)
    run = recorder.begin("clean")
    run.write(note("one"))
    await run.write_durably(note("two"))
    assert disk.synced == 2
    run.end(ended(0, "done"))
    assert await recorder.close()
    assert (disk.synced, disk.is_closed) == (3, True)


async def test_a_full_disk_is_told_and_counted(folder: Path) -> None:
    disk, told = Disk(), []
    disk.goes_on.set()
    disk.fails = 2
    recorder = Recorder(folder, tell=told.append, open_file=disk.open)
    run = recorder.begin("clean")
    for says in ("one", "two"):
        with pytest.raises(RecordError, match="No space left"):
            await run.write_durably(note(says))
    await run.write_durably(note("three"))
    assert disk.says == ["2 lines could not be written here", "three"]
    assert recorder.problem == ""
    assert len(told) == 1
    assert await recorder.close()


async def test_a_record_that_grows_for_ever_keeps_its_end(folder: Path) -> None:
    disk = Disk()
    disk.goes_on.set()
    disk.size = record_files.MAX_RECORD_BYTES + 1
    recorder = Recorder(folder, tell=print, open_file=disk.open)
    run = recorder.begin("watch")
    run.write(note("too much"))
    run.end(ended(0, "done"))
    assert await recorder.close()
    assert disk.says == ["a line could not be written here", "done"]


async def test_nothing_comes_after_the_end(folder: Path) -> None:
    recorder = Recorder(folder, tell=print)
    run = recorder.begin("proof")
    run.end(ended(0, "done"))
    with pytest.raises(ValueError, match="ended"):
        run.write(note("x"))
    assert await recorder.close()
    with pytest.raises(ValueError, match="closed"):
        recorder.begin("proof").write(note("x"))


def test_a_recorder_without_a_line_leaves_nothing(folder: Path) -> None:
    recorder = Recorder(folder, tell=print)
    recorder.begin("proof")
    assert recorder.end()
    assert not folder.exists()


def test_a_line_cut_off_by_a_full_disk_spoils_no_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = "20261129T120642Z-proof-3f2a"
    file = RecordFile(folder, run)
    whole = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: whole(fd, data[:7]))
    with pytest.raises(OSError, match="space"):
        file.append(b'{"lost": 1}\n')
    monkeypatch.undo()
    file.append(b"{}\n")
    file.close()
    assert (folder / f"{run}.jsonl").read_bytes() == b'{"lost"\n{}\n'


def test_a_disk_that_is_full_from_the_start_leaves_no_empty_record(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(folder, 1)
    recorder = Recorder(folder, tell=lambda _: None)
    run = recorder.begin("wait")
    write, full = os.write, [True]

    def refused(fd: int, data: bytes) -> int:
        if full and full.pop():
            raise OSError(28, "No space left on device")
        return write(fd, data)

    monkeypatch.setattr(record_files.os, "write", refused)
    with pytest.raises(RecordError, match="No space left"):
        run.begin_durably(note("one")).result(60)
    assert list_runs(folder) == (run_of(0),)
    run.end(ended(0, "done"))
    assert recorder.end(60)
    assert says_of(read_record(folder, run.id)) == ["a line could not be written here", "done"]


@pytest.mark.parametrize("what", ["_lock", "_sync_folder"])
def test_a_file_that_can_not_be_held_is_not_left_in_the_way(
    folder: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    def refused(_: object) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(record_files, what, refused)
        with pytest.raises(OSError, match="Input/output"):
            RecordFile(folder, run_of(0))
    assert list_runs(folder) == ()
    RecordFile(folder, run_of(0)).close()


def test_a_folder_that_can_not_be_synced_is_as_good(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: int) -> None:
        raise OSError(22, "Invalid argument")

    monkeypatch.setattr(record_files.os, "fsync", refused)
    file = RecordFile(folder, run_of(0))
    file.append(b"{}\n")
    file.close()
    assert list_runs(folder) == (run_of(0),)


# -- many records ------------------------------------------------------------------------------


def run_of(number: int) -> str:
    return f"20261129T1206{number:02d}Z-proof-{number:04x}"


def make(folder: Path, count: int, size: int = 10) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        (folder / f"{run_of(number)}.jsonl").write_bytes(b"x" * size)


def test_the_oldest_go_first(folder: Path) -> None:
    make(folder, 10)
    (folder / "notes.txt").write_text("mine")
    assert prune(folder, most=4) == tuple(run_of(number) for number in (5, 4, 3, 2, 1, 0))
    assert list_runs(folder) == tuple(run_of(number) for number in (9, 8, 7, 6))
    assert (folder / "notes.txt").exists()


def test_a_clock_that_is_set_back_makes_no_record_old(folder: Path) -> None:
    make(folder, 3)
    for number, at_s in ((2, 100), (1, 200), (0, 300)):
        os.utime(folder / f"{run_of(number)}.jsonl", (at_s, at_s))
    assert list_runs(folder) == tuple(run_of(number) for number in (0, 1, 2))
    assert prune(folder, most=1) == (run_of(1), run_of(2))


def test_what_is_no_plain_file_is_no_record(folder: Path, tmp_path: Path) -> None:
    make(folder, 1)
    os.mkfifo(folder / f"{run_of(1)}.jsonl")
    (tmp_path / "elsewhere").write_text("{}\n")
    (folder / f"{run_of(2)}.jsonl").symlink_to(tmp_path / "elsewhere")
    assert list_runs(folder) == (run_of(0),)
    for number in (1, 2):
        with pytest.raises(RecordError):
            read_record(folder, run_of(number))


def test_what_is_too_large_is_no_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make(folder, 1, size=100)
    monkeypatch.setattr(record_files, "MAX_READ_BYTES", 99)
    with pytest.raises(RecordError, match="no record"):
        read_record(folder, run_of(0))


def test_the_newest_has_a_line_where_any_has(folder: Path) -> None:
    make(folder, 3)
    assert find_run(folder, None) == run_of(2)
    (folder / f"{run_of(1)}.jsonl").write_bytes(b"{}\n")
    assert find_run(folder, None) == run_of(1)


def test_size_counts_and_the_newest_stays(folder: Path) -> None:
    make(folder, 5, size=1000)
    assert prune(folder, most_bytes=2500) == tuple(run_of(number) for number in (2, 1, 0))
    prune(folder, most_bytes=10)
    assert list_runs(folder) == (run_of(4),)


def test_a_record_that_is_being_written_stays(folder: Path) -> None:
    file = RecordFile(folder, run_of(0))
    file.append(b"{}\n")
    make_later = [run_of(number) for number in range(1, 4)]
    for run in make_later:
        (folder / f"{run}.jsonl").write_bytes(b"x")
    assert prune(folder, most=1) == (run_of(2), run_of(1))
    assert list_runs(folder) == (run_of(3), run_of(0))
    file.close()
    assert prune(folder, most=1) == (run_of(0),)


def test_finding_one(folder: Path) -> None:
    with pytest.raises(UsageError, match="no record in"):
        find_run(folder, None)
    make(folder, 3)
    assert find_run(folder, None) == run_of(2)
    assert find_run(folder, run_of(1)) == run_of(1)
    assert find_run(folder, run_of(1)[:16]) == run_of(1)
    assert find_run(folder, "0001") == run_of(1)
    with pytest.raises(UsageError, match="3 records"):
        find_run(folder, "2026")
    with pytest.raises(UsageError, match="no record is called"):
        find_run(folder, "1999")


def test_a_record_that_went_away_is_an_error(folder: Path) -> None:
    with pytest.raises(RecordError, match="No such file"):
        read_record(folder, run_of(1))
