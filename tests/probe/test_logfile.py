"""Reading a log as it grows: nothing lost and nothing twice, whatever becomes of the file."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpudash.core.startup.loglines import LogPiece
from gpudash.core.startup.place import Place, taken
from gpudash.probe import logstart
from gpudash.probe.logfile import LogFile, Unreadable


def drain(log: LogFile) -> tuple[bytes, list[str]]:
    """Read all that is there now."""
    data, notes = b"", []
    while (piece := log.read()) is not None:
        data += piece.data
        if piece.note:
            notes.append(piece.note)
    return data, notes


def test_it_grows(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"one\n")
    log = LogFile(str(path))
    assert drain(log) == (b"one\n", ["opened"])
    with path.open("ab") as file:
        file.write(b"half a li")
    assert drain(log) == (b"half a li", [])
    assert drain(log) == (b"", [])
    log.close()


def test_it_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "later.log"
    log = LogFile(str(path), "anchor")
    assert drain(log) == (b"", ["waiting"])
    assert drain(log) == (b"", [])
    path.write_bytes(b"first\n")
    assert drain(log) == (b"first\n", ["opened"])
    log.close()


def test_rotation_reads_the_old_file_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"old\n")
    log = LogFile(str(path))
    drain(log)
    with path.open("ab") as writer:
        path.rename(tmp_path / "x.log.1")
        assert drain(log) == (b"", ["gone"])
        path.write_bytes(b"")
        writer.write(b"late\n")
        writer.flush()
        assert drain(log) == (b"late\n", [])
    path.write_bytes(b"new\n")
    assert drain(log) == (b"new\n", ["rotated"])
    log.close()


def test_what_is_written_at_the_last_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"old\n")
    log = LogFile(str(path))
    drain(log)
    with path.open("ab", buffering=0) as writer:
        path.rename(tmp_path / "x.log.1")
        path.write_bytes(b"new\n")
        look = os.stat

        def late(name: object) -> os.stat_result:
            writer.write(b"late\n")
            monkeypatch.undo()
            return look(name)  # type: ignore[arg-type]

        monkeypatch.setattr(os, "stat", late)
        assert drain(log) == (b"late\nnew\n", ["rotated"])
    log.close()


def test_copytruncate_that_grew_past_the_old_place(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"the first run\n")
    log = LogFile(str(path))
    drain(log)
    with path.open("r+b") as file:
        file.truncate(0)
        file.write(b"another run, and it is longer than the one before\n")
    data, notes = drain(log)
    assert notes == ["truncated"]
    assert data == path.read_bytes()
    log.close()


def test_a_writer_that_does_not_append_leaves_a_hole(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    with path.open("wb", buffering=0) as writer:
        writer.write(b"x" * (1 << 20))
        log = LogFile(str(path))
        drain(log)
        os.truncate(path, 0)
        writer.write(b"behind the hole\n")
    data, notes = drain(log)
    assert notes == ["truncated"]
    assert data.lstrip(b"\0") == b"behind the hole\n"
    assert len(data) < 8192
    log.close()


@pytest.mark.parametrize("kind", ["folder", "pipe", "device"])
def test_what_is_no_log(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    match kind:
        case "folder":
            path.mkdir()
        case "pipe":
            os.mkfifo(path)
        case _:
            path = Path("/dev/null")
    with pytest.raises(Unreadable, match="is a "):
        LogFile(str(path)).read()


def test_deleted_and_still_written(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    with path.open("wb", buffering=0) as writer:
        log = LogFile(str(path))
        drain(log)
        path.unlink()
        writer.write(b"to nobody's eyes\n")
        data, notes = drain(log)
    assert data == b"to nobody's eyes\n"
    assert notes == ["gone"]
    log.close()


ANCHORS = [
    ["server_args=ServerArgs(", r"server_args=ServerArgs\(", True],
    ["detected platform", "detected platform", False],
]


def test_a_late_attach_begins_at_the_last_start(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    filler = b"nothing of interest\n" * 1000
    start = b"[2026-01-14 03:22:20] server_args=ServerArgs(model_path='x')\n"
    with path.open("wb") as file:
        file.write(filler * 300 + start + filler + b"detected platform cuda\n" + start)
        file.write(filler * 50)
    log = LogFile(str(path), "anchor", anchors=ANCHORS)
    opened = log.read()
    assert opened is not None
    whole = path.read_bytes()
    assert whole[opened.offset :].startswith(start + filler + b"detected")
    assert opened.more["line"] == whole[: opened.offset].count(b"\n") + 1
    assert drain(log)[0] == whole[opened.offset :]
    log.close()


def test_a_late_attach_without_a_start(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_bytes(b"0123456789\n" * 1_000_000)
    log = LogFile(str(path), "anchor", anchors=ANCHORS)
    opened = log.read()
    assert opened is not None
    assert path.stat().st_size - logstart.READ_BACK <= opened.offset
    assert opened.offset % 11 == 0
    log.close()


# -- any history, any cuts ---------------------------------------------------------------------

WRITE, CUT, READ, ROTATE = "write", "cut", "read", "rotate"
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just(WRITE), st.binary(min_size=1, max_size=40)),
        st.tuples(st.just(CUT), st.just(b"")),
        st.tuples(st.just(READ), st.just(b"")),
        st.tuples(st.just(ROTATE), st.binary(min_size=1, max_size=40)),
    ),
    max_size=30,
)


@given(steps=STEPS)
@settings(max_examples=200, deadline=None)
def test_no_byte_is_lost_or_read_twice_whatever_is_cut(steps: list[tuple[str, bytes]]) -> None:
    """One rotation between two looks, as a poll sees it; cuts come at any time."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.log"
        path.write_bytes(b"")
        written = got = b""
        place = Place()
        has_rotated = False
        log = LogFile(str(path), "start")

        def read() -> None:
            nonlocal place, got
            while (piece := log.read()) is not None:
                length, checksum = log.head()
                told = LogPiece(
                    data=piece.data,
                    offset=piece.offset,
                    inode=log.inode,
                    note=piece.note,
                    head=(length, checksum),
                )
                place, data = taken(place, told)
                got += data

        read()
        for number, (do, data) in enumerate(steps):
            if do == WRITE:
                with path.open("ab") as file:
                    file.write(data)
                written += data
            elif do == ROTATE:
                if has_rotated:
                    read()
                has_rotated = True
                path.rename(Path(folder) / f"x.log.{number}")
                path.write_bytes(data)
                written += data
            elif do == CUT:
                log.close()
                head = None if place.head is None else list(place.head)
                log = LogFile(str(path), place.offset or 0, place.inode, head)
            else:
                read()
                has_rotated = False
        read()
        log.close()
        assert got == written
