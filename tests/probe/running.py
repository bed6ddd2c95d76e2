"""Run a probe program as it is shipped, against the fake driver, and read what it says."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from gpudash.core.events import Event
from gpudash.core.wire import LineDecoder, encode_command
from gpudash.sources import cutting, shipping
from gpudash.sources.oneshot import new_token
from gpudash.sources.process import Child
from tests.fake_driver import FakeDriver

PATIENCE_S = 30.0
Line = dict[str, Any]


def ours(names: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(name, shipping.source_of(name)) for name in names]


def whole_binding() -> str:
    return Path(shipping.binding_path()).read_text()


def sampler_with(binding: str) -> bytes:
    """Return the sampler's document with this text as pynvml."""
    modules = [("pynvml", binding), *ours(shipping.SAMPLER_MODULES)]
    return shipping._document(modules, shipping.SAMPLER_MODULES[-1])


def whole_sampler() -> bytes:
    return sampler_with(whole_binding())


def cut_sampler() -> bytes:
    return sampler_with(cutting.cut_binding(whole_binding(), shipping.BINDING_FUNCTIONS))


class Program:
    """A running probe program; a context manager that leaves nothing behind."""

    def __init__(
        self,
        document: bytes,
        env: dict[str, str],
        *,
        python: str = sys.executable,
        through: tuple[str, ...] = (),
        **options: object,
    ) -> None:
        self.token = new_token()
        self.child = Child([*through, python, "-ISBc", shipping.COMMAND], env)
        told = json.dumps({"token": self.token, **options}).encode()
        self.child.write(shipping.with_options(document, told))
        self._decoder = LineDecoder(self.token)
        self._rest = b""
        self.raw = b""
        self.lines: list[Line] = []
        self.events: list[Event] = []
        self.has_ended = False
        self._taken = 0

    def send(self, command_id: int, do: str, **arguments: object) -> None:
        self.child.write(encode_command(command_id, do, **arguments))

    def until(self, is_done: Callable[[Line], bool], patience_s: float = PATIENCE_S) -> Line:
        """Return the first line from here on for which `is_done` is true."""
        deadline = time.monotonic() + patience_s
        while True:
            while self._taken < len(self.lines):
                line = self.lines[self._taken]
                self._taken += 1
                if is_done(line):
                    return line
            self._more(deadline)

    def of(self, kind: str, **members: object) -> Line:
        """Return the next line of a type, with these members."""
        return self.until(
            lambda line: line["t"] == kind and all(line.get(k) == v for k, v in members.items())
        )

    def to_end(self, patience_s: float = PATIENCE_S) -> list[Line]:
        """Read until it closes its output; return all that it said."""
        deadline = time.monotonic() + patience_s
        while not self.has_ended:
            self._more(deadline, is_end_fine=True)
        return self.lines

    def _more(self, deadline: float, *, is_end_fine: bool = False) -> None:
        if self.has_ended and not is_end_fine:
            raise AssertionError(f"it ended: {self.lines} {self.child.errors()}")
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            raise AssertionError(f"nothing came: {self.lines} {self.child.errors()}")
        self.child.drain_errors()
        if not self.child.wait_readable(min(left_s, 0.2)):
            return
        data = self.child.read()
        if data == b"":
            self.has_ended = True
            return
        self._take(data or b"")

    def _take(self, data: bytes) -> None:
        self.raw += data
        self.events += self._decoder.feed(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line != self.token.encode():
                self.lines.append(json.loads(line))

    def status(self) -> int:
        """Wait for its end by itself and return its exit status."""
        return reaped(self.child)

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.child.reap() is None:
            os.kill(self.child.pid, signal.SIGKILL)
        self.child.end()


def reaped(child: Child, patience_s: float = PATIENCE_S) -> int:
    """Wait until a child ended by itself, and return its exit status."""
    deadline = time.monotonic() + patience_s
    while (status := child.reap()) is None:
        assert time.monotonic() < deadline, "it did not end"
        child.drain_errors()
        if child.stdout not in child._open or (child.wait_readable(0.02) and child.read() == b""):
            select.select([], [], [], 0.005)
    return status


def said(driver: FakeDriver, document: bytes, **options: object) -> list[Line]:
    """Return the lines of a one-shot, without what differs between two runs."""
    with Program(document, driver.env(), once=True, **options) as program:
        lines = program.to_end()
        assert program.child.errors() == ""
    return [
        {key: value for key, value in line.items() if key not in ("mono", "pidns")}
        for line in lines
    ]
