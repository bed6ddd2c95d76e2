"""What to call a start-up, and what makes two of them comparable."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from gpudash.core.masking import masked_argv
from gpudash.core.startup.following import FollowSpec
from gpudash.core.startup.model import Startup

_SIZES = ("tp", "pp", "dp", "ep", "nnodes", "quant", "max_len", "context")
_LAUNCHERS = frozenset({"torchrun", "accelerate", "deepspeed", "mpirun", "srun", "uv", "poetry"})
_LONGEST = 400


def command_words(argv: Sequence[str]) -> str:
    """Return a command line as one line without secrets."""
    return shlex.join(masked_argv(argv))[:_LONGEST]


def name_of(spec: FollowSpec, argv: Sequence[str]) -> str:
    """Return what is started, short."""
    if spec.name:
        return spec.name
    if argv and (found := _program(argv)):
        return found
    return spec.source.value.rstrip("/").rpartition("/")[2] or spec.source.words


def _program(argv: Sequence[str]) -> str:
    """Return the module or script that a command line runs, else its program; "" for a launcher."""
    if "-m" in argv[:-1]:
        return argv[argv.index("-m") + 1].rpartition(".")[2]
    script = next((word for word in argv if word.endswith((".py", ".sh"))), argv[0])
    base = script.rpartition("/")[2]
    return "" if base.startswith("python") or base in _LAUNCHERS else base


def history_key(startup: Startup, *, host: str, command: str, gpu: str) -> str:
    """Return what makes start-ups comparable: engine, version, model, sizes, GPU and host.

    Where the log names no model, the command stands for it; empty where neither is known.
    """
    what = startup.model or command
    if not what:
        return ""
    sizes = [f"{name}={startup.numbers[name]}" for name in _SIZES if name in startup.numbers]
    engine = startup.engine or "generic"
    return "|".join((engine, startup.version, what, *sizes, gpu, host))
