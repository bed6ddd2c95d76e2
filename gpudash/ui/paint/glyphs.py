"""Which character means what, with a twin for terminals that only have ASCII.

Only characters that take one cell and are in nearly every monospace font. A set is compared by
identity, so it is cheap as a part of a cache key.
"""

from __future__ import annotations


class Glyphs:
    """One set of characters; there are three, and no more are made."""

    def __init__(self, table: dict[str, str], *, is_ascii: bool, has_patterns: bool) -> None:
        self.is_ascii = is_ascii
        self.has_patterns = has_patterns
        """Owners in bars are told apart by characters, not by colour."""
        self.clear = table["clear"]
        self.zero = table["zero"]
        self.use = table["use"]
        self.bad = table["bad"]
        self.unknown = "?"
        self.going = table["going"]
        self.waiting = table["waiting"]
        self.warning = "!"
        self.live = table["live"]
        self.nothing = table["nothing"]
        self.marked = table["marked"]
        self.cursor = table["cursor"]
        self.branch = table["branch"]
        self.hatch = table["hatch"]
        self.cut = table["cut"]
        self.dot = table["dot"]
        """Between facts."""
        self.times = table["times"]
        self.degree = table["degree"]
        self.dash = table["dash"]
        corners = tuple(table["corners"])
        self.top_left, self.top_right, self.bottom_left, self.bottom_right = corners
        self.across = table["across"]
        self.down = table["down"]
        self.spark = table["spark"]
        """From the lowest level to the highest; the first is 0 %, too."""
        self.chart = table["chart"]
        """Levels of one row of a chart of several rows; the last fills its cell."""


_UNICODE = {
    "clear": "√",
    "zero": "□",
    "use": "■",
    "bad": "×",
    "going": "»",
    "waiting": "…",
    "live": "●",
    "nothing": "·",
    "marked": "•",
    "cursor": "▌",
    "branch": "└",
    "hatch": "▒",
    "cut": "…",
    "dot": "·",
    "times": "×",
    "degree": "°",
    "dash": "–",
    "corners": "╭╮╰╯",
    "across": "─",
    "down": "│",
    "spark": "▁▂▃▄▅",
    "chart": "▁▂▃▄▅▆▇█",
}
_ASCII = {
    "clear": "v",
    "zero": "o",
    "use": "#",
    "bad": "x",
    "going": ">",
    "waiting": "~",
    "live": "*",
    "nothing": "-",
    "marked": "*",
    "cursor": ">",
    "branch": "`",
    "hatch": "%",
    "cut": "~",
    "dot": "-",
    "times": "x",
    "degree": " ",
    "dash": "-",
    "corners": "++++",
    "across": "-",
    "down": "|",
    "spark": "_.:|",
    "chart": ".:#",
}

UNICODE = Glyphs(_UNICODE, is_ascii=False, has_patterns=False)
ASCII = Glyphs(_ASCII, is_ascii=True, has_patterns=True)
MONO = Glyphs({**_UNICODE, "hatch": "%"}, is_ascii=False, has_patterns=True)
"""For screens without colour: everything but the bars as in UNICODE."""

PATTERNS = {
    "alive-bar": "#",
    "alive-bar-2": "#",
    "leftover-bar": "%",
    "foreign-bar": "=",
    "unknown-bar": "?",
    "stale-bar": "#",
}
"""Who, in bars without colour; what is hatched is `%` whoever it belongs to."""

TWINS = dict(
    zip(
        "…·–−×°±\u2009\u202f\u00a0‘’“”→√□■»●•≡≥█▉▊▋▌▍▎▏",
        "~---x +   ''\"\">vo#>**=>########",
        strict=True,
    )
)
