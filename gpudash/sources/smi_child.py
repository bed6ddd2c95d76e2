"""Running nvidia-smi: argv, no shell, no terminal, and never waiting without a limit.

A driver call can hang for ever, in a state that not even SIGKILL ends. A child that doesn't end
is abandoned, and as long as one is, no other is started.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gpudash.core.smi.commands import ELSEWHERE, PROGRAM

MAX_OUTPUT_BYTES = 8 << 20
MAX_LINE_BYTES = 64 * 1024
GAVE_UP = 124
"""Exit code of a child that took too long, as of timeout(1), or said too much."""
NOT_FOUND = 127
_GRACE_S = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """What a command printed and how it ended."""

    stdout: str
    stderr: str
    exit_code: int


def find_program(path: str | None = None) -> str | None:
    """Return where nvidia-smi is on this machine; None when it is nowhere."""
    found = shutil.which(PROGRAM, path=path)
    if found is not None:
        return found
    places = (Path(folder) / PROGRAM for folder in ELSEWHERE)
    return next((str(place) for place in places if os.access(place, os.X_OK)), None)


class LineBuffer:
    """Whole lines out of bytes in any chunking; an endless line is dropped, as a foreign one."""

    def __init__(self) -> None:
        self._rest = b""
        self._is_skipping = False

    def feed(self, data: bytes) -> list[str]:
        """Return the lines that ended, without their newline."""
        *lines, rest = (self._rest + data).split(b"\n")
        if lines and self._is_skipping:
            lines[0], self._is_skipping = b"?", False
        if len(rest) > MAX_LINE_BYTES:
            rest, self._is_skipping = b"", True
        self._rest = rest
        return [line.decode("utf-8", "replace") for line in lines]


class Runner:
    """Starts nvidia-smi here, or elsewhere behind a prefix of words."""

    def __init__(self, program: str, argv_prefix: tuple[str, ...] = ()) -> None:
        self.program = program
        self._prefix = argv_prefix
        self._abandoned: list[asyncio.subprocess.Process] = []
        self._endings: set[asyncio.Task[None]] = set()

    def argv(self, arguments: tuple[str, ...]) -> tuple[str, ...]:
        """Return the whole command line of one call of nvidia-smi."""
        return (*self._words(), self.program, *arguments)

    def _words(self) -> tuple[str, ...]:
        return (*self._prefix, "env", "LC_ALL=C") if self._prefix else ()

    async def ask(self, arguments: tuple[str, ...], limit_s: float) -> Finished:
        """Run nvidia-smi once and return what it printed, after at most the limit."""
        return await self.run(self.argv(arguments), limit_s)

    async def read_file(self, path: str, limit_s: float) -> str:
        """Return the text of a small file on that machine; empty when it can't be read."""
        finished = await self.run((*self._words(), "cat", path), limit_s)
        return finished.stdout if finished.exit_code == 0 else ""

    async def run(self, argv: tuple[str, ...], limit_s: float) -> Finished:
        """Run one command to its end; a program that isn't there is exit code 127."""
        if self.is_stuck:
            return Finished(stdout="", stderr="an earlier call still hangs", exit_code=GAVE_UP)
        try:
            child = await self._start(argv, stderr=asyncio.subprocess.PIPE)
        except OSError as error:
            code = NOT_FOUND if isinstance(error, FileNotFoundError) else 126
            return Finished(stdout="", stderr=str(error), exit_code=code)
        assert child.stdout is not None
        assert child.stderr is not None
        out, err = _Bounded(child.stdout, child), _Bounded(child.stderr, child)
        exit_code = GAVE_UP
        try:
            async with asyncio.timeout(limit_s):
                await asyncio.gather(out.read(), err.read())
                if not (out.is_full or err.is_full):
                    exit_code = await child.wait()
        except TimeoutError:
            pass
        finally:
            await self.end(child)
        return Finished(stdout=out.text, stderr=err.text, exit_code=exit_code)

    async def start(self, arguments: tuple[str, ...]) -> asyncio.subprocess.Process:
        """Start nvidia-smi as a loop; its stdout is a pipe. Raises OSError."""
        return await self._start(self.argv(arguments), stderr=asyncio.subprocess.DEVNULL)

    async def _start(self, argv: tuple[str, ...], *, stderr: int) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, "LC_ALL": "C"},
        )

    @property
    def is_stuck(self) -> bool:
        """Tell whether a child that was given up still exists."""
        self._abandoned = [child for child in self._abandoned if child.returncode is None]
        return bool(self._abandoned)

    async def end(self, child: asyncio.subprocess.Process) -> None:
        """End a child by its pid: SIGTERM, then SIGKILL; one that stays is abandoned.

        It is carried to its end even when the caller is cancelled.
        """
        if child.returncode is not None:
            # Its pipes are seen to close, else their transports outlive the loop.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(_drained(child), _GRACE_S)
            return
        task = asyncio.create_task(self._end(child))
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
        await asyncio.shield(task)

    async def close(self) -> None:
        """Wait until all children were ended or abandoned: at most twice the grace."""
        await asyncio.gather(*self._endings, return_exceptions=True)

    async def _end(self, child: asyncio.subprocess.Process) -> None:
        for signal in (child.terminate, child.kill):
            with contextlib.suppress(ProcessLookupError):
                signal()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(_drained(child), _GRACE_S)
            if child.returncode is not None:
                return
        self._abandoned.append(child)


async def _drained(child: asyncio.subprocess.Process) -> None:
    """Wait for a child's end; its pipes are read, else they may never be seen to close."""
    for pipe in (child.stdout, child.stderr):
        with contextlib.suppress(ValueError, RuntimeError):
            while pipe is not None and await pipe.read(MAX_LINE_BYTES):
                pass
    await child.wait()


class _Bounded:
    """The first bytes of a stream; a child that says more is killed."""

    def __init__(self, stream: asyncio.StreamReader, child: asyncio.subprocess.Process) -> None:
        self._stream = stream
        self._child = child
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def is_full(self) -> bool:
        return self._size > MAX_OUTPUT_BYTES

    @property
    def text(self) -> str:
        return b"".join(self._parts).decode("utf-8", "replace")

    async def read(self) -> None:
        while not self.is_full and (data := await self._stream.read(MAX_LINE_BYTES)):
            self._parts.append(data)
            self._size += len(data)
        if self.is_full:
            with contextlib.suppress(ProcessLookupError):
                self._child.kill()
