"""One scene: its actors, what runs of gpudash said, and what became of everybody."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.cleaning.scenes import Cleaned
from tests.cleanup.acting import Play, exit_word, start, tell, told
from tests.cli.running import PATIENCE_S, command, environment, is_running
from tests.fake_driver import FakeDriver
from tests.isolation.stage import DEVICE_MAP, Stage, as_user

MORE_GPUS = "1:7=0,1:5=1,1:8=2,1:9=3"
QUICK = ("--grace", "1s", "--hold", "400ms")
CGROUPS = "cgroup2"


class Running:
    """A `gpudash clean` that runs beside the scene."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process

    def end(self) -> Cleaned:
        """Wait for its end and read its report."""
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return _report(self.process, out, err)


def _report(process: subprocess.Popen[bytes], out: bytes, err: bytes) -> Cleaned:
    text = (out + err).decode("utf-8", "replace")
    assert b"Traceback" not in err, text
    assert out, text
    return Cleaned(process.returncode, json.loads(out), text)


class OnTerminal:
    """A `gpudash clean` at whose terminal a test sits."""

    def __init__(self, process: subprocess.Popen[bytes], near: int) -> None:
        self.process = process
        self._near = near
        self._shown = b""

    def read_until(self, words: str) -> None:
        """Read what it shows until it says this."""
        deadline = time.monotonic() + PATIENCE_S
        while words.encode() not in self._shown:
            assert time.monotonic() < deadline, self._shown
            self._show(0.1)

    def answer(self, line: str) -> Cleaned:
        """Type a line at each question, again where it came too early; return its report."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self._shown
            os.write(self._near, line.encode())
            self._show(0.7)
        out, _ = self.process.communicate()
        return _report(self.process, out, self._shown)

    def _show(self, seconds: float) -> None:
        """Read what comes within some time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0 and self.process.poll() is None:
            if select.select([self._near], [], [], min(left, 0.1))[0]:
                try:
                    self._shown += os.read(self._near, 65536)
                except OSError:
                    return


