"""Copies text for the user, and says where it went."""

from __future__ import annotations

import os

from textual.screen import Screen

from gpudash.core.units import plural
from gpudash.services.clipboard import give_to_tmux, is_in_tmux


async def copy(screen: Screen[None], text: str) -> None:
    """Copy a text by tmux, or by the terminal, and say so in a toast."""
    if is_in_tmux(os.environ) and await give_to_tmux(text):
        where = "tmux's buffer, which passes it on to the clipboard"
    else:
        screen.app.copy_to_clipboard(text)
        where = "the terminal's clipboard, if it allows that (OSC 52)"
    lines = plural(text.count("\n") + 1, "line")
    screen.notify(f"{lines} copied to {where}", timeout=4, markup=False)
