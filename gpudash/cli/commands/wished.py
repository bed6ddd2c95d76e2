"""What `wait` and `run` have in common: CMD behind `--`, and which GPUs it is to get."""

from __future__ import annotations

import argparse

from gpudash.cli import arguments
from gpudash.cli.ways import LOCAL
from gpudash.core.choosing import Wish
from gpudash.core.errors import UsageError
from gpudash.core.units import parse_size
from gpudash.core.ways import Way


def split_command(words: list[str], example: str) -> tuple[list[str], tuple[str, ...] | None]:
    """Return our own words and what follows `--`. Raises UsageError for a command that is empty."""
    if "--" not in words:
        return words, None
    at = words.index("--")
    command = tuple(words[at + 1 :])
    if not command:
        raise UsageError("no command follows --", hint=f"Example: {example}")
    if not command[0]:
        raise UsageError("the command after -- is an empty word", hint="Is a variable unset?")
    return words[:at], command


def add_wish(parser: arguments.Parser) -> None:
    """Add the flags that choose GPUs."""
    parser.add_argument("--zero", action="store_true", help="all GPUs in scope at 0 bytes")
    parser.add_argument(
        "--gpus", type=int, metavar="N", help="N GPUs of this machine, claimed for CMD's life"
    )
    parser.add_argument("--free", metavar="SIZE", help="so much free on each is enough: 40GiB")
    parser.add_argument("--gpu", action="append", metavar="0-3|UUID|BUS-ID,…", help="only these")
    parser.add_argument("--strict", action="store_true", help="an accepted baseline counts as held")
    parser.add_argument(
        "--as",
        dest="named_as",
        default="index",
        metavar="HOW",
        help="how CUDA_VISIBLE_DEVICES names GPUs: index (default) or uuid",
    )


def wish_of(plan: argparse.Namespace, parser: arguments.Parser) -> Wish | None:
    """Return how many GPUs are wanted; None: all in scope. Raises UsageError."""
    if plan.zero and plan.gpus is not None:
        raise UsageError("--zero and --gpus exclude each other", hint="One of: --zero, --gpus N")
    if plan.free is not None and plan.gpus is None:
        parser.error("--free belongs to --gpus")
    if plan.gpus is not None and plan.gpus < 1:
        parser.error(f"--gpus {plan.gpus}: must be at least 1")
    plan.named_as = arguments.choose(plan.named_as, ("index", "uuid"), "way to name GPUs")
    if plan.gpus is None:
        return None
    free = None if plan.free is None else parse_size(plan.free, flag="--free")
    return Wish(count=plan.gpus, free_bytes=free)


def require_here(wish: Wish | None, ways: tuple[Way, ...], command: str) -> None:
    """Raise UsageError for GPUs that are to be claimed on another machine."""
    if wish is not None and any(not way.is_local or way.name != LOCAL for way in ways):
        raise UsageError(
            "--gpus chooses and claims GPUs of this machine alone, for a command that runs here",
            hint=f"There: ssh HOST gpudash {command} --gpus N -- CMD",
        )
