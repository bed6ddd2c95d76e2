"""The only writer of stderr: narration, one plain sentence for an error, and what to do."""

from __future__ import annotations

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


def report(error: GpudashError) -> int:
    """Write an error and its hint; return its exit code."""
    say(f"gpudash: {error.message}")
    if error.hint:
        say(f"         {error.hint}")
    return int(error.exit_code)
