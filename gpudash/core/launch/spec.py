"""What is to be started, and how: as asked for, and as the hand is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gpudash.core.errors import UsageError
from gpudash.core.launch.checks import Check, Kind
from gpudash.core.launch.engines import without_env
from gpudash.core.masking import masked_argv
from gpudash.core.model import ProcessInfo
from gpudash.core.names import clean_text, process_label
from gpudash.core.scope import Scope, parse_scope

VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """One command to be started on a host."""

    argv: tuple[str, ...]
    cwd: str | None = None
    """None: where the hand is, the user's home over SSH."""
    env: Mapping[str, str] = field(default_factory=dict)
    log: str | None = None
    """None: a new file in its folder."""
    venv: str | None = None
    has_login: bool = False
    """With the environment of a login shell."""
    terminal: tuple[int, int] | None = None
    """Rows and columns of a terminal for its output, which ends with gpudash; None: only a file."""

    @property
    def name(self) -> str:
        """Return what it is called, short: `sglang`, `train.py`."""
        words = without_env(self.argv)[1] or self.argv
        return clean_text(_name_of(words), 60) or "command"

    @property
    def masked(self) -> str:
        """Return the command line without secrets."""
        return " ".join(masked_argv(self.argv))

    @property
    def check(self) -> Check:
        """Return whether it could be started at all: a typo must not be found after a cleanup."""
        return Check(name="command", kind=Kind.LAUNCHABLE, arguments={"of": self.arguments({})})

    def arguments(self, env: Mapping[str, str]) -> dict[str, object]:
        """Return what the hand is told, with more variables for the command."""
        return {
            "argv": list(self.argv),
            "cwd": self.cwd,
            "env": {**env, **self.env},
            "log": self.log,
            "venv": self.venv,
            "login": self.has_login,
            "name": self.name,
            "pty": None if self.terminal is None else list(self.terminal),
        }


def _name_of(words: tuple[str, ...]) -> str:
    info = ProcessInfo(
        pid=0, start_ticks=0, uid=0, user="", comm="", argv=words, state="R", age_s=0.0
    )
    label = process_label(info)
    return label.name if label.name != "?" else words[0]


def parse_env(words: list[str]) -> dict[str, str]:
    """Read `--env K=V …`. Raises UsageError."""
    found: dict[str, str] = {}
    for word in words:
        name, has_value, value = word.partition("=")
        if not has_value or not name.isidentifier():
            raise UsageError(f"--env {word}: not K=V", hint="Example: --env HF_HOME=/data/hf")
        found[name] = value
    return found


def visible_scope(spec: Spec, ours: str | None) -> tuple[Scope | None, str]:
    """Return the GPUs that CUDA_VISIBLE_DEVICES leaves to a command, and where that was said.

    The command line itself, then `--env`, then `ours`: gpudash's own environment, for a command
    that runs on this machine. Raises UsageError for one that names no GPU.
    """
    said = without_env(spec.argv)[0].get(VISIBLE)
    where = "the command"
    if said is None:
        said, where = spec.env.get(VISIBLE), "--env"
    if said is None:
        said, where = ours, "the environment"
    if said is None:
        return None, ""
    names = [word.strip() for word in said.split(",")]
    if not all(names) or names[0].startswith("-"):
        raise UsageError(
            f"{VISIBLE}={said} in {where} leaves the command no GPU",
            hint="To choose GPUs: --gpu 0-3, or unset it",
        )
    # CUDA takes no more from the first word on that is no device.
    kept = names[: next((at for at, name in enumerate(names) if name == "-1"), len(names))]
    try:
        return parse_scope(",".join(kept)), f"{VISIBLE} in {where}"
    except UsageError as error:
        raise UsageError(f"{VISIBLE}={said} in {where}: {error.message}") from error
