"""What a terminal can show, from its environment alone."""

from __future__ import annotations

from collections.abc import Mapping

from gpudash.ui.paint.ansi import Depth
from gpudash.ui.paint.glyphs import ASCII, MONO, UNICODE, Glyphs


def depth_of(environ: Mapping[str, str]) -> Depth:
    """Return how many colours to use; `NO_COLOR` with any text means none (no-color.org)."""
    term = environ.get("TERM", "")
    if environ.get("NO_COLOR") or term in ("", "dumb"):
        return Depth.NONE
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        return Depth.TRUE
    return Depth.MANY if "256" in term else Depth.FEW


def glyphs_of(environ: Mapping[str, str], depth: Depth, *, wants_ascii: bool = False) -> Glyphs:
    """Return which characters to use: ASCII on request, on the Linux console and in LANG=C."""
    # The first that is set decides, as in setlocale(3). None set is usual in containers and
    # says nothing of the terminal, which is UTF-8 nearly everywhere.
    names = (environ.get(name, "") for name in ("LC_ALL", "LC_CTYPE", "LANG"))
    locale = next((name for name in names if name), "")
    if wants_ascii or environ.get("TERM") == "linux" or locale in ("C", "POSIX"):
        return ASCII
    return MONO if depth is Depth.NONE else UNICODE
