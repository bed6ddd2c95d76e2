"""What can happen to a launch (events), and what it wants done (effects)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudash.core.errors import ExitCode
from gpudash.core.launch.checks import Result

# -- events ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """All checks of this stage were answered."""

    results: tuple[Result, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NotChecked:
    """The host could not be asked, or its GPUs could not be read."""

    exit_code: ExitCode
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cleaned:
    """The cleanup has ended, however it did."""

    exit_code: ExitCode
    says: str
    was_sent: bool
    """Somebody may have been signalled."""
    is_proven: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """The proof, or the wait for GPUs, has ended."""

    exit_code: ExitCode
    """0: it is proven."""
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The command runs."""

    pid: int
    log: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NotStarted:
    """It was not started, or nobody knows whether it was."""

    exit_code: ExitCode
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """The command that was started has ended."""

    code: int | None
    """Negative: by that signal; None: nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BecameReady:
    """The start-up is ready."""

    says: str


class End(Enum):
    """Why a start-up is followed no further."""

    FAILED = "failed"
    OVER = "over"
    """The command or its log has ended; nothing says that it failed."""
    TIMED_OUT = "timed out"
    LOST = "lost"
    """The host can't be reached any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowEnded:
    """There is nothing more to follow."""

    end: End
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Interrupted:
    """Somebody wants an end; of a command that runs, they were asked and chose to leave it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopChosen:
    """Somebody wants the command that runs to end."""

    is_forced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StopEnded:
    """The order to end it has come to its end."""

    says: str


Event = (
    Checked
    | NotChecked
    | Cleaned
    | Held
    | Started
    | NotStarted
    | Exited
    | BecameReady
    | FollowEnded
    | Interrupted
    | StopChosen
    | StopEnded
)


# -- effects ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Look at the checks of a stage."""

    is_last: bool
    """Right before the launch, and who owns the port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Clean:
    """Plan, ask, clean."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOff:
    """Let a cleanup go no further; it says how it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prove:
    """Prove zero, or wait for GPUs and claim them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Start the command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """Follow what was started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Ask whether to detach, stop or kill."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """Order the command's family to end."""

    is_forced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """It is over."""


Effect = Check | Clean | CallOff | Prove | Launch | Follow | Ask | Stop | Finish
