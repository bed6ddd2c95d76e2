"""One launch, as a machine without I/O: `step(state, event) -> (state, effects)`.

    checking ─► cleaning ─► proving ─► checking again ─► launching ─► following ─► serving
        │  (with --clean)  (with --zero,                                  │           │
        │                    --gpus)                                 done ◄── stopping ◄┘
        └── a check that fails: done, nothing was touched

`phases.TRANSITIONS` has every legal step; an event that a phase does not know raises IllegalEvent
and changes nothing. The command is started only after every gate that was asked for, in this
order, and nobody is cleaned where a check of before failed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpudash.core.errors import ExitCode
from gpudash.core.launch import happened as ev
from gpudash.core.launch.checks import failed, failed_words
from gpudash.core.launch.phases import TRANSITIONS, Phase


class IllegalEvent(Exception):
    """An event that the phase does not know: our bug."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What was asked for."""

    cleans: bool = False
    proves: bool = False
    """`--zero`, `--gpus`."""
    chooses: bool = False
    """`--gpus`: the GPUs are claimed after they were proven; a cleanup's own proof is no claim."""
    stays: bool = False
    """`--stay`, `--foreground`."""
    has_source: bool = False
    """A log, unit or container is named beside the command: its own end at 0 is no end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Where a launch is, and what is known."""

    aim: Aim
    phase: Phase = Phase.CHECKING
    cleaned: str = ""
    """What a cleanup came to, where somebody may have been signalled."""
    is_interrupted: bool = False
    pid: int | None = None
    log: str = ""
    is_ready: bool = False
    has_exited: bool = False
    command_code: int | None = None
    """Of the command; negative by that signal, None where it runs or nobody knows."""
    exit_code: ExitCode | None = None
    """None: the command's own counts."""
    says: str = ""
    """How it ended, in one sentence."""

    @property
    def is_over(self) -> bool:
        """Tell whether it has ended."""
        return self.phase is Phase.DONE

    @property
    def runs(self) -> bool:
        """Tell whether the command was started and is not known to have ended."""
        return self.pid is not None and not self.has_exited


Step = tuple[State, tuple[ev.Effect, ...]]
P = Phase
BY_SIGNAL = 128


def begin(aim: Aim) -> Step:
    """Return the first state and effect."""
    return State(aim=aim), (ev.Check(is_last=False),)


def step(state: State, event: ev.Event) -> Step:
    """Return the state after an event, and what is to be done. Raises IllegalEvent."""
    legal = TRANSITIONS.get((state.phase, type(event)))
    if legal is None:
        raise IllegalEvent(f"{type(event).__name__} while {state.phase.value}")
    new, effects = _react(state, event)
    if new.phase not in legal:
        raise IllegalEvent(f"{state.phase.value} to {new.phase.value} by {type(event).__name__}")
    return new, effects


def _react(state: State, event: ev.Event) -> Step:
    match event:
        case ev.Checked(results=results):
            if failed(results):
                touched = f"; before: {state.cleaned}" if state.cleaned else ""
                return _done(state, ExitCode.USAGE, f"{failed_words(results)}{touched}")
            return _after_checks(state)
        case ev.NotChecked(exit_code=code, says=says):
            return _done(state, code, says)
        case ev.Cleaned():
            return _cleaned(state, event)
        case ev.Held(exit_code=code, says=says):
            return _checking_again(state) if code is ExitCode.OK else _done(state, code, says)
        case ev.Started(pid=pid, log=log):
            effects: tuple[ev.Effect, ...] = (ev.Follow(),)
            effects += (ev.Ask(),) if state.is_interrupted else ()
            return replace(state, phase=P.FOLLOWING, pid=pid, log=log), effects
        case ev.NotStarted(exit_code=code, says=says):
            return _done(state, code, says)
        case ev.Exited(code=exit_code):
            return replace(state, has_exited=True, command_code=exit_code), ()
        case ev.BecameReady(says=says):
            return _ready(state, says)
        case ev.FollowEnded():
            return _ended(state, event)
        case ev.Interrupted():
            return _interrupted(state)
        case ev.StopChosen(is_forced=is_forced):
            return replace(state, phase=P.STOPPING), (ev.Stop(is_forced=is_forced),)
        case ev.StopEnded(says=says):
            return _done(state, ExitCode.INTERRUPTED, says)


