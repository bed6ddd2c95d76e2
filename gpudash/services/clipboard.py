"""Copies text out of the terminal: tmux keeps a buffer of its own and passes it on."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from gpudash.sources.process import Child

_PATIENCE_S = 5.0
_STEP_S = 0.02


def is_in_tmux(environ: Mapping[str, str]) -> bool:
    """Tell whether this terminal is a tmux pane."""
    return bool(environ.get("TMUX"))


async def give_to_tmux(text: str) -> bool:
    """Load tmux's buffer, and through it the outer terminal's clipboard; False where it failed."""
    try:
        child = Child(["tmux", "load-buffer", "-w", "-"])
    except OSError:
        return False
    child.write(text.encode())
    child.close_stdin()
    for _ in range(int(_PATIENCE_S / _STEP_S)):
        if (status := child.reap()) is not None:
            child.close_pipes()
            return status == 0
        await asyncio.sleep(_STEP_S)
    child.end(0.0)
    return False
