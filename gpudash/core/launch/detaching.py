"""Commands that return while what they started goes on: their log is somewhere else.

Such a command's exit code 0 is no end of a start-up. Which source to name beside it is data.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from gpudash.core.launch.engines import without_env


@dataclass(frozen=True, slots=True, kw_only=True)
class Starter:
    """A program that starts something and returns."""

    program: str
    words: tuple[str, ...] = ()
    """All of these must be among its words, one of the alternatives `a|b` each."""
    names: str = ""
    """What names its log."""


_LOG = "--log FILE"
STARTERS = (
    Starter(program="docker", words=("up|run|start|restart",), names="--container NAME"),
    Starter(program="docker-compose", words=("up|start|restart",), names="--container NAME"),
    Starter(program="podman", words=("up|run|start|restart",), names="--container NAME"),
    Starter(program="podman-compose", words=("up|start|restart",), names="--container NAME"),
    Starter(program="nerdctl", words=("up|run|start",), names="--container NAME"),
    Starter(program="systemctl", words=("start|restart|reload-or-restart",), names="--unit NAME"),
    Starter(program="service", words=("start|restart",), names="--unit NAME"),
    Starter(program="systemd-run", names="--unit NAME"),
    Starter(program="supervisorctl", words=("start|restart",), names=_LOG),
    Starter(program="sbatch", names="--log FILE, the job's own output"),
    Starter(program="kubectl", words=("apply|create|rollout|run|scale",), names=_LOG),
    Starter(program="tmux", words=("new|new-session|send-keys|neww|new-window",), names=_LOG),
    Starter(program="screen", names=_LOG),
    Starter(program="nohup", names=_LOG),
    Starter(program="at", names=_LOG),
)
ANY = "--container NAME, --unit NAME or --log FILE"


def starter_of(argv: tuple[str, ...]) -> Starter | None:
    """Return the starter that a command is; None for any other."""
    words = [word for word in without_env(argv)[1] if word]
    while words and posixpath.basename(words[0]) in ("sudo", "nice", "ionice", "time"):
        words.pop(0)
        while words and words[0].startswith("-"):
            words.pop(0)
    if not words:
        return None
    program, rest = posixpath.basename(words[0]), set(words[1:])
    for starter in STARTERS:
        if program == starter.program and all(
            rest & set(alternatives.split("|")) for alternatives in starter.words
        ):
            return starter
    return None


def returned_words(argv: tuple[str, ...]) -> str:
    """Return what is said of a command that ended with 0 before READY."""
    starter = starter_of(argv)
    if starter is None:
        return (
            "the command ended with 0 before anything was ready; where what it started writes "
            f"its log elsewhere, name it: {ANY}"
        )
    return (
        f"{starter.program} returned, and what it started goes on without being followed: "
        f"name its log with {starter.names}"
    )
