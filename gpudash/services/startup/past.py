"""Earlier start-ups, in one file of the state folder: locked while it changes, replaced at once."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from gpudash.config.folders import is_ours, state_folder
from gpudash.core.startup.history import PastRun, from_document, to_document

log = logging.getLogger(__name__)

MOST_RUNS = 400
MOST_BYTES = 8 << 20


class Past:
    """The stored start-ups."""

    def __init__(self, path: Path | None = None) -> None:
        """Read nothing yet; `path` is for tests."""
        self.path = path or Path(state_folder()) / "startups.jsonl"

    def load(self) -> tuple[PastRun, ...]:
        """Return all that is stored, oldest first; a line that is none is left out and logged."""
        try:
            fd = os.open(self.path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
            with os.fdopen(fd, "rb") as file:
                data = file.read(MOST_BYTES)
        except FileNotFoundError:
            return ()
        except OSError as error:
            log.warning("%s: %s", self.path, error.strerror)
            return ()
        runs = []
        for line in data.splitlines():
            try:
                runs.append(from_document(json.loads(line)))
            except (ValueError, AttributeError) as error:
                log.warning("%s: a line is no start-up: %s", self.path, error)
        return tuple(runs)

    def add(self, run: PastRun) -> None:
        """Store one more; the oldest go. Raises OSError."""
        folder = self.path.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not is_ours(str(folder)):
            raise PermissionError(f"{folder}: the folder is another user's, or a link")
        with self._locked():
            runs = (*self.load(), run)[-MOST_RUNS:]
            lines = [json.dumps(to_document(one)).encode() + b"\n" for one in runs]
            while len(lines) > 1 and sum(map(len, lines)) > MOST_BYTES:
                del lines[0]
            temporary = self.path.with_suffix(f".{os.getpid()}.new")
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                with os.fdopen(fd, "wb") as file:
                    file.write(b"".join(lines))
                    file.flush()
                    os.fsync(fd)
                temporary.replace(self.path)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one gpudash change it at a time; a file system without locks is as good."""
        fd = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if sys.platform != "win32":
                import fcntl

                with contextlib.suppress(OSError):
                    fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)
