"""How well colours are told apart: WCAG 2.1 contrast, and how the colour-blind see them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

LEAST = 4.5
"""WCAG 2.1 AA for text of normal size (success criterion 1.4.3)."""
TEXTS = tuple(
    "text text-strong text-muted alive leftover foreign unknown clear holding key".split()  # noqa: SIM905
)
_PAPERS = ("app-bg", "raised", "row-cursor")
_LOUD = ("badge-bad", "badge-cleaning", "badge-unknown")


class Pair(NamedTuple):
    """Text on its background, by the names of a theme's colours."""

    text: str
    paper: str
    ratio: float


def luminance(colour: str) -> float:
    """Return the relative luminance of `#rrggbb`, 0 to 1."""
    red, green, blue = map(_linear, bytes.fromhex(colour[1:]))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _linear(channel: int) -> float:
    share = channel / 255
    return share / 12.92 if share <= 0.04045 else float(((share + 0.055) / 1.055) ** 2.4)


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def text_pairs(colours: Mapping[str, str]) -> Iterator[Pair]:
    """Yield every text on every background that it can stand on (mockups spec §5)."""

    def pair(text: str, paper: str) -> Pair:
        return Pair(text, paper, contrast(colours[text], colours[paper]))

    papers = (*_PAPERS, *(name for name in colours if name.startswith("tint-")))
    for text in TEXTS:
        for paper in papers:
            yield pair(text, paper)
    yield pair("text", "key-cap")
    yield pair("key", "key-cap")
    for name in colours:
        if name.startswith("badge-"):
            yield pair("on-badge-loud" if name in _LOUD else "on-badge", name)
        if name.startswith("cell-"):
            yield pair("on-cell", name)


def faint_pairs(colours: Mapping[str, str]) -> tuple[Pair, ...]:
    """Return the pairs below `LEAST`, the faintest first."""
    return tuple(sorted((one for one in text_pairs(colours) if one.ratio < LEAST), key=_ratio))


def _ratio(pair: Pair) -> float:
    return pair.ratio
