"""Baselines on disk: idle readings that the user accepted, in one JSON file of the state folder.

Nothing writes it but `gpudash baseline`. A file that is damaged is an error and no empty one, and
the site's file may say that only 0 bytes passes. Nearly everybody has no such file, and for them
nothing is imported and no configuration is read: `check` is measured.
"""

from __future__ import annotations

import json
import os
import sys
import time

from gpudash.config.folders import is_ours, state_folder
from gpudash.core.baselines import NO_BASELINES, Baseline, Baselines
from gpudash.core.errors import ConfigError

TYPE_CHECKING = False  # as in sources/oneshot.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SCHEMA = "gpudash.baselines/1"
LOCK_S = 5.0
MAX_BYTES = 4 << 20


def baselines_file() -> str:
    """Return the path of the file; it need not exist."""
    return os.path.join(state_folder(), "baselines.json")


def load_baselines(path: str | None = None, *, is_strict: bool = False) -> Baselines:
    """Return what was accepted, as far as the configuration lets it count. Raises ConfigError."""
    entries = read_entries(path or baselines_file())
    if not entries or not _may_count():
        return Baselines(is_strict=is_strict) if is_strict else NO_BASELINES
    return Baselines(entries=entries, is_strict=is_strict)


def _may_count() -> bool:
    from gpudash.config.load import load

    return bool(load(os.environ).top("baselines").value)


def read_entries(path: str) -> tuple[Baseline, ...]:
    """Return all entries of a file; none where there is no file. Raises ConfigError."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise _damaged(path, error.strerror or str(error)) from error
    try:
        document = json.loads(data) if len(data) <= MAX_BYTES else None
        if not isinstance(document, dict) or document.get("schema") != SCHEMA:
            raise ValueError(f"no {SCHEMA}")
        return tuple(_entry(item) for item in document["baselines"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(path, str(error)) from error


def _entry(item: dict[str, object]) -> Baseline:
    texts = [item[name] for name in ("uuid", "driver", "accepted_at", "host")]
    used = item["used_bytes"]
    if not all(isinstance(text, str) and text.isprintable() for text in texts):
        raise ValueError("a text is none")
    if type(used) is not int or used <= 0:
        raise ValueError("used_bytes is no amount")
    uuid, driver, accepted_at, host = (str(text) for text in texts)
    return Baseline(uuid=uuid, driver=driver, used_bytes=used, accepted_at=accepted_at, host=host)


def _damaged(path: str, why: str) -> ConfigError:
    return ConfigError(
        f"{path} can't be read as accepted baselines: {why}",
        hint="What it says may matter, so nothing was started without it. Remove it to begin anew.",
    )


def change(
    path: str, step: Callable[[tuple[Baseline, ...]], tuple[Baseline, ...]]
) -> tuple[Baseline, ...]:
    """Replace the entries by what `step` makes of them, in one step that no other can come into.

    Returns the entries as written. Raises ConfigError.
    """
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not is_ours(folder):
            raise ConfigError(f"{folder} is another user's, or a link: nothing was accepted")
        lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | _NO_FOLLOW, 0o600)
        try:
            _lock(lock, path)
            entries = step(read_entries(path))
            _write(path, entries)
        finally:
            os.close(lock)
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}") from error
    return entries


_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def _lock(fd: int, path: str) -> None:
    """Hold the lock until the descriptor closes. Raises ConfigError after some seconds."""
    deadline = time.monotonic() + LOCK_S
    for is_held in _attempts(fd):
        if is_held:
            return
        if time.monotonic() > deadline:
            raise ConfigError(f"{path} is being written by another gpudash", hint="Try again.")
        time.sleep(0.02)


def _attempts(fd: int) -> Iterator[bool]:
    if sys.platform == "win32":
        import msvcrt

        while True:
            try:
                msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
                yield True
            except OSError:
                yield False
    else:
        import fcntl

        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield True
            except BlockingIOError:
                yield False


def _write(path: str, entries: tuple[Baseline, ...]) -> None:
    """Write beside it, then put it in its place: a crash leaves the old file or the new one."""
    document = {"schema": SCHEMA, "baselines": [_document(entry) for entry in entries]}
    text = json.dumps(document, indent=1) + "\n"
    beside = f"{path}.{os.getpid()}"
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_FOLLOW, 0o600)
    with os.fdopen(fd, "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def _document(entry: Baseline) -> dict[str, object]:
    return {
        "uuid": entry.uuid,
        "driver": entry.driver,
        "used_bytes": entry.used_bytes,
        "accepted_at": entry.accepted_at,
        "host": entry.host,
    }
