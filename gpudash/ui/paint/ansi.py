"""Rows as escape sequences, for a frame that is printed without a terminal library."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache

from gpudash.ui.paint.spans import Row
from gpudash.ui.theme import MONO, Look, Theme


class Depth(Enum):
    """How many colours a terminal shows."""

    TRUE = "truecolor"
    MANY = "256"
    FEW = "16"
    NONE = "none"


RESET = "\x1b[0m"

_FEW_FG = {
    "alive": 36,
    "alive-bar": 36,
    "alive-bar-2": 34,
    "leftover": 91,
    "leftover-bar": 91,
    "foreign": 35,
    "foreign-bar": 35,
    "unknown": 33,
    "unknown-bar": 33,
    "clear": 92,
    "clear-bar": 92,
    "holding": 36,
    "key": 96,
    "border-focus": 94,
    "border": 90,
    "decor": 90,
    "bar-track": 90,
    "spark-base": 90,
    "stale-bar": 90,
    "spark-1": 36,
    "spark-2": 36,
    "spark-3": 36,
    "on-badge": 97,
    "on-badge-loud": 97,
    "on-cell": 97,
    "text-strong": 97,
}
_FEW_BG = {
    "badge-bad": 41,
    "badge-cleaning": 43,
    "badge-clear": 42,
    "badge-use": 44,
    "badge-holding": 46,
    "badge-unknown": 43,
    "cell-leftover": 41,
    "cell-alive": 44,
    "cell-foreign": 45,
    "cell-clear": 42,
    "key-cap": 44,
    "bar-track": 100,
}
_LEVELS = (0, 95, 135, 175, 215, 255)


def to_ansi(row: Row, theme: Theme, depth: Depth) -> str:
    """Write one row; it begins and ends with the terminal's own style."""
    pieces: list[str] = []
    last = ""
    for text, key in row:
        codes = sgr(key, theme, depth)
        if codes != last:
            pieces.append(f"\x1b[0;{codes}m" if codes else RESET)
            last = codes
        pieces.append(text)
    pieces.append(RESET)
    return "".join(pieces)


@lru_cache(maxsize=2048)
def sgr(key: str, theme: Theme, depth: Depth) -> str:
    """Return the numbers of a style key's escape sequence, without the reset before them."""
    if depth is Depth.NONE:
        theme = MONO
    look = theme.look(key)
    if theme.is_mono:
        return ";".join(_attributes(look))
    codes = _attributes(look)
    if depth is Depth.FEW:
        codes += _few(key)
    else:
        background = look.bg or theme.colour("app-bg")
        codes += [_colour(38, look.fg, depth), _colour(48, background, depth)]
    return ";".join(code for code in codes if code)


def _attributes(look: Look) -> list[str]:
    flags = ((look.is_bold, "1"), (look.is_dim, "2"), (look.is_reversed, "7"))
    return [code for is_set, code in flags if is_set]


def few_colours(key: str) -> tuple[int | None, int | None]:
    """Return a style key's foreground and background of 16 colours (0 to 15); None: the usual."""
    front, _, background = key.partition(" on ")
    names = front.split()[0].partition("~")[0], background.partition("~")[0]
    return _number(_FEW_FG.get(names[0])), _number(_FEW_BG.get(names[1]))


def _number(code: int | None) -> int | None:
    """Return the colour that an SGR code stands for: 30 is 0, 97 is 15; backgrounds likewise."""
    if code is None:
        return None
    return code % 10 + (8 if code >= 90 else 0)


def _few(key: str) -> list[str]:
    front, back = few_colours(key)
    codes = []
    if front is not None:
        codes.append(30 + front if front < 8 else 82 + front)
    if back is not None:
        codes.append(40 + back if back < 8 else 92 + back)
    return [str(code) for code in codes]


def _colour(kind: int, colour: str | None, depth: Depth) -> str:
    if colour is None:
        return ""
    red, green, blue = bytes.fromhex(colour[1:])
    if depth is Depth.TRUE:
        return f"{kind};2;{red};{green};{blue}"
    return f"{kind};5;{_nearest(red, green, blue)}"


def _nearest(red: int, green: int, blue: int) -> int:
    """Return the nearest of the 6×6×6 cube and the 24 greys of 256 colours."""
    steps = [min(range(6), key=lambda i: abs(_LEVELS[i] - value)) for value in (red, green, blue)]
    cube = (_LEVELS[steps[0]], _LEVELS[steps[1]], _LEVELS[steps[2]])
    grey_step = max(0, min(23, round(((red + green + blue) / 3 - 8) / 10)))
    grey = 8 + grey_step * 10
    wanted = (red, green, blue)
    to_cube = sum((a - b) ** 2 for a, b in zip(wanted, cube, strict=True))
    to_grey = sum((a - grey) ** 2 for a in wanted)
    if to_grey < to_cube:
        return 232 + grey_step
    return 16 + 36 * steps[0] + 6 * steps[1] + steps[2]
