"""At every phase of `TRANSITIONS`: the link cut, gpudash killed, and both at once.

Whatever is cut, each target is untouched or accounted for in the record, nobody else got a
signal, nothing is left running, and the lock is free. What was signalled is the observer's word.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpudash.core.cleanup.phases import TRANSITIONS, Phase
from tests.chaos.judging import judge
from tests.chaos.play import HOST, Play, playing
from tests.cleaning.scenes import clean
from tests.cleaning.terminal import Terminal
from tests.cli.running import is_running
from tests.isolation.room import in_a_room, play
from tests.isolation.stage import Stage

P = Phase
ORDER, SCAN, LEAVINGS, DROP = (
    ("in", text) for text in ('"do": "order"', '"do": "scan"', '"do": "leavings"', '"drop": true')
)
TAKEN, ASKED, FORCED, DONE = (
    ("out", text) for text in ('"t":"ack"', '"sig":"TERM"', '"sig":"KILL"', '"what":"done"')
)


@dataclass(frozen=True)
class Held:
    """How a cleanup is held in one phase."""

    phase: Phase
    steps: tuple[tuple[str, str], ...] = ()
    """What goes by on the host, the last one with what is held from there on."""
    then: str = "out"
    words: tuple[str, ...] = ()
    is_delivered: bool = True
    """The host has the order."""


HELD = {
    "scanning": Held(P.SCANNING, (SCAN,), is_delivered=False),
    "planned": Held(P.PLANNED, is_delivered=False),
    "undelivered": Held(P.CONFIRMED, (ORDER,), "in", is_delivered=False),
    "confirmed": Held(P.CONFIRMED, (ORDER, TAKEN)),
    "bound": Held(P.BOUND, (ORDER, ASKED)),
    "terminating": Held(P.TERMINATING, (ORDER, FORCED)),
    "killing": Held(P.KILLING, (ORDER, DONE)),
    "draining": Held(P.DRAINING, (ORDER, DONE), "samples"),
    "rescanning": Held(P.RESCANNING, (ORDER, DONE, SCAN)),
    "unreleased": Held(P.RESCANNING, (ORDER, DONE, DROP), "in"),
    "holding": Held(P.HOLDING, words=("--gpu", "0", "--hold", "5s")),
    "done": Held(P.DONE, (ORDER, DONE, LEAVINGS)),
}
CARRIED = ("confirmed", "bound", "terminating", "killing")
CASES = [
    *((name, cut) for name in HELD for cut in ("link", "gpudash", "link gpudash")),
    *((name, "link carrier") for name in CARRIED),
    ("terminating", "link carrier gpudash"),
]
"""With `carrier`: all that was started over the link, as logind ends the processes of a user."""
SHORT = ("--grace", "300ms", "--hold", "1s")


def test_every_phase_has_a_cut() -> None:
    phases = {phase for phase, _ in TRANSITIONS} | {
        one for legal in TRANSITIONS.values() for one in legal
    }
    assert phases == set(Phase)
    assert {HELD[name].phase for name, _ in CASES} == phases


@pytest.mark.parametrize(("name", "cut"), CASES)
def test_cut(name: str, cut: str, tmp_path: Path) -> None:
    play(__name__, "cut_scene", tmp_path, name, cut)


def cut_scene(stage: Stage, name: str, cut: str) -> None:
    held = HELD[name]
    with playing(stage, {"steps": held.steps, "then": held.then}) as played:
        terminal = played.begin(*SHORT, *held.words)
        bring_to(held, played, terminal)
        if "carrier" in cut:
            os.kill(played.carrier(), signal.SIGKILL)
        if "link" in cut:
            assert played.sshd.cut() > 0
        if "gpudash" in cut:
            terminal.process.send_signal(signal.SIGKILL)
        played.open_gate()
        code = terminal.code()
        played.until(played.is_unlocked)
        if "gpudash" not in cut:
            # It came back by itself: nothing that only the host can tell is missing.
            assert code >= 0, terminal.seen.decode()
            assert played.of_kind("end")
            assert all(one.is_fetched for one in played.unfinished())
        pick_up(played)
        played.until(lambda: not played.strays())
        judge(played)
        if "carrier" not in cut:
            alive = [pid for pid in played.targets if is_running(pid)]
            assert alive == ([] if held.is_delivered else played.targets)


def bring_to(held: Held, played: Play, terminal: Terminal) -> None:
    """Let a cleanup go as far as it is held."""
    if held.phase is not P.SCANNING:
        terminal.read_until(b"[y/N]")
    if held.phase not in (P.SCANNING, P.PLANNED):
        terminal.type(b"y\n")
    played.until(
        lambda: played.phase is held.phase and (not held.steps or played.is_held()),
    )
    assert terminal.process.poll() is None, terminal.seen.decode()


def pick_up(played: Play) -> None:
    """Ask for what is on no record yet, as a person would after a crash."""
    run = played.lines[0]["run"]
    if not played.unfinished():
        told = played.stage.gpudash("explain", run)
        assert (told.returncode, b"--resume" in told.stderr) == (0, False), told.stderr.decode()
        return
    done = clean(played.stage, HOST, "--resume", run)
    assert [one["run"] for one in done.host["picked_up"]] in ([], [run]), done.text
    assert not played.unfinished()


@in_a_room
def test_the_observer_misses_nothing(stage: Stage) -> None:
    with playing(stage, {"steps": (), "then": "out"}) as played:
        *_, ignoring = played.targets
        bystander, *_ = played.others
        os.kill(ignoring, signal.SIGTERM)
        os.kill(bystander, signal.SIGKILL)
        played.until(lambda: len(played.observed) == 2)
        assert sorted(played.observed, key=str) == [
            {"pid": bystander, "exit": "KILL"},
            {"pid": ignoring, "signal": "TERM", "by": os.getpid(), "record": []},
        ]
        with pytest.raises(AssertionError):
            judge(played)
