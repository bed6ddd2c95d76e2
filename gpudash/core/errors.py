"""Exit codes and errors that a person sees.

    GpudashError
    ├── UsageError          2  a flag, a name or a file is wrong; nothing was started
    │   └── ConfigError     2  a configuration file or variable is wrong
    ├── UnreachableError    3  a host could not be reached or logged in to
    └── ReadingError        4  a reading is missing or can't be trusted

A third-party exception is translated once, where its library is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """What a headless command returns (design §6)."""

    OK = 0
    HELD = 1
    USAGE = 2
    UNREACHABLE = 3
    UNKNOWN = 4
    TIMED_OUT = 5
    STUCK = 6
    START_FAILED = 7
    INTERRUPTED = 130


_WORST_FIRST = (
    ExitCode.UNREACHABLE,
    ExitCode.UNKNOWN,
    ExitCode.STUCK,
    ExitCode.HELD,
    ExitCode.OK,
)


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the worst of the verdict codes: 3, 4, 6, 1, 0; nothing at all is UNKNOWN.

    Raises ValueError for a code that is no verdict (2, 5, 7, 130).
    """
    return min(codes, key=_WORST_FIRST.index, default=ExitCode.UNKNOWN)


class GpudashError(Exception):
    """An error with one plain sentence, a hint that says what to do, and an exit code."""

    exit_code = ExitCode.UNKNOWN

    def __init__(self, message: str, *, hint: str = "", exit_code: ExitCode | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        if exit_code is not None:
            self.exit_code = exit_code


class UsageError(GpudashError):
    """A flag, a name or a file is wrong; nothing was started."""

    exit_code = ExitCode.USAGE


class ConfigError(UsageError):
    """A configuration file or variable is wrong; the message begins with the file and line."""


class UnreachableError(GpudashError):
    """A host could not be reached or logged in to."""

    exit_code = ExitCode.UNREACHABLE


class ReadingError(GpudashError):
    """A reading is missing or can't be trusted."""

    exit_code = ExitCode.UNKNOWN
