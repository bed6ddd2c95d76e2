"""Where the columns of a GPU row stand (mockups spec §2).

Columns never move while the size is the same. Between two steps the memory bar takes the slack
until it is as long as at the next step, then the process text does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple


class LineColumns(NamedTuple):
    """Widths of a row in line density; 0 where a column is dropped."""

    lead: int
    """Cursor and mark."""
    ordinal: int
    bar: int
    memory: int
    spark: int
    utilisation: int
    temperature: int
    power: int
    clock: int
    age: int
    process: int
    """Letter and process text: what is left."""

    @property
    def has_unit(self) -> bool:
        """Tell whether memory is written with its unit."""
        return self.memory >= 16

    @property
    def has_total(self) -> bool:
        """Tell whether memory is written with its total."""
        return self.memory >= 12


class CardColumns(NamedTuple):
    """Widths of the two rows of a card."""

    bar: int
    process: int


# Width of the pane from which a step holds: lead, index, bar, memory, spark, utilisation,
# temperature, power, clock, age.
_STEPS = (
    (200, (2, 2, 48, 16, 36, 4, 5, 6, 9, 7)),
    (160, (2, 2, 40, 16, 28, 4, 5, 6, 0, 7)),
    (120, (2, 2, 28, 16, 16, 4, 5, 6, 0, 7)),
    (100, (2, 2, 24, 12, 8, 4, 5, 0, 0, 7)),
    (80, (2, 2, 18, 12, 0, 4, 0, 0, 0, 7)),
    (72, (2, 2, 18, 12, 0, 4, 0, 0, 0, 0)),
    (60, (2, 2, 14, 12, 0, 0, 0, 0, 0, 0)),
    (0, (1, 1, 12, 6, 0, 0, 0, 0, 0, 0)),
)
_LONGEST_BAR = 72
COMPACT_BELOW = 60
"""Panes have no border below this width."""
CARD_FROM = 100
"""Cards need this width."""


def is_compact(width: int) -> bool:
    """Tell whether panes of this width go without borders."""
    return width < COMPACT_BELOW


@lru_cache(maxsize=64)
def line_columns(width: int) -> LineColumns:
    """Return the columns of a row in a pane of this width, its borders included."""
    longest = _LONGEST_BAR
    for least, step in _STEPS:
        if width >= least:
            break
        longest = step[2]
    lead, ordinal, bar, memory, spark, utilisation, temperature, power, clock, age = step
    bar = max(1, min(bar + width - (least or 40), longest))
    inner = width - (0 if is_compact(width) else 2)
    # A blank before the bar, two around the sparkline, one before each other number.
    fixed = lead + ordinal + 1 + bar + memory
    fixed += spark + 2 if spark else 0
    fixed += sum(size + 1 for size in (utilisation, temperature, power) if size)
    fixed += clock + 1 if clock else 0
    fixed += age + 2 if age else 1
    process = max(0, inner - fixed - 2)
    return LineColumns(
        lead,
        ordinal,
        bar,
        memory,
        spark,
        utilisation,
        temperature,
        power,
        clock,
        age,
        process,
    )


@lru_cache(maxsize=64)
def card_columns(width: int) -> CardColumns:
    """Return the bar and process widths of a card in a pane of this width (at least 100)."""
    bar = 44 + (width - 120) // 2 if width >= 120 else max(8, 30 + (width - 100) * 7 // 10)
    # Lead 6, the bar, a blank, 20 cells of numbers, two before the right border.
    return CardColumns(bar, max(0, width - 2 - 6 - bar - 21 - 1))


def seconds_per_column(width: int, *, is_card: bool) -> int:
    """Return how much time one sparkline column stands for: cards show five minutes."""
    return -(-300 // card_columns(width).bar) if is_card else 1
