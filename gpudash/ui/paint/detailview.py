"""What the painters of details are given, and how they divide the screen."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import NamedTuple

from gpudash.core.charting import Column, Window
from gpudash.core.detailwords import FactLine
from gpudash.core.families import Holder
from gpudash.core.history import Series
from gpudash.core.kintree import TreeRow
from gpudash.core.model import Gpu, Host
from gpudash.core.obstacles import Obstacle
from gpudash.core.ownership import Note
from gpudash.ui.paint.glyphs import UNICODE, Glyphs
from gpudash.ui.paint.header import HeaderView
from gpudash.ui.paint.spans import Row
from gpudash.ui.paint.story import Keys, Story

WIDE_FROM = 140
"""Columns from which on charts, facts and processes stand together."""

Curve = tuple[tuple[float, ...], str]
"""A share of the height for each column, and a style key."""
Draw = Callable[[tuple[Curve, ...], int, int], tuple[Row, ...]]
"""Curves over each other, width, height: rows, the highest first."""
Past = Callable[[str, Series, int], tuple[Column, ...]]
"""GPU key, quantity, columns: values, oldest first."""


class Page(Enum):
    """What a narrow screen shows of the details."""

    CHARTS = "charts"
    FACTS = "facts"
    PROCESSES = "processes"

    @property
    def next(self) -> Page:
        """Return the one that follows, round and round."""
        order = tuple(Page)
        return order[(order.index(self) + 1) % len(order)]


class Trail(NamedTuple):
    """The past of the GPUs that are shown."""

    past: Past
    times: Callable[[int], tuple[int, ...]]
    """Columns: the second at which each ends."""
    notes: Callable[[str], tuple[Note, ...]]
    """GPU key: whose its memory was."""


class DetailsView(NamedTuple):
    """All that the details of a host or GPU show."""

    host: Host
    gpus: tuple[Gpu, ...]
    """The GPU, or all of the host."""
    is_host: bool
    story: Story
    header: HeaderView
    trail: Trail
    draw: Draw
    facts: tuple[FactLine, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    verdict: str = ""
    since: tuple[str, ...] = ()
    """Sentences below the obstacles: when it was zero, what broke a proof."""
    holders: tuple[Holder, ...] = ()
    tree: tuple[TreeRow, ...] = ()
    cursor: int = 0
    """Row of the tree."""
    top: int = 0
    """First row of the tree, or of the facts, that is in sight."""
    window: Window = Window.TEN_MINUTES
    page: Page = Page.CHARTS
    glyphs: Glyphs = UNICODE
    is_old: bool = False
    """Nothing new comes: values are those of before."""
    slows_at_c: int | None = None
    keys: Keys = ()
    note: str = ""
    """Why something of this is missing, as a sentence."""

    @property
    def gpu(self) -> Gpu | None:
        """Return the GPU that this is about; None for a host."""
        return None if self.is_host else self.gpus[0]

    @property
    def border(self) -> str:
        """Return the style of borders."""
        return "unknown" if self.is_old else "border"


class Frame(NamedTuple):
    """How a screen of details is divided."""

    header: int
    footer: int
    charts: int
    """Rows of the charts, all of them together."""
    left: int
    """Columns of the charts."""
    tree: int
    """Rows of the processes where they stand below; else they have the charts' place."""
    is_wide: bool


def divide(width: int, height: int, rows: int) -> Frame:
    """Divide a screen; `rows` is how many the process tree would like."""
    header = 1 if height >= 12 else 0
    footer = 1 if height >= 11 else 0
    body = max(0, height - header - 2 - footer)
    if width < WIDE_FROM or body < 24:
        return Frame(header, footer, body, width, 0, is_wide=False)
    # Two rows of border and one of heads; charts keep 22 rows.
    tree = max(6, min(rows + 3, body - 22, body * 2 // 5 + 2))
    left = min(width * 69 // 100, width - 46)
    return Frame(header, footer, body - tree, left, tree, is_wide=True)
