"""When alerts are told aloud: several at once are one toast, and after it comes a rest."""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.alerts import Told
from gpudash.core.names import clean_text

REST_S = 5.0
"""After a toast, the viewer's clock: what comes meanwhile is told together, afterwards."""
MOST_LINES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Toasts:
    """What waits to be told."""

    waiting: tuple[Told, ...] = ()
    shown_s: float | None = None
    """When the newest toast came."""


def gathered(
    toasts: Toasts, news: tuple[Told, ...], at_s: float
) -> tuple[Toasts, tuple[Told, ...]]:
    """Return what waits after one more look, and what one toast is to tell now.

    Only what is raised is told aloud: that it is over stands in the event log.
    """
    waiting = (*toasts.waiting, *(told for told in news if told.is_raised))
    is_resting = toasts.shown_s is not None and at_s - toasts.shown_s < REST_S
    if not waiting or is_resting:
        return Toasts(waiting=waiting, shown_s=toasts.shown_s), ()
    return Toasts(shown_s=at_s), waiting


def toast_text(told: tuple[Told, ...], key: str, *, has_hosts: bool, most: int = MOST_LINES) -> str:
    """Return the text of a toast: a line for each alert, and how many more there are.

    `key` lists them all. On the smallest screens `most` is 0 for several: only that is said.
    """
    shown = [_line(one, has_hosts=has_hosts) for one in told[:most]]
    count = len(told) - len(shown)
    if count:
        shown.append(f"and {count} more: {key} lists them" if shown else f"{key} lists them")
    return "\n".join(shown)


def _line(told: Told, *, has_hosts: bool) -> str:
    words = clean_text(told.happening.words, 160)
    return f"{clean_text(told.happening.host, 40)}  {words}" if has_hosts else words


def notification(told: tuple[Told, ...], *, is_in_tmux: bool) -> str:
    """Return the OSC 9 that lets a terminal notify the desktop, wrapped where tmux is between.

    The sequence is iTerm2's (https://iterm2.com/documentation-escape-codes.html); the wrapping is
    tmux's passthrough (tmux(1), allow-passthrough): each escape in it is doubled.
    """
    first = _line(told[0], has_hosts=True)
    more = f", and {len(told) - 1} more" if told[1:] else ""
    # A text of digits and semicolons would be a progress bar (ConEmu); the name goes before it.
    sequence = f"\x1b]9;gpudash: {first}{more}\x07"
    if not is_in_tmux:
        return sequence
    return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
