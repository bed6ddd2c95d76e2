"""Makes a test run in a room of its own, and brings back how it went."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import gpudash
from tests.fake_driver import library_folder

ROOT = Path(__file__).parents[2]
PATIENCE_S = 120
_START = "import sys; sys.path.append({root!r}); from tests.isolation.inside import main; main()"

Scene = Callable[..., None]


def in_a_room(scene: Scene) -> Scene:
    """Turn a scene, a function of a `Stage`, into a test that plays it in a room of its own."""

    def test(tmp_path: Path) -> None:
        play(scene.__module__, scene.__name__, tmp_path)

    test.__name__ = scene.__name__
    test.__qualname__ = scene.__qualname__
    test.__module__ = scene.__module__
    test.__doc__ = scene.__doc__
    test.scene = scene  # type: ignore[attr-defined]
    return test


def play(module: str, name: str, folder: Path, *words: str) -> None:
    """Run one scene, with words of its own; raise AssertionError with its last words on failure."""
    library_folder()
    start = _START.format(root=str(ROOT))
    command = [
        *room_command(),
        sys.executable,
        "-P",
        "-c",
        start,
        module,
        name,
        str(folder),
        *words,
    ]
    env = {**os.environ, "PYTHONPATH": str(Path(gpudash.__file__).parents[1])}
    # When the first process of a room ends, the kernel ends all others.
    done = subprocess.run(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=PATIENCE_S,
    )
    said = done.stdout.decode("utf-8", "replace")
    told = " ".join((name, *words))
    assert done.returncode == 0, f"{told} failed in its room ({done.returncode}):\n{said}"


def room_command() -> list[str]:
    """Return what starts a program as the first process of a new room."""
    unshare = shutil.which("unshare")
    assert unshare, "unshare (package util-linux) is needed"
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    room = ("--pid", "--net", "--ipc", "--mount", "--fork", "--kill-child", "--mount-proc")
    return [unshare, *user, *room, "--"]
