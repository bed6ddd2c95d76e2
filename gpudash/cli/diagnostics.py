"""The only writer of stderr: narration, one plain sentence for an error, and what to do."""

from __future__ import annotations

import os
import sys

from gpudash.core.errors import GpudashError


def say(text: str) -> None:
    """Write one line of narration; where nobody listens, data and exit code still count.

    What steers a terminal is left out: sentences may quote what others wrote.
    """
    if sys.stderr is None:
        return
    # Not loaded by a command that has nothing to say.
    from gpudash.core.names import printable_lines

    try:
        print(printable_lines(text), file=sys.stderr, flush=True)
    except OSError:
        return


class Progress:
    """One line that is written again and again on a terminal; elsewhere nothing of it is seen."""

    def __init__(self) -> None:
        self._is_shown = False

    def show(self, text: str) -> None:
        """Replace the line."""
        if not _is_terminal():
            return
        from gpudash.core.names import printable

        width = _columns()
        self._write(f"\r\x1b[K{printable(text)[: width - 1]}")
        self._is_shown = True

    def say(self, text: str) -> None:
        """Write a line of narration above it."""
        self.clear()
        say(f"gpudash: {text}")

    def clear(self) -> None:
        """Take the line away."""
        if self._is_shown:
            self._write("\r\x1b[K")
            self._is_shown = False

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            return


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns or 80
    except OSError:
        return 80


def report(error: GpudashError) -> int:
    """Write an error and its hint; return its exit code."""
    say(f"gpudash: {error.message}")
    if error.hint:
        say(f"         {error.hint}")
    return int(error.exit_code)