# -- the gates ---------------------------------------------------------------------------------


def _after_checks(state: State) -> Step:
    if state.phase is P.CHECKING_AGAIN:
        return replace(state, phase=P.LAUNCHING), (ev.Launch(),)
    if state.aim.cleans:
        return replace(state, phase=P.CLEANING), (ev.Clean(),)
    return _proving(state)


def _proving(state: State) -> Step:
    if state.aim.proves or state.aim.chooses:
        return replace(state, phase=P.PROVING), (ev.Prove(),)
    return _checking_again(state)


def _checking_again(state: State) -> Step:
    return replace(state, phase=P.CHECKING_AGAIN), (ev.Check(is_last=True),)


def _cleaned(state: State, event: ev.Cleaned) -> Step:
    state = replace(state, cleaned=event.says if event.was_sent else "")
    if event.exit_code is not ExitCode.OK:
        return _done(state, event.exit_code, event.says)
    if state.is_interrupted:
        return _done(state, ExitCode.INTERRUPTED, f"interrupted; before: {event.says}")
    if event.is_proven and not state.aim.chooses:
        return _checking_again(state)
    return _proving(state)


# -- while it runs -----------------------------------------------------------------------------


def _ready(state: State, says: str) -> Step:
    state = replace(state, is_ready=True, says=says)
    if state.phase is P.STOPPING:
        return state, ()
    if state.aim.stays:
        return replace(state, phase=P.SERVING), ()
    return _done(state, ExitCode.OK, says)


def _ended(state: State, event: ev.FollowEnded) -> Step:
    if state.phase is P.STOPPING:
        return state, ()
    if event.end is ev.End.TIMED_OUT:
        return _done(state, ExitCode.TIMED_OUT, event.says)
    if event.end is ev.End.LOST:
        return _done(state, ExitCode.UNREACHABLE, event.says)
    if state.is_ready:
        # It was ready: what it ends with is its own affair.
        code = None if state.command_code is not None else ExitCode.UNKNOWN
        code = ExitCode.START_FAILED if code and event.end is ev.End.FAILED else code
        return _done(state, code, event.says)
    was_unseen = state.has_exited and state.command_code is None
    if event.end is ev.End.FAILED or state.command_code or was_unseen:
        return _done(state, ExitCode.START_FAILED, event.says)
    if state.has_exited and state.command_code == 0:
        return _done(state, ExitCode.USAGE, event.says)
    return _done(state, ExitCode.UNKNOWN, event.says)


def _interrupted(state: State) -> Step:
    if state.phase is P.STOPPING:
        return state, ()
    state = replace(state, is_interrupted=True)
    if state.phase is P.CLEANING:
        return state, (ev.CallOff(),)
    if state.phase is P.LAUNCHING:
        return state, ()
    if state.phase is P.SERVING:
        return _done(state, ExitCode.OK, state.says)
    return _done(state, ExitCode.INTERRUPTED, "interrupted")


def _done(state: State, code: ExitCode | None, says: str) -> Step:
    return replace(state, phase=P.DONE, exit_code=code, says=says), (ev.Finish(),)


def exit_code_of(state: State) -> int:
    """Return what gpudash ends with: its own word, or the command's."""
    if state.exit_code is not None:
        return int(state.exit_code)
    return shell_code(state.command_code or 0)


def shell_code(code: int) -> int:
    """Return an exit code as a shell gives it: 128 + N where signal N ended it."""
    return BY_SIGNAL - code if code < 0 else code
