"""Argument parsing that names the nearest valid word and never prints a traceback."""

from __future__ import annotations

import argparse
import os
import sys

from gpudash.core.errors import UsageError
from gpudash.core.nearest import nearest
from gpudash.core.units import parse_duration

TYPE_CHECKING = False  # as in sources/oneshot.py
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn


HOST_HELP = "[user@]name[:port], 'node[01-32]', @group, 'ssh …', local; default: this machine"


class _Formatter(argparse.HelpFormatter):
    """Takes the terminal's width from `os`: argparse's own way is shutil, a third of its import.

    argparse makes one for each argument that is added, help or not.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - 2)


def _columns() -> int:
    told = os.environ.get("COLUMNS", "")
    if told.isascii() and told.isdigit() and int(told) > 0:
        return int(told)
    try:
        return os.get_terminal_size(1).columns or 80
    except OSError:
        return 80


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are UsageErrors."""

    def __init__(self, **settings: object) -> None:
        settings.setdefault("formatter_class", _Formatter)
        super().__init__(allow_abbrev=False, **settings)  # type: ignore[arg-type]

    def error(self, message: str) -> NoReturn:
        """Raise UsageError instead of printing and leaving."""
        flag, _, problem = message.removeprefix("argument ").partition(": ")
        if problem == "expected one argument":
            message = f"{flag} needs a value, which begins with no dash"
        raise UsageError(message, hint=f"See: {self.prog} --help")

    def parse_words(self, words: list[str]) -> argparse.Namespace:
        """Parse all words. Raises UsageError naming the nearest flag for an unknown one."""
        found, rest = self.parse_known_args(words)
        if not rest:
            return found
        unknown = rest[0]
        flags = [flag for action in self._actions for flag in action.option_strings]
        guess = nearest(unknown.split("=", 1)[0], flags, limit=3)
        if unknown.startswith("-"):
            hint = f"Did you mean {guess}?" if guess else f"See: {self.prog} --help"
            raise UsageError(f"unknown flag {unknown}", hint=hint)
        raise UsageError(f"unexpected word {unknown}", hint=f"See: {self.prog} --help")


def choose(value: str, known: Iterable[str], what: str) -> str:
    """Return a value that is known. Raises UsageError naming the nearest valid one."""
    words = tuple(known)
    if value in words:
        return value
    guess = nearest(value, words, limit=3)
    hint = f"Did you mean {guess}?" if guess else f"Known: {', '.join(words)}"
    raise UsageError(f"unknown {what} {value}", hint=hint)


def interval(text: str, flag: str = "--interval") -> float:
    """Read an interval. Raises UsageError outside 100 ms to 1 h."""
    seconds = parse_duration(text, flag=flag)
    if not 0.1 <= seconds <= 3600:
        raise UsageError(f"{flag} {text}: must be between 100ms and 1h")
    return seconds


def hold(text: str) -> float:
    """Read a hold. Raises UsageError outside 250 ms to 1 h."""
    seconds = parse_duration(text, flag="--hold")
    if not 0.25 <= seconds <= 3600:
        raise UsageError(f"--hold {text}: must be between 250ms and 1h")
    return seconds


def has_terminal() -> bool:
    """Tell whether there is a terminal to draw on."""
    # A stream that was closed before the start is None.
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return all(stream is not None and stream.isatty() for stream in streams)


def require_terminal(hint: str = "For scripts: gpudash check, or gpudash stream") -> None:
    """Raise UsageError where there is no terminal to draw on."""
    if not has_terminal():
        raise UsageError("the dashboard needs a terminal", hint=hint)
