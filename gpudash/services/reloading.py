"""Reads configuration and themes again when their files change, in a thread of its own.

A thread, because a folder of the user's may hang with its file server, and the screen must not.
A change counts when the files stood still for one look: an editor writes in two steps.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from gpudash.config.folders import SITE_FILE, user_file
from gpudash.config.load import Config, survey
from gpudash.config.themes import (
    ThemeFile,
    read_theme_file,
    theme_folder,
    theme_paths,
    user_theme_folder,
)
from gpudash.core.errors import GpudashError

log = logging.getLogger(__name__)

EACH_S = 1.0
Signature = tuple[tuple[str, int, int, int], ...]
"""Of each file that is there: path, inode, size, time of change in ns."""


class Loaded(NamedTuple):
    """What the files say now."""

    config: Config | None
    """None where something is wrong: the old values stay."""
    problems: tuple[str, ...] = ()
    """What that is, one sentence each."""
    themes: tuple[ThemeFile, ...] = ()
    """The later of one name wins."""
    faults: tuple[str, ...] = ()
    """What is wrong with themes that are left out."""


def load_now(env: Mapping[str, str], site_file: str = SITE_FILE, site_owner: int = 0) -> Loaded:
    """Read everything; nothing is raised for what files say."""
    config: Config | None = None
    try:
        config, wrong = survey(env, site_file=site_file, site_owner=site_owner)
        problems = tuple(one.sentence for one in wrong)
    except GpudashError as error:
        problems = (error.message,)
    themes, faults = [], []
    for path in theme_paths((user_theme_folder(env),)):
        theme, fault = read_theme_file(path)
        themes += [theme] if theme is not None else []
        faults += [fault] if fault else []
    return Loaded(None if problems else config, problems, tuple(themes), tuple(faults))


def signature(env: Mapping[str, str], site_file: str = SITE_FILE) -> Signature:
    """Return what tells that a file was written, came or went."""
    found = []
    shipped = Path(theme_folder())
    themes = theme_paths((user_theme_folder(env),))
    for path in (site_file, user_file(env), *themes):
        if Path(path).parent == shipped:
            continue
        try:
            status = Path(path).stat()
        except OSError:
            continue
        found.append((path, status.st_ino, status.st_size, status.st_mtime_ns))
    return tuple(found)


class Reloader:
    """Looks every second, and tells what the files say after a change."""

    def __init__(
        self,
        tell: Callable[[Loaded], None],
        look: Callable[[], Signature],
        load: Callable[[], Loaded],
    ) -> None:
        """`tell` is called in the thread."""
        self._tell = tell
        self._look = look
        self._load = load
        self._seen = look()
        self._told = self._seen
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reload", daemon=True)

    def start(self) -> None:
        """Begin to look."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more; a look that hangs in the kernel is left behind."""
        self._over.set()

    def step(self) -> None:
        """Look once."""
        before, self._seen = self._seen, self._look()
        if self._seen == before and self._seen != self._told:
            self._told = self._seen
            self._tell(self._load())

    def _run(self) -> None:
        while not self._over.wait(EACH_S):
            try:
                self.step()
            except Exception:
                # The screen goes on without it.
                log.exception("files are not looked at any more")
                return
