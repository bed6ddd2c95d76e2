"""Following on this machine through a real hand: endless bars, garbage, files that go away."""

from __future__ import annotations

import asyncio
import os
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gpudash.config.markers import load_catalog
from gpudash.core.startup.following import FollowSpec, LogSource
from gpudash.core.startup.model import Outcome
from gpudash.services.clock import SystemClock
from gpudash.services.startup.following import Following
from gpudash.sources.base import SourceError
from gpudash.sources.local import LocalSource

PATIENCE_S = 60.0
START = b"[2026-01-14 03:22:08] server_args=ServerArgs(model_path='m', port=30000)\n"
READY = b"[2026-01-14 03:24:08] The server is fired up and ready to roll!\n"


def following(path: Path, *, stays: bool = False) -> Following:
    spec = FollowSpec(host="local", source=LogSource(kind="path", value=str(path)), stays=stays)
    return Following(LocalSource(), spec, clock=SystemClock(), catalog=load_catalog())


async def until(is_so: Callable[[], bool], task: asyncio.Task[object]) -> None:
    """Look until something is so."""
    async with asyncio.timeout(PATIENCE_S):
        while not is_so():
            assert not task.done(), task.result()
            await asyncio.sleep(0.02)


def play(path: Path, test: Callable[[Following, asyncio.Task[object]], Awaitable[None]]) -> None:
    async def run() -> None:
        one = following(path)
        task: asyncio.Task[object] = asyncio.create_task(one.run())
        try:
            await test(one, task)
        finally:
            await one.close()
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())


def add(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


@pytest.mark.parametrize("part", [b"Loading: 40%|####      | 40/100 [00:40<01:00, 1it/s]\r", b"."])
def test_eight_megabytes_of_one_bar(tmp_path: Path, part: bytes) -> None:
    path = tmp_path / "srv.log"
    path.write_bytes(START)

    async def test(one: Following, task: asyncio.Task[object]) -> None:
        await until(lambda: one.followed.startup.line >= 1, task)
        chunk = part * (100_000 // len(part))

        async def pour(times: int) -> None:
            for _ in range(times):
                add(path, chunk)
                await asyncio.sleep(0)
            size = path.stat().st_size
            await until(lambda: one._case.place.offset == size, task)

        await pour(75)
        tracemalloc.start()
        try:
            await pour(5)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert peak < 2 << 20
        assert path.stat().st_size > 7_900_000
        add(path, b"\n" + READY)
        await until(lambda: one.followed.startup.outcome is Outcome.READY or task.done(), task)

    play(path, test)


def test_garbage(tmp_path: Path) -> None:
    path = tmp_path / "srv.log"
    path.write_bytes(START + os.urandom(200_000) + bytes(100_000) + b"\n" + READY)

    async def run() -> None:
        done = await following(path).run()
        assert done.startup.outcome is Outcome.READY

    asyncio.run(run())


def test_a_deleted_log_is_read_on_and_its_heir_too(tmp_path: Path) -> None:
    path = tmp_path / "srv.log"
    with path.open("ab", buffering=0) as old:
        old.write(START)

        async def test(one: Following, task: asyncio.Task[object]) -> None:
            await until(lambda: one.followed.startup.line >= 1, task)
            path.unlink()
            old.write(b"line 2\n")
            await until(lambda: one.followed.startup.line >= 2, task)
            path.write_bytes(b"line 3\n")
            await until(lambda: one.followed.startup.line >= 3, task)

        play(path, test)


def test_a_sparse_log(tmp_path: Path) -> None:
    path = tmp_path / "srv.log"
    with path.open("wb") as file:
        file.write(START)
        file.seek(3 << 30)
        file.write(b"\n" + READY)

    async def run() -> None:
        done = await following(path).run()
        assert done.startup.outcome in (Outcome.READY, Outcome.STARTING)

    asyncio.run(run())


def test_a_log_that_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "later.log"

    async def test(one: Following, task: asyncio.Task[object]) -> None:
        await until(lambda: one._was_heard, task)
        path.write_bytes(START + READY)
        await asyncio.wait((task,), timeout=PATIENCE_S)
        assert one.followed.startup.outcome is Outcome.READY

    play(path, test)


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_no_log(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x"
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    with pytest.raises(SourceError, match=f"is a {kind}"):
        asyncio.run(following(path).run())
