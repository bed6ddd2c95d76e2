"""How the dashboard ends when its terminal does not take part: nothing keeps the driver open."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from gpudash.ui.leaving import PATIENCE_S
from tests.benchmarks.processes import all_stats, tree_of
from tests.benchmarks.stage import gpudash_argv
from tests.benchmarks.terminal import Terminal
from tests.fake_driver import FakeDriver
from tests.ui.test_terminal import Tmux, env_of, needs_tmux, wait_for, written

SLACK_S = 7.0
"""Two tests may share a core."""
THEMES = "t" * 320


def family_with_sampler(pid: int) -> set[int]:
    wait_for(lambda: len(tree_of(pid, all_stats())) > 1)
    return set(tree_of(pid, all_stats()))


def stalled(terminal: Terminal) -> None:
    """Let the terminal read no more, and output pile up until nothing is taken any more."""
    wait_for(lambda: b"\x1b[?1004h" in written(terminal))
    time.sleep(0.5)
    terminal.stop_reading()
    terminal.press(THEMES)
    time.sleep(3.0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_though_the_terminal_reads_no_more(
    tmp_path: Path, fake_driver: FakeDriver, number: signal.Signals
) -> None:
    with Terminal(gpudash_argv(), env_of(tmp_path, fake_driver), width=80, height=24) as terminal:
        family = family_with_sampler(terminal.pid)
        stalled(terminal)
        os.kill(terminal.pid, number)
        wait_for(lambda: terminal.has_ended, PATIENCE_S + SLACK_S)
        wait_for(lambda: not family & all_stats().keys(), SLACK_S)
    assert terminal.exit_code == 128 + number


def test_it_ends_when_the_terminal_is_gone_with_output_waiting(
    tmp_path: Path, fake_driver: FakeDriver
) -> None:
    with Terminal(gpudash_argv(), env_of(tmp_path, fake_driver), width=80, height=24) as terminal:
        family = family_with_sampler(terminal.pid)
        stalled(terminal)
        terminal.hang_up()
        wait_for(lambda: terminal.has_ended, PATIENCE_S + SLACK_S)
        wait_for(lambda: not family & all_stats().keys(), SLACK_S)


@needs_tmux
def test_it_ends_with_the_tmux_server(
    tmp_path: Path, fake_driver: FakeDriver, request: pytest.FixtureRequest
) -> None:
    pane = Tmux(tmp_path, env_of(tmp_path, fake_driver), *gpudash_argv())
    request.addfinalizer(lambda: pane.run("kill-server"))
    pane.shows("GPUs at 0 MiB")
    shell = int(pane.run("display-message", "-p", "#{pane_pid}"))
    family = family_with_sampler(shell)
    for _ in range(8):
        pane.run("send-keys", *("t" * 40))
    pane.run("kill-server")
    wait_for(lambda: not family & all_stats().keys(), PATIENCE_S + SLACK_S)


def test_it_ends_when_only_the_terminal_tells(tmp_path: Path, fake_driver: FakeDriver) -> None:
    """In a session of its own it gets no SIGHUP."""
    argv = ["setsid", "--wait", *gpudash_argv()]
    with Terminal(argv, env_of(tmp_path, fake_driver), width=80, height=24) as terminal:
        wait_for(lambda: b"\x1b[?1004h" in written(terminal))
        family = family_with_sampler(terminal.pid)
        terminal.stop_reading()
        time.sleep(1.5)
        terminal.hang_up()
        wait_for(lambda: terminal.has_ended, PATIENCE_S + SLACK_S)
        wait_for(lambda: not family & all_stats().keys(), PATIENCE_S + SLACK_S)
