"""Keeps what the user wants to show to others, in files of its own that are never overwritten."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from pathlib import Path

MOST_NAMES = 1000


def file_time(at: datetime) -> str:
    """Return a time as part of a file's name: `20261130-120623`."""
    return at.strftime("%Y%m%d-%H%M%S")


async def keep(folder: Path, suffix: str, text: str, at: datetime | None = None) -> Path:
    """Write a text to a new file there and return its path. Raises OSError.

    In a thread of its own: a home may hang with its file server.
    """
    stem = f"gpudash-{file_time(at or datetime.now(UTC).astimezone())}"
    return await asyncio.to_thread(_write, folder, stem, suffix, text)


def _write(folder: Path, stem: str, suffix: str, text: str) -> Path:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    for number in range(1, MOST_NAMES):
        name = f"{stem}{suffix}" if number == 1 else f"{stem}-{number}{suffix}"
        path = folder / name
        try:
            # Command lines may be in it: the user's own eyes only.
            descriptor = os.open(path, flags, 0o600)
        except FileExistsError:
            continue
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        return path
    raise FileExistsError(f"{folder} has no free name left for {stem}{suffix}")
