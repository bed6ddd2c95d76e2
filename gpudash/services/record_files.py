"""Records on disk: one file a run in a folder of the user's own, bounded in number and size.

Folder 0700, files 0600, opened anew and never through a link. A record is locked as long as it is
written: no other gpudash removes it to make room.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from pathlib import Path

from gpudash.config.folders import is_ours, state_folder
from gpudash.core.errors import ExitCode, GpudashError, UsageError
from gpudash.core.record import Record, is_run_id, parse_record

MAX_RECORDS = 500
MAX_FOLDER_BYTES = 64 << 20
MAX_RECORD_BYTES = 4 << 20
"""Beyond this a record takes only what must be durable, and its end."""
SUFFIX = ".jsonl"
_NO_LOCKS = frozenset({errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP})
"""Lustre answers the first one where it is mounted without flock."""
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.EBADF, errno.ENOSYS, errno.EOPNOTSUPP})
"""What a file system answers that can't sync a folder; the file itself is synced all the same."""
MAX_READ_BYTES = MAX_FOLDER_BYTES
_FIRST_LINE_BYTES = 1 << 16
_DAY_S = 86400.0


class RecordError(GpudashError):
    """A record could not be written, or can't be read."""

    exit_code = ExitCode.USAGE


def records_folder() -> Path:
    """Return the folder of records; it need not exist."""
    return Path(state_folder()) / "records"


class RecordFile:
    """One record that is being written."""

    def __init__(self, folder: Path, run: str) -> None:
        """Make the file, and the folder where needed. Raises OSError."""
        _make(folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
        flags |= getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        self._path = folder / f"{run}{SUFFIX}"
        self._fd = os.open(self._path, flags, 0o600)
        self._is_cut = False
        self.size = 0
        try:
            _lock(self._fd)
            _sync_folder(folder)
        except OSError:
            self.close()
            raise

    def append(self, line: bytes) -> None:
        """Write one line. Raises OSError; what was written of it in part is closed off."""
        data = b"\n" + line if self._is_cut else line
        written = os.write(self._fd, data)
        self.size += written
        self._is_cut = written < len(data)
        if self._is_cut:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def sync(self) -> None:
        """Return when all of it is on the disk. Raises OSError."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Give the file back; it may be removed from now on. One without a byte is removed."""
        try:
            if not self.size:
                self._path.unlink(missing_ok=True)
        finally:
            os.close(self._fd)


def _make(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not is_ours(str(folder)):
        raise PermissionError(errno.EACCES, "the folder is another user's, or a link", str(folder))
    if sys.platform != "win32" and stat.S_IMODE(folder.stat().st_mode) & 0o077:
        folder.chmod(0o700)


def _lock(fd: int) -> None:
    """Hold a file as being written; a file system without locks is as good. Raises OSError."""
    if sys.platform == "win32":
        return  # an open file can't be removed there
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise


def _is_written(fd: int) -> bool:
    """Tell whether somebody writes a file; without locks, whether it changed within a day."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return time.time() - os.fstat(fd).st_mtime < _DAY_S
    return False


def _sync_folder(folder: Path) -> None:
    """Make a new name durable: the file alone may be lost with its folder's entry."""
    if sys.platform == "win32":
        return
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise
    finally:
        os.close(fd)


def prune(
    folder: Path, *, most: int = MAX_RECORDS, most_bytes: int = MAX_FOLDER_BYTES
) -> tuple[str, ...]:
    """Remove the oldest records beyond the bounds; return their ids. Raises OSError.

    A record that is being written stays, whatever its age.
    """
    removed = []
    kept = kept_bytes = 0
    for run in list_runs(folder):
        path = folder / f"{run}{SUFFIX}"
        try:
            kept_bytes += path.lstat().st_size
        except FileNotFoundError:
            continue  # another gpudash removed it
        kept += 1
        if (kept > most or kept_bytes > most_bytes) and kept > 1 and _remove(path):
            removed.append(run)
    return tuple(removed)


def _remove(path: Path) -> bool:
    try:
        fd = _opened(path)
    except FileNotFoundError:
        return False
    try:
        if _is_written(fd):
            return False
        path.unlink(missing_ok=True)
        return True
    finally:
        os.close(fd)


# -- reading -----------------------------------------------------------------------------------


def list_runs(folder: Path) -> tuple[str, ...]:
    """Return the ids of all records, the one that was written last first. Raises OSError.

    By the file's time, then by name: a wall clock that is set back must make no record old. What is
    no plain file, a link or a pipe, is no record.
    """
    try:
        with os.scandir(folder) as entries:
            found = [_timed(entry) for entry in entries if entry.name.endswith(SUFFIX)]
    except FileNotFoundError:
        return ()
    runs = sorted((one for one in found if one is not None), reverse=True)
    return tuple(run for _, run in runs)


def _timed(entry: os.DirEntry[str]) -> tuple[int, str] | None:
    run = entry.name.removesuffix(SUFFIX)
    try:
        if not is_run_id(run) or not entry.is_file(follow_symlinks=False):
            return None
        return entry.stat(follow_symlinks=False).st_mtime_ns, run
    except FileNotFoundError:
        return None  # another gpudash removed it


def find_run(folder: Path, beginning: str | None) -> str:
    """Return the id that begins so or ends with `-` and this; for None the newest with a line.

    Raises UsageError where there is none, or more than one.
    """
    try:
        runs = list_runs(folder)
    except OSError as error:
        raise RecordError(f"{folder}: {error.strerror}") from error
    if not runs:
        raise UsageError(
            f"there is no record in {folder}",
            hint="gpudash wait and check --hold write one each time.",
        )
    if beginning is None:
        return next((run for run in runs if _has_line(folder / f"{run}{SUFFIX}")), runs[0])
    found = [run for run in runs if run.startswith(beginning) or run.endswith(f"-{beginning}")]
    if not found:
        raise UsageError(f"no record is called {beginning}", hint="See: gpudash explain --list")
    if len(found) > 1:
        names = ", ".join(found[:4])
        raise UsageError(f"{len(found)} records may be meant by {beginning}", hint=f"{names} …")
    return found[0]


def read_record(folder: Path, run: str) -> Record:
    """Read one record. Raises RecordError."""
    path = folder / f"{run}{SUFFIX}"
    try:
        data = _read(path, MAX_READ_BYTES + 1)
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from error
    if len(data) > MAX_READ_BYTES:
        raise RecordError(f"{path}: more than {MAX_READ_BYTES >> 20} MiB can be no record")
    return parse_record(run, data)


def is_being_written(folder: Path, run: str) -> bool:
    """Tell whether a living gpudash certainly writes a record; without locks nobody knows."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fd = _opened(folder / f"{run}{SUFFIX}")
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(fd)
    return False


def _has_line(path: Path) -> bool:
    """Tell whether a record has its first line: where the disk was full, it has not even that."""
    try:
        return b"\n" in _read(path, _FIRST_LINE_BYTES)
    except OSError:
        return False


def _read(path: Path, most: int) -> bytes:
    """Read the beginning of a plain file. Raises OSError."""
    fd = _opened(path)
    with os.fdopen(fd, "rb") as file:
        return file.read(most)


def _opened(path: Path) -> int:
    """Open a plain file for reading: no link, and nothing that could hang. Raises OSError."""
    flags = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "not a plain file", str(path))
    return fd
