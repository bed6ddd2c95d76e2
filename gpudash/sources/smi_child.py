"""Running nvidia-smi: argv, no shell, no terminal, and never waiting without a limit.

A driver call can hang for ever, in a state that not even SIGKILL ends. A child that doesn't end
is abandoned, and as long as one is, no other is started.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gpudash.core.remote import between_marks, hung_script, marked_script
from gpudash.core.smi.commands import ELSEWHERE, PROGRAM
from gpudash.sources.smi_output import MAX_LINE_BYTES, AfterMark, Reader

MAX_OUTPUT_BYTES = 8 << 20
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


def new_mark() -> str:
    """Return a mark that no answer contains by chance."""
    return "gpudash-" + os.urandom(9).hex()


def find_program(path: str | None = None) -> str | None:
    """Return where nvidia-smi is on this machine; None when it is nowhere."""
    found = shutil.which(PROGRAM, path=path)
    if found is not None:
        return found
    places = (Path(folder) / PROGRAM for folder in ELSEWHERE)
    return next((str(place) for place in places if os.access(place, os.X_OK)), None)


class Running(Protocol):
    """A child, here or at the end of a link."""

    @property
    def stdout(self) -> Reader | None:
        """What it says."""
        ...

    @property
    def stderr(self) -> Reader | None:
        """What it says beside; None where nobody listens."""
        ...

    @property
    def returncode(self) -> int | None:
        """How it ended; None while it runs."""
        ...

    async def wait(self) -> int:
        """Wait for its end."""
        ...

    def terminate(self) -> None:
        """Ask it to end."""
        ...

    def kill(self) -> None:
        """End it."""
        ...


class Runner:
    """Starts nvidia-smi here, or elsewhere by what carries a script there."""

    def __init__(self, program: str, carry: Callable[[str], tuple[str, ...]] | None = None) -> None:
        """`carry` makes the argv that has a POSIX sh run a script elsewhere; None means here."""
        self.program = program
        self._carry = carry
        self._abandoned: list[Running] = []
        self._endings: set[asyncio.Task[None]] = set()
        self._is_in_doubt = False
        """A call elsewhere took too long: what ended here may still hang there."""

    async def ask(self, arguments: tuple[str, ...], limit_s: float) -> Finished:
        """Run nvidia-smi once and return what it printed, after at most the limit."""
        return await self.run((self.program, *arguments), limit_s)

    async def read_file(self, path: str, limit_s: float) -> str:
        """Return the text of a small file on that machine; empty when it can't be read."""
        finished = await self.run(("cat", path), limit_s)
        return finished.stdout if finished.exit_code == 0 else ""

    async def run(self, words: tuple[str, ...], limit_s: float) -> Finished:
        """Run one command to its end; a program that isn't there is exit code 127."""
        if self.is_stuck:
            return Finished(stdout="", stderr="an earlier call still hangs", exit_code=GAVE_UP)
        mark = new_mark()
        return await self._finish(words, mark, limit_s)

    async def is_clogged(self, limit_s: float) -> bool:
        """Tell whether a call of before still hangs in the driver, here or there.

        Another one would hang beside it, and one more with each attempt.
        """
        if self.is_stuck:
            return True
        if self._is_in_doubt:
            mark = new_mark()
            name = self.program.rpartition("/")[2]
            looked = await self._finish(hung_script(name, mark), mark, limit_s)
            self._is_in_doubt = looked.exit_code != 0
        return self._is_in_doubt

    def doubt(self) -> None:
        """Note that a call took too long."""
        self._is_in_doubt = self.is_elsewhere

    async def _finish(self, what: tuple[str, ...] | str, mark: str, limit_s: float) -> Finished:
        """Run words, or a script that is marked already, to the end."""
        try:
            child = await self._start(what, mark, has_stderr=True)
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
            self.doubt()
        finally:
            await self.end(child)
        if not self.is_elsewhere:
            return Finished(stdout=out.text, stderr=err.text, exit_code=exit_code)
        said, marked_code = between_marks(out.text, mark)
        if marked_code is None:
            # Cut: what the link ended with counts, and never as a sound end.
            return Finished(stdout=said, stderr=err.text, exit_code=exit_code or GAVE_UP)
        return Finished(stdout=said, stderr=err.text, exit_code=marked_code)

    async def start(self, arguments: tuple[str, ...]) -> tuple[Running, Reader]:
        """Start nvidia-smi as a loop; return it and what it says. Raises OSError."""
        if self.is_stuck:
            raise OSError("an earlier call still hangs")
        mark = new_mark()
        child = await self._start((self.program, *arguments), mark, has_stderr=False)
        assert child.stdout is not None
        if not self.is_elsewhere:
            return child, child.stdout
        return child, AfterMark(child.stdout, f"\n{mark}\n".encode())

    @property
    def is_elsewhere(self) -> bool:
        """Tell whether a link and a shell stand between, so that answers are marked."""
        return self._carry is not None

    async def _start(self, what: tuple[str, ...] | str, mark: str, *, has_stderr: bool) -> Running:
        script = what if isinstance(what, str) else marked_script(what, mark)
        if self._carry is not None:
            argv = self._carry(script)
        else:
            argv = ("sh", "-c", what) if isinstance(what, str) else what
        return await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE if has_stderr else asyncio.subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
        )

    @property
    def is_stuck(self) -> bool:
        """Tell whether a child that was given up still exists."""
        self._abandoned = [child for child in self._abandoned if child.returncode is None]
        return bool(self._abandoned)

    async def end(self, child: Running) -> None:
        """End a child by its pid: SIGTERM, then SIGKILL; one that stays is abandoned.

        It is carried to its end even when the caller is cancelled.
        """
        if child.returncode is not None:
            # Its pipes are seen to close, else their transports outlive the loop.
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(drained(child), _GRACE_S)
            return
        task = asyncio.create_task(self._end(child))
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)
        await asyncio.shield(task)

    async def close(self) -> None:
        """Wait until all children were ended or abandoned: at most twice the grace."""
        await asyncio.gather(*self._endings, return_exceptions=True)

    async def _end(self, child: Running) -> None:
        for signal in (child.terminate, child.kill):
            with contextlib.suppress(ProcessLookupError):
                signal()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(drained(child), _GRACE_S)
            if child.returncode is not None:
                return
        self._abandoned.append(child)


async def drained(child: Running) -> None:
    """Wait for a child's end; its pipes are read, else they may never be seen to close."""
    for pipe in (child.stdout, child.stderr):
        with contextlib.suppress(ValueError, RuntimeError):
            while pipe is not None and await pipe.read(MAX_LINE_BYTES):
                pass
    await child.wait()


class _Bounded:
    """The first bytes of a stream; a child that says more is killed."""

    def __init__(self, stream: Reader, child: Running) -> None:
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
