"""Start a holder (holder.py), end it, and leave no process behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fake_driver import FakeDriver

SCRIPT = Path(__file__).with_name("holder.py")
_PR_SET_CHILD_SUBREAPER = 36


def holder_options(
    driver: FakeDriver,
    gpus: tuple[int, ...] = (0,),
    used: int = 1024 * 1024 * 1024,
    *,
    kind: str = "C",
    title: str | None = None,
    ignore_term: bool = False,
    inherit: bool = False,
    devices: tuple[str, ...] = (),
    maps: tuple[str, ...] = (),
    retitle: str | None = None,
    zombie_leader: bool = False,
    uid: int | None = None,
    sysv: int | None = None,
) -> list[str]:
    """Return the words for holder.py."""
    options = [f"--gpu={gpu}" for gpu in gpus]
    options += [f"--bytes={used}", f"--kind={kind}", f"--folder={driver.folder}"]
    options += [f"--title={title}"] if title else []
    options += ["--ignore-term"] if ignore_term else []
    options += ["--inherit"] if inherit else []
    options += [f"--device={path}" for path in devices]
    options += [f"--map={path}" for path in maps]
    options += [f"--retitle={retitle}"] if retitle else []
    options += ["--zombie-leader"] if zombie_leader else []
    options += [f"--uid={uid}"] if uid is not None else []
    options += [f"--sysv={sysv}"] if sysv is not None else []
    return options


class Holder:
    """A running process that holds `used` bytes on each of `gpus`; a context manager.

    `pid` is the holder. With `inherit`, `child_pid` is a fork of it that has the same handle open;
    while such a pair runs, this process adopts orphans, so that the child can be waited for.
    """

    def __init__(
        self,
        driver: FakeDriver,
        gpus: tuple[int, ...] = (0,),
        used: int = 1024 * 1024 * 1024,
        *,
        kind: str = "C",
        title: str | None = None,
        ignore_term: bool = False,
        inherit: bool = False,
        new_session: bool = False,
        devices: tuple[str, ...] = (),
        maps: tuple[str, ...] = (),
        retitle: str | None = None,
        zombie_leader: bool = False,
        uid: int | None = None,
    ) -> None:
        options = holder_options(
            driver,
            gpus,
            used,
            kind=kind,
            title=title,
            ignore_term=ignore_term,
            inherit=inherit,
            devices=devices,
            maps=maps,
            retitle=retitle,
            zombie_leader=zombie_leader,
            uid=uid,
        )
        if inherit:
            _adopt_orphans_for(self)
        self.process = subprocess.Popen(
            [sys.executable, "-ISB", str(SCRIPT), *options],
            env=driver.env(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=new_session,
        )
        self.pid = self.process.pid
        self.child_pid: int | None = None
        self._read_ready()

    def _read_ready(self) -> None:
        assert self.process.stdout is not None
        words = self.process.stdout.readline().split()
        if words[:1] != [b"ready"]:
            self.close()
            raise RuntimeError("the holder did not start")
        self.child_pid = int(words[2]) if len(words) > 2 else None

    def kill(self) -> None:
        """Kill the holder, not its child, and wait for it."""
        self.process.kill()
        self.process.wait()

    def end_child(self) -> None:
        """Kill the child that inherited the handle; the holder must be dead."""
        if self.child_pid is None:
            return
        assert self.process.poll() is not None, "the holder still runs"
        with contextlib.suppress(ChildProcessError):
            os.kill(self.child_pid, signal.SIGKILL)
            os.waitpid(self.child_pid, 0)
        self.child_pid = None

    def close(self) -> None:
        """End whatever still runs."""
        self.kill()
        self.end_child()
        _stop_adopting_for(self)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def __enter__(self) -> Holder:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


_adopting: set[int] = set()


def _adopt_orphans_for(holder: Holder) -> None:
    _adopting.add(id(holder))
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _stop_adopting_for(holder: Holder) -> None:
    _adopting.discard(id(holder))
    if not _adopting:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