class Scene:
    """What a test plays with; made from the stage of its room."""

    def __init__(self, stage: Stage, gpus: int = 2) -> None:
        self.stage = stage
        self.folder = stage.folder
        self.device_map = DEVICE_MAP if gpus == 2 else MORE_GPUS
        if gpus != 2:
            stage.write(FakeDriver.h200(gpus, stage.driver.folder))
        self._started: set[int] = set()
        self._bin = self.folder / "bin"
        self._bin.mkdir()
        self._groups: Path | None = None
        tell(self.folder, os.getpid(), "begins")

    # -- who plays -----------------------------------------------------------------------------

    def actor(
        self, play: Play, role: str = "", *, session: bool = False, group: bool = False
    ) -> int:
        """Start a process below the scene, up when this returns; return its pid."""
        pid = start(
            self.stage.driver,
            self.folder,
            play,
            role,
            session=session,
            group=group,
            closes_all=True,
        )
        self._started.add(pid)
        return pid

    def orphan(self, play: Play, role: str, *, session: bool = False) -> int:
        """Start a process whose starter is dead; return its pid."""

        def starter(actor: object) -> None:
            actor.fork(play, role, session=session)  # type: ignore[attr-defined]

        self.reap(self.actor(starter, group=True))
        return self.pid(role)

    def holder(self, *gpus: int, **options: object) -> int:
        """Start a plain program that holds memory."""

        def play(actor: object) -> None:
            actor.hold(*gpus, **options)  # type: ignore[attr-defined]
            actor.rest()  # type: ignore[attr-defined]

        return self.actor(play, group=True)

    def bystander(self) -> int:
        """Start a Python that has nothing to do with any GPU."""
        return self.actor(lambda actor: actor.rest(), group=True)

    def born_as(self, pid: int, play: Play) -> int:
        """Start a process under a pid that was another's before."""
        last = Path("/proc/sys/kernel/ns_last_pid")
        for _ in range(100):
            last.write_text(str(pid - 1))
            if (found := self.actor(play, group=True)) == pid:
                return found
            os.kill(found, signal.SIGKILL)
            self.reap(found)
        raise AssertionError(f"pid {pid} was never given again")

    def reap(self, *pids: int) -> None:
        """Wait for processes of the scene and tell how they ended."""
        for pid in pids:
            _, status = os.waitpid(pid, 0)
            self._started.discard(pid)
            tell(self.folder, pid, exit_word(status))

    def look(self) -> None:
        """Tell of processes of the scene that have ended."""
        for pid in tuple(self._started):
            gone, status = os.waitpid(pid, os.WNOHANG)
            if gone:
                self._started.discard(pid)
                tell(self.folder, pid, exit_word(status))

    # -- what happened -------------------------------------------------------------------------

    def events(self) -> list[tuple[int, str]]:
        """Return what the processes themselves told, the oldest first."""
        self.look()
        return told(self.folder)

    def of(self, pid: int) -> list[str]:
        """Return what one process told of itself, its end included."""
        return [word for one, word in self.events() if one == pid and not word.startswith("is ")]

    def pids(self, role: str) -> list[int]:
        """Return all that play a role, in the order of their birth."""
        return [pid for pid, word in told(self.folder) if word == f"is {role}"]

    def pid(self, role: str) -> int:
        """Return the newest that plays a role."""
        return self.pids(role)[-1]

    def heard(self, pid: int, word: str) -> bool:
        """Tell whether a process told of something."""
        return word in self.of(pid)

    def until(self, is_so: Callable[[], bool]) -> None:
        """Look until something is so."""
        deadline = time.monotonic() + PATIENCE_S
        while not is_so():
            assert time.monotonic() < deadline, f"it never came to be so: {self.events()}"
            time.sleep(0.01)

    def lives(self, *pids: int) -> bool:
        """Tell whether all of them run, and none was signalled."""
        return all(is_running(pid) and not self.of(pid) for pid in pids)

    def died(self, *pids: int) -> bool:
        """Tell whether all of them are gone."""
        return not any(is_running(pid) for pid in pids)

    # -- gpudash -------------------------------------------------------------------------------

    def clean(self, *words: str, uid: int | None = None) -> Cleaned:
        """Run `gpudash clean --yes` to its end."""
        return self.begin("--yes", *QUICK, *words, uid=uid).end()

    def plan(self, *words: str, uid: int | None = None) -> Cleaned:
        """Run `gpudash clean --dry-run`: nobody is signalled."""
        return self.begin("--dry-run", *words, uid=uid).end()

    def refused(self, *words: str) -> int:
        """Run a `gpudash clean` that is refused; return its exit code."""
        running = self.begin(*words)
        out, _ = running.process.communicate(timeout=PATIENCE_S)
        assert not out, out.decode()
        return running.process.returncode

    def begin(self, *words: str, uid: int | None = None) -> Running:
        """Start `gpudash clean --format json` with other words."""
        return Running(self._start(words, uid, subprocess.DEVNULL, subprocess.PIPE))

    @contextmanager
    def terminal(self, *words: str) -> Iterator[OnTerminal]:
        """Run `gpudash clean --format json` where somebody may be asked."""
        near, far = os.openpty()
        try:
            process = self._start(words, None, far, far)
            os.close(far)
            yield OnTerminal(process, near)
            assert process.poll() is not None, "it still runs"
        finally:
            os.close(near)

    def _start(
        self, words: tuple[str, ...], uid: int | None, stdin: int, stderr: int
    ) -> subprocess.Popen[bytes]:
        home = self.folder / f"home-{uid or 0}"
        home.mkdir(exist_ok=True)
        env = environment(self.stage.driver, home, GPUDASH_DEVICE_MAP=self.device_map)
        env |= {**self.stage.variables, "PATH": str(self._bin)}
        if uid is not None:
            os.chown(home, uid, uid)
        return subprocess.Popen(
            [*as_user(uid), *command("clean", "--format", "json", *words)],
            env=env,
            cwd=home,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=stderr,
        )

    # -- managers, played by recording scripts and real control groups ---------------------------

    def command(self, name: str, script: str = "") -> None:
        """Put a stand-in for a manager's program on PATH: it records its words, then acts.

        The script is one of /bin/sh, without any other program to be found.
        """
        log = self.folder / f"ran-{name}"
        path = self._bin / name
        path.write_text(f'#!/bin/sh\necho "$*" >> {log}\n{script}\n')
        path.chmod(0o755)

    def ran(self, name: str) -> list[str]:
        """Return the words of each run of a stand-in."""
        try:
            return (self.folder / f"ran-{name}").read_text().splitlines()
        except FileNotFoundError:
            return []

    def cgroup(self, path: str) -> Path:
        """Make a real control group whose path ends so; whoever goes in is shown there.

        The hierarchy is the machine's: each scene has a place of its own in it, which is removed at
        its end, however it ends.
        """
        if self._groups is None:
            mounted = self.folder / CGROUPS
            mounted.mkdir()
            mount = shutil.which("mount")
            assert mount, "mount is needed"
            subprocess.run([mount, "-t", "cgroup2", "none", str(mounted)], check=True)
            self.stage.at_end(self._close)
            self._groups = mounted / f"gpudash-test-{os.getpid()}-{time.monotonic_ns()}"
        group = self._groups / path.lstrip("/")
        group.mkdir(parents=True)
        return group

    def _close(self) -> None:
        """Remove the control groups; their processes, all but this one, are ended first."""
        if self._groups is None or not self._groups.exists():
            return
        enter(self._groups.parent)
        (self._groups / "cgroup.kill").write_text("1")
        self.until(self._is_empty)
        for folder, _, _ in os.walk(self._groups, topdown=False):
            os.rmdir(folder)
        self._groups = None

    def _is_empty(self) -> bool:
        self.look()
        assert self._groups is not None
        return "populated 0" in (self._groups / "cgroup.events").read_text()


def enter(group: Path) -> None:
    """Move this process into a control group."""
    (group / "cgroup.procs").write_text(str(os.getpid()))
