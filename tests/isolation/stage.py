"""What a scene plays with: a fake driver, holders with stand-in devices, and the product."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.cli.running import PATIENCE_S, command, environment
from tests.fake_driver import FakeDriver, Holder

FULL, ZERO = "/dev/full", "/dev/zero"
"""Stand-ins for GPU 0 and GPU 1."""
DEVICE_MAP = "1:7=0,1:5=1"
GIB = 1 << 30
OTHER_UID = 12345
"""A user without a name or anything of its own."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What one `gpudash check --format json` said."""

    code: int
    document: dict[str, Any]
    text: str
    """Everything that was printed."""

    @property
    def host(self) -> dict[str, Any]:
        (host,) = self.document["hosts"]
        assert isinstance(host, dict)
        return host

    @property
    def holders(self) -> list[dict[str, Any]]:
        holders = self.host["holders"]
        assert isinstance(holders, list)
        return holders

    def holder(self, pid: int | None) -> dict[str, Any]:
        """Return the one row about a pid."""
        (row,) = (row for row in self.holders if row["pid"] == pid)
        return row

    def verdict_of(self, gpu: int) -> str:
        verdict = self.host["gpus"][gpu]["verdict"]
        assert isinstance(verdict, str)
        return verdict


class Stage:
    """The things of one scene; what it started ends with it."""

    def __init__(self, folder: Path, gpus: int = 2) -> None:
        self.folder = folder
        self.driver = FakeDriver.h200(gpus, folder / "driver").write()
        self.variables: dict[str, str] = {}
        """Of every gpudash that is started here."""
        self._stack = ExitStack()

    def __enter__(self) -> Stage:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def holder(self, *gpus: int, **options: Any) -> Holder:
        """Start a process that holds 1 GiB on each GPU and has its stand-in open."""
        standins = tuple((FULL, ZERO)[gpu] for gpu in gpus)
        settings: dict[str, Any] = {"devices": standins, **options}
        return self._stack.enter_context(Holder(self.driver, gpus, **settings))

    def start(self, argv: list[str], **options: Any) -> tuple[int, str]:
        """Start a program that ends with its input; return its pid and its first line."""
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=self.driver.env(), **options
        )
        self._stack.callback(_end, process)
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        assert line, f"{argv} did not start"
        return process.pid, line

    def at_end(self, work: Callable[[], object]) -> None:
        """Do something when the scene is over, however it ends."""
        self._stack.callback(work)

    def write(self, driver: FakeDriver) -> None:
        """Let the driver say something else from now on."""
        self.driver = driver.write()

    def node(self, major: int, minor: int) -> str:
        """Make a device node that no other path leads to, and return its path."""
        path = self.folder / f"node-{major}-{minor}"
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(major, minor))
        return str(path)

    def mount_proc(self, options: str) -> None:
        """Mount the room's /proc once more, with these options."""
        mount = shutil.which("mount")
        assert mount, "mount is needed"
        subprocess.run([mount, "-t", "proc", "-o", options, "proc", "/proc"], check=True)

    def mount_shm(self) -> Path:
        """Give the room a /dev/shm of its own, and return it."""
        mount = shutil.which("mount")
        assert mount, "mount is needed"
        subprocess.run([mount, "-t", "tmpfs", "none", "/dev/shm"], check=True)
        return Path("/dev/shm")

    def check(
        self, *words: str, uid: int | None = None, device_map: str | None = DEVICE_MAP
    ) -> Checked:
        """Run `gpudash check`, as another user on request, and read what it says."""
        done = self.gpudash("check", "--format", "json", *words, uid=uid, device_map=device_map)
        text = done.stdout.decode() + done.stderr.decode()
        assert done.stdout, text
        return Checked(done.returncode, json.loads(done.stdout), text)

    def gpudash(
        self, *words: str, uid: int | None = None, device_map: str | None = DEVICE_MAP
    ) -> subprocess.CompletedProcess[bytes]:
        """Run gpudash to its end."""
        home, env = self.surroundings(uid, device_map)
        done = subprocess.run(
            [*as_user(uid), *command(*words)],
            env=env,
            cwd=home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_S,
        )
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return done

    def begin_gpudash(self, *words: str) -> subprocess.Popen[bytes]:
        """Start gpudash and go on while it runs."""
        home, env = self.surroundings()
        process = subprocess.Popen(
            command(*words),
            env=env,
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._stack.callback(_end, process)
        return process

    def surroundings(
        self, uid: int | None = None, device_map: str | None = DEVICE_MAP
    ) -> tuple[Path, dict[str, str]]:
        """Return home and environment of a gpudash that is started here."""
        home = self.folder / f"home-{uid or 0}"
        home.mkdir(exist_ok=True)
        if uid is not None:
            os.chown(home, uid, uid)
        changes = {} if device_map is None else {"GPUDASH_DEVICE_MAP": device_map}
        return home, environment(self.driver, home, **{**changes, **self.variables})


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def as_user(uid: int | None) -> list[str]:
    """Return what runs a program as a user who may read the files of this test, and no more.

    The test's own folders, and the Python that runs it, may lie where only root may look.
    """
    if uid is None:
        return []
    setpriv = shutil.which("setpriv")
    assert setpriv, "setpriv (package util-linux) is needed"
    ids = (f"--reuid={uid}", f"--regid={uid}", "--clear-groups")
    reading = "+dac_read_search"
    caps = (f"--inh-caps=-all,{reading}", f"--ambient-caps=-all,{reading}")
    return [setpriv, *ids, *caps, f"--bounding-set=-all,{reading}", "--"]
