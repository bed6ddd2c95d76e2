"""Writes records in a thread of its own: homes hang on NFS, and nothing else may wait for them.

Theory of operation. `write` stamps a line, puts it into a bounded queue and returns. One thread
takes lines out, appends them to their run's file and syncs where that was asked for. `durable` is
answered when the line is on the disk, or with the error that kept it from there: whoever must not
act without a record waits for that, with a limit of its own. Nothing is ever dropped in silence:
the first thing that goes wrong is told, and a line that found no place is counted in the record.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import datetime
import queue
import secrets
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gpudash.core.record import LOST, Line, encode, run_id
from gpudash.services.record_files import (
    MAX_RECORD_BYTES,
    RecordError,
    RecordFile,
    prune,
    records_folder,
)

QUEUE_LINES = 1000
DURABLE_S = 10.0
"""So long a durable line is waited for before the disk counts as hanging."""
CLOSE_S = 2.0


class File(Protocol):
    """One record that is being written."""

    size: int

    def append(self, line: bytes) -> None:
        """Write one line. Raises OSError."""
        ...

    def sync(self) -> None:
        """Return when all is on the disk. Raises OSError."""
        ...

    def close(self) -> None:
        """Give the file back."""
        ...


@dataclass(slots=True)
class _Open:
    """What the thread keeps of one run."""

    path: Path
    file: File | None = None
    lost: int = 0
    """Lines that found no place since the last one that did."""


@dataclass(slots=True)
class _Job:
    run: _Open
    line: bytes
    name: str
    done: concurrent.futures.Future[None] | None
    """Where somebody waits for the line to be durable."""
    must_last: bool
    """Whether it is synced and takes its place whatever the size."""
    is_last: bool


class Recorder:
    """All records of this process."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        tell: Callable[[str], None],
        open_file: Callable[[Path, str], File] = RecordFile,
    ) -> None:
        """Write nothing yet. `tell` gets each new problem as a sentence, in whatever thread."""
        self.folder = folder or records_folder()
        self.problem = ""
        """Why the newest line could not be written; empty when all is well."""
        self._tell = tell
        self._open_file = open_file
        self._told: set[str] = set()
        self._jobs: queue.Queue[_Job | None] = queue.Queue(QUEUE_LINES)
        self._thread: threading.Thread | None = None
        self._is_ending = False

    def begin(self, topic: str) -> Run:
        """Begin a record; its file is made with its first line."""
        stamp = utc_now()
        return Run(self, run_id(stamp, topic, secrets.randbits(16)))

    def put(self, job: _Job) -> None:
        """Queue a line; where the queue is full the line is lost, told and counted."""
        if self._is_ending:
            raise ValueError("the recorder was closed")
        if self._thread is None:
            # A daemon: a disk that hangs must not keep gpudash from leaving.
            self._thread = threading.Thread(target=self._work, name="recorder", daemon=True)
            self._thread.start()
        try:
            self._jobs.put_nowait(job)
        except queue.Full:
            job.run.lost += 1
            self._fail(job, f"{job.run.path}: the disk does not keep up, lines are lost")

    def complain(self, why: str) -> str:
        """Tell of a problem, each once; return it as a sentence."""
        self.problem = f"the record can't be written: {why}"
        if self.problem not in self._told:
            self._told.add(self.problem)
            self._tell(self.problem)
        return self.problem

    async def close(self, patience_s: float = CLOSE_S) -> bool:
        """Wait until everything is written; False where the disk took too long."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience_s
        while not self.end(0.0):
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(0.01)
        return True

    def end(self, patience_s: float = CLOSE_S) -> bool:
        """Stop when everything is written; False where that takes longer. No line comes after."""
        thread = self._thread
        if thread is None:
            return True
        if not self._is_ending:
            try:
                self._jobs.put(None, block=patience_s > 0, timeout=patience_s or None)
            except queue.Full:
                return False
            self._is_ending = True
        thread.join(patience_s)
        return not thread.is_alive()

    # -- in the thread -------------------------------------------------------------------------

    def _work(self) -> None:
        if sys.platform != "win32":
            # Signals are the main thread's.
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while (job := self._jobs.get()) is not None:
            if job.done is not None and not job.done.set_running_or_notify_cancel():
                job.done = None
            try:
                self._write(job)
            except OSError as error:
                job.run.lost += 1
                self._fail(job, f"{job.run.path}: {error.strerror or error}")
            except Exception as error:
                # The thread goes on: what comes later must not be lost without a word.
                job.run.lost += 1
                self._fail(job, f"{job.run.path}: this is a bug in gpudash: {error!r}")

    def _write(self, job: _Job) -> None:
        try:
            self._append(job)
        except OSError:
            run = job.run
            if run.file is not None and not run.file.size:
                # A record without a byte would stand before the last good one.
                file, run.file = run.file, None
                file.close()
            raise

    def _append(self, job: _Job) -> None:
        run = job.run
        must = job.must_last
        if run.file is None:
            run.file = self._open_file(self.folder, job.name)
            prune(self.folder)
        if run.file.size > MAX_RECORD_BYTES and not must:
            run.lost += 1
            return
        if run.lost:
            run.file.append(_lost_line(job.name, run.lost))
            run.lost = 0
        run.file.append(job.line)
        if must:
            run.file.sync()
        if job.is_last:
            run.file.close()
            run.file = None
        self.problem = ""
        if job.done is not None:
            job.done.set_result(None)

    def _fail(self, job: _Job, why: str) -> None:
        problem = self.complain(why)
        if job.done is not None:
            job.done.set_exception(RecordError(problem))


class Run:
    """The record of one run, as it is written."""

    def __init__(self, recorder: Recorder, name: str) -> None:
        self.id = name
        self._recorder = recorder
        self._open = _Open(recorder.folder / f"{name}.jsonl")
        self._number = 0
        self.has_ended = False
        """Its last line was given."""

    @property
    def path(self) -> Path:
        """Return where it is written."""
        return self._open.path

    def write(self, line: Line) -> None:
        """Add a line; never waits."""
        self._put(line, None)

    def begin_durably(self, line: Line) -> concurrent.futures.Future[None]:
        """Add a line and return what is done when it is on the disk, or fails with RecordError."""
        done: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._put(line, done)
        return done

    async def write_durably(self, line: Line, patience_s: float = DURABLE_S) -> None:
        """Add a line and wait until it is on the disk. Raises RecordError where it is not."""
        waiting = asyncio.wrap_future(self.begin_durably(line))
        try:
            await asyncio.wait_for(asyncio.shield(waiting), patience_s)
        except TimeoutError as error:
            waiting.add_done_callback(_seen)
            why = f"{self.path}: the disk did not answer within {patience_s:.0f} s"
            raise RecordError(self._recorder.complain(why)) from error

    def end(self, line: Line) -> None:
        """Add the last line and close the file."""
        self._put(line, None, is_last=True)
        self.has_ended = True

    def _put(
        self, line: Line, done: concurrent.futures.Future[None] | None, *, is_last: bool = False
    ) -> None:
        if self.has_ended:
            raise ValueError(f"{self.id} has ended")
        data = encode(line, run=self.id, number=self._number, utc=utc_now())
        self._number += 1
        self._recorder.put(
            _Job(self._open, data, self.id, done, done is not None or is_last, is_last)
        )


def _seen(waiting: asyncio.Future[None]) -> None:
    """Take note of a late answer, so that nobody is told of an error that nobody waits for."""
    if not waiting.cancelled():
        waiting.exception()


def _lost_line(name: str, lost: int) -> bytes:
    says = "lines could not be written here" if lost > 1 else "a line could not be written here"
    line = Line(kind=LOST, says=f"{lost} {says}" if lost > 1 else says, details={"lines": lost})
    return encode(line, run=name, number=-1, utc=utc_now())


def utc_now() -> str:
    """Return `2026-11-29T12:06:42.123Z`."""
    at = datetime.datetime.fromtimestamp(time.time(), datetime.UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
