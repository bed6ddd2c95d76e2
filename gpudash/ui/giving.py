"""Gives text away: to the clipboard, or to a file; and says where it went."""

from __future__ import annotations

import os
from pathlib import Path

from textual.app import App

from gpudash.core.names import clean_text
from gpudash.services.clipboard import give_to_tmux, is_in_tmux
from gpudash.services.exports import keep


async def copy_out(app: App[None], text: str) -> None:
    """Copy a text out of the terminal, and say where it went."""
    if is_in_tmux(os.environ) and await give_to_tmux(text):
        where = "tmux's buffer, which passes it on to the clipboard"
    else:
        app.copy_to_clipboard(text)
        where = "the terminal's clipboard, if it allows that (OSC 52)"
    lines = text.count("\n") + 1
    count = "1 line" if lines == 1 else f"{lines} lines"
    app.notify(f"{count} copied to {where}", timeout=4, markup=False)


async def save_out(app: App[None], folder: Path, suffix: str, text: str) -> None:
    """Keep a text in a new file, and say where."""
    try:
        path = await keep(folder, suffix, text)
    except OSError as error:
        words = f"nothing was saved: {clean_text(str(error))}"
        app.notify(words, severity="error", timeout=8, markup=False)
        return
    app.notify(f"saved to {clean_text(str(path), 400)}", timeout=8, markup=False)
