"""The dashboard in a real terminal: tmux for what is on the screen, a pty for how it ends."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.benchmarks.processes import all_stats, tree_of
from tests.benchmarks.screen import Screen
from tests.benchmarks.stage import base_env, gpudash_argv
from tests.benchmarks.terminal import Terminal
from tests.fake_driver import FOREVER, FakeDriver

PATIENCE_S = 30.0
needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux here")


def wait_for(what: Callable[[], bool], patience_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + patience_s
    while not what():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


class Tmux:
    """A server with a socket and a session of its own."""

    def __init__(self, folder: Path, env: dict[str, str], *argv: str) -> None:
        self._command = ["tmux", "-S", str(folder / "socket"), "-f", "/dev/null"]
        self._env = {key: value for key, value in env.items() if key != "TMUX"}
        self.code = folder / "code"
        words = " ".join(f"'{word}'" for word in argv)
        after = f"echo $? > {self.code}; stty -a | grep -ow echo; sleep 60"
        line = f"TERM=screen-256color {words}; {after}"
        self.run("new-session", "-d", "-x", "80", "-y", "24", line)

    def run(self, *words: str) -> str:
        done = subprocess.run(
            [*self._command, *words], env=self._env, capture_output=True, text=True, check=False
        )
        return done.stdout

    def screen(self) -> str:
        return self.run("capture-pane", "-p")

    def shows(self, *texts: str) -> None:
        try:
            wait_for(lambda: all(text in self.screen() for text in texts))
        except AssertionError:
            first = self.screen()
            time.sleep(1.5)
            size = self.run("display-message", "-p", "#{pane_width}x#{pane_height}")
            raise AssertionError(
                f"{texts} never stood here ({size.strip()}):\n{first}\nand then:\n{self.screen()}"
            ) from None

    def ends_with(self, code: int) -> None:
        wait_for(lambda: self.code.exists() and bool(self.code.read_text()))
        assert self.code.read_text().strip() == str(code)


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Callable[..., Tmux]]:
    opened: list[Tmux] = []

    def open_one(env: dict[str, str], *words: str) -> Tmux:
        opened.append(Tmux(tmp_path, env, *gpudash_argv(*words)))
        return opened[-1]

    yield open_one
    for one in opened:
        one.run("kill-server")


def env_of(folder: Path, driver: FakeDriver | None = None) -> dict[str, str]:
    env = base_env(folder)
    for name in ("NO_COLOR", "LC_ALL", "LC_CTYPE"):
        env.pop(name, None)
    env["LANG"] = "C.UTF-8"
    # As a readline in some parent leaves them: they must not freeze the size.
    env |= {"COLUMNS": "80", "LINES": "24"}
    return driver.env(env) if driver else env


@needs_tmux
def test_the_demo_from_key_to_key(tmux: Callable[..., Tmux], tmp_path: Path) -> None:
    pane = tmux(env_of(tmp_path), "demo", "busy")
    pane.shows("IN USE")
    assert "SIMULATED" in pane.screen()
    pane.run("send-keys", "?")
    pane.shows("Move to the GPU above.")
    pane.run("send-keys", "Escape")
    # Together they would be alt+e.
    wait_for(lambda: "Move to" not in pane.screen())
    pane.run("send-keys", "e")
    pane.shows("no open problem")
    pane.run("send-keys", "y")
    pane.shows("copied to tmux")
    made_up = "SIMULATED: every host here is made up"
    assert pane.run("show-buffer").startswith(f"{made_up}\n\nopen problems\n")
    pane.run("send-keys", "e")
    wait_for(lambda: "no open problem" not in pane.screen())
    pane.run("resize-window", "-x", "40", "-y", "10")
    wait_for(lambda: "every 1.0 s" not in pane.screen())
    pane.shows("IN USE", "SIMULATED")
    pane.run("send-keys", "q")
    pane.ends_with(0)
    pane.shows("echo\n")


@needs_tmux
def test_this_machine(tmux: Callable[..., Tmux], tmp_path: Path, fake_driver: FakeDriver) -> None:
    pane = tmux(env_of(tmp_path, fake_driver))
    pane.shows("local")
    pane.shows("GPUs at 0 MiB")
    assert "SIMULATED" not in pane.screen()
    # Perhaps Textual is not there yet: the key waits for it.
    pane.run("send-keys", "q")
    pane.ends_with(0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("is_early", [True, False])
def test_a_signal_gives_the_terminal_back(
    tmp_path: Path, fake_driver: FakeDriver, number: signal.Signals, is_early: bool
) -> None:
    with Terminal(gpudash_argv(), env_of(tmp_path, fake_driver), width=80, height=24) as terminal:
        # Textual asks for focus events as soon as it has the screen.
        awaited = b"\x1b[?1049h" if is_early else b"\x1b[?1004h"
        wait_for(lambda: awaited in written(terminal))
        family = tree_of(terminal.pid, all_stats())
        os.kill(terminal.pid, number)
        wait_for(lambda: terminal.has_ended)
        wait_for(lambda: not family & all_stats().keys())
    assert terminal.exit_code == 128 + number
    assert b"\x1b[?1049l" in written(terminal)
    assert b"\x1b[?25h" in written(terminal)
    assert b"Traceback" not in written(terminal)


def written(terminal: Terminal) -> bytes:
    return b"".join(data for _, data in list(terminal.recording.chunks))


def test_it_leaves_at_once_though_the_driver_hangs(tmp_path: Path, fake_driver: FakeDriver) -> None:
    driver = fake_driver.with_delay(3, "PowerUsage", FOREVER).write()
    with Terminal(gpudash_argv(), env_of(tmp_path, driver), width=80, height=24) as terminal:
        wait_for(lambda: b"\x1b[?1004h" in written(terminal))
        family = tree_of(terminal.pid, all_stats())
        terminal.press("q")
        wait_for(lambda: terminal.has_ended)
        wait_for(lambda: not family & all_stats().keys())
    assert terminal.exit_code == 0


def test_the_frame_is_never_cleared_on_the_way_to_textual(
    tmp_path: Path, fake_driver: FakeDriver
) -> None:
    with Terminal(gpudash_argv(), env_of(tmp_path, fake_driver), width=80, height=24) as terminal:
        wait_for(lambda: b"quit" in written(terminal).partition(b"\x1b[?1004h")[2])
    assert written(terminal).count(b"\x1b[?1049h") == 1
    seen = False
    screen = Screen(80, 24)
    for _, data in terminal.recording.chunks:
        screen.feed(data)
        is_whole = "q quit" in screen.text()
        assert is_whole or not seen or b"\x1b[?1049l" in data
        seen = seen or is_whole


def test_the_log_goes_to_the_state_folder_or_nowhere(
    tmp_path: Path, fake_driver: FakeDriver
) -> None:
    env = env_of(tmp_path, fake_driver)
    barrier = tmp_path / "barrier"
    barrier.write_text("")
    code = (
        "import sys, logging; from gpudash.cli.logs import log_to_folder; log_to_folder();"
        "logging.getLogger('gpudash').warning('a word'); print('still here')"
    )
    for folder in (env["XDG_STATE_HOME"], str(barrier)):
        done = subprocess.run(
            [sys.executable, "-c", code],
            env={**env, "XDG_STATE_HOME": folder},
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout, done.stderr) == ("still here\n", "")
    assert "a word" in (Path(env["XDG_STATE_HOME"]) / "gpudash" / "gpudash.log").read_text()
