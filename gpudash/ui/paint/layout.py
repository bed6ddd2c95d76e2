"""How the screen is divided: heights of all parts, and the density of host panes.

Pure numbers (mockups spec §2). The banner is never gone; what is left over stays calm.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.model import Host
from gpudash.ui.paint.columns import CARD_FROM, is_compact
from gpudash.ui.paint.hostpane import is_split, pane_height, positions
from gpudash.ui.paint.view import CARD_ROWS, Density

BANNER = 2
HEADER_FROM = 12
FOOTER_FROM = 11
HOLDERS_FROM = 20
HOLDERS_LEAST = 5
"""Borders, head and two families: with less the panel gives way to lines of several hosts."""
EVENTS_LEAST = 4
EVENTS_MOST = 12
LINES_SPARE = 3
"""Rows that lines of several hosts leave: a screen that they fill to the last row is a wall."""
PANEL_LEAST = 12
"""What must be left below cards for a panel that the screen is about."""
PANEL_SMALL = 8
"""So much it takes even from the hosts."""
CARD_ROWS_MOST = 6
"""A chart of five rows under each bar; higher ones tell nothing more."""
EVENTS_WANTED = 7
"""Five happenings and the borders: what cards must leave room for."""


class Layout(NamedTuple):
    """Heights from the top to the bottom; 0 where a part is gone."""

    density: Density
    header: int
    banner: int
    hosts: int
    """Of the viewport; the panes in it may be higher and scroll."""
    panes: tuple[int, ...]
    """Height of each host's pane; in cell density one pane holds all hosts."""
    holders: int
    events: int
    gap: int
    """Blank rows above the footer."""
    footer: int
    card_rows: int = CARD_ROWS
    """Of each GPU in card density."""


Kept = tuple[tuple[int, ...] | None, ...]
"""Of each host the positions of the GPUs that are shown; None is all."""


class Sizing(NamedTuple):
    """What heights of panes depend on besides their hosts."""

    width: int
    is_alone: bool
    kept: Kept = ()
    card_rows: int = CARD_ROWS

    def with_cards(self, hosts: tuple[Host, ...], room: int) -> Sizing:
        """Return it with cards as high as there is room for.

        Who holds what must not count: rows would jump as holders come and go.
        """
        cards = sum(
            not is_split(host.gpus[at])
            for host, kept in zip(hosts, self.kept_of(hosts), strict=True)
            for at in positions(host, kept)
        )
        spare = room - sum(self.heights(hosts, Density.CARD))
        rows = min(CARD_ROWS + max(0, spare) // max(1, cards), CARD_ROWS_MOST)
        return self._replace(card_rows=rows)

    def kept_of(self, hosts: tuple[Host, ...]) -> Kept:
        """Return which GPUs each host shows."""
        return self.kept or (None,) * len(hosts)

    def heights(self, hosts: tuple[Host, ...], density: Density) -> tuple[int, ...]:
        """Return the height of each pane."""
        if density is Density.CELL:
            return (len(hosts) + 3,)
        return tuple(
            pane_height(
                host,
                density,
                self.width,
                is_alone=self.is_alone,
                kept=kept,
                card_rows=self.card_rows,
            )
            for host, kept in zip(hosts, self.kept_of(hosts), strict=True)
        )


def plan(
    width: int,
    height: int,
    hosts: tuple[Host, ...],
    *,
    holders_wanted: int,
    density: Density | None = None,
    is_panel_first: bool = False,
    is_alone: bool | None = None,
    kept: Kept = (),
) -> Layout:
    """Divide a screen. `holders_wanted` is what shows all of them (see `holders_height`).

    Holders take a quarter of the height at most, and more only of what nobody else can use. Where
    all hosts fit as lines, holders give way: each line names its own. `is_panel_first`: what
    stands in place of the holders is what the screen is about, and what happened gives way to it.
    `is_alone`: there is no other host, shown or not. `kept`: of each host the GPUs that are shown.
    """
    sizing = Sizing(width, len(hosts) == 1 if is_alone is None else is_alone, kept)
    header = 1 if height >= HEADER_FROM else 0
    footer = 1 if height >= FOOTER_FROM else 0
    free = max(0, height - header - BANNER - footer)
    holders = 0
    if height >= HOLDERS_FROM and not is_compact(width):
        most = max(height // 2 if is_panel_first else height // 4, 5)
        holders = min(holders_wanted, most, free)
    if is_panel_first and density is None and width >= CARD_FROM:
        cards = sum(sizing.heights(hosts, Density.CARD))
        density = Density.CARD if cards + PANEL_LEAST <= free else None
        holders = min(holders_wanted, free - cards) if density else holders
    density = density or _density(sizing, hosts, free - holders, free)
    if density is Density.CARD:
        below = holders if is_panel_first else height // 4
        sizing = sizing.with_cards(hosts, free - below - EVENTS_MOST)
    panes = sizing.heights(hosts, density)
    if is_panel_first:
        holders = min(holders, max(free - sum(panes), min(PANEL_SMALL, free // 2)))
    if density is Density.LINE and len(hosts) > 1 and free - holders < sum(panes) <= free:
        left = free - sum(panes)
        holders = left if left >= HOLDERS_LEAST else 0
    # Hosts first, then holders; what happened takes what is left.
    viewport = min(sum(panes), max(free - holders, min(free, 3)))
    holders = min(holders, free - viewport)
    rest = free - viewport - holders
    events = rest if rest >= EVENTS_LEAST else 0
    if width >= 120 or len(hosts) == 0:
        events = min(events, EVENTS_MOST)
    if not events and rest:
        # Too little for a panel: give it to the hosts where they scroll.
        grown = min(rest, sum(panes) - viewport)
        viewport, rest = viewport + grown, rest - grown
    gap = rest - events
    if holders:
        grown = min(gap, max(0, holders_wanted - holders))
        holders, gap = holders + grown, gap - grown
    return Layout(
        density, header, BANNER, viewport, panes, holders, events, gap, footer, sizing.card_rows
    )


def _density(sizing: Sizing, hosts: tuple[Host, ...], room: int, most: int) -> Density:
    """Return what fits: cards with holders and events, lines by themselves, else cells."""
    if sizing.width >= CARD_FROM:
        cards = sum(sizing.heights(hosts, Density.CARD))
        if cards + EVENTS_WANTED <= room:
            return Density.CARD
    if len(hosts) > 1 and sum(sizing.heights(hosts, Density.LINE)) > most - LINES_SPARE:
        return Density.CELL
    return Density.LINE
