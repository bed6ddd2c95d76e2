"""A whole screen as rows: what is printed before a terminal library is there, and in tests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpudash.core.model import Fleet, Link
from gpudash.core.verify import FleetVerdict
from gpudash.ui.paint.banner import banner_rows
from gpudash.ui.paint.events import events_rows
from gpudash.ui.paint.footer import footer_row
from gpudash.ui.paint.glyphs import UNICODE, Glyphs
from gpudash.ui.paint.header import HeaderView, header_row, notes
from gpudash.ui.paint.holders import HoldersView, holders_height, holders_rows
from gpudash.ui.paint.holdertable import holder_table
from gpudash.ui.paint.hostpane import HostPane
from gpudash.ui.paint.hostviews import host_views, shown_places
from gpudash.ui.paint.layout import Layout, plan
from gpudash.ui.paint.spans import Row, finished
from gpudash.ui.paint.story import Keys, Stand, Story, tell
from gpudash.ui.paint.tally import Ledger, Tally, tally
from gpudash.ui.paint.view import (
    NO_NAMES,
    Chosen,
    Density,
    HostView,
    Utilisation,
    WallClock,
    no_clock,
)

TYPE_CHECKING = False  # the first frame is painted before there is a proof
if TYPE_CHECKING:
    from gpudash.ui.paint.cleaning import CleaningView
    from gpudash.ui.paint.former import Formers
    from gpudash.ui.paint.proving import ProofView
    from gpudash.ui.paint.startupview import StartupView

PROOF_ROWS = 9
EMPTY_ROWS = 3
"""Of what stands in place of hosts that a filter hides."""
KEYS: Keys = (
    ("r", "reconnect"),
    ("p", "pause"),
    ("e", "errors"),
    ("?", "help"),
    ("q", "quit"),
)


class FrameView(NamedTuple):
    """All that a screen shows."""

    fleet: Fleet
    now_s: float = 0.0
    wall_of: WallClock = no_clock
    utilisation_of: dict[str, Utilisation] | None = None
    """By host name."""
    glyphs: Glyphs = UNICODE
    density: Density | None = None
    """None: by the room there is."""
    focus: str | None = None
    """Name of the host with the cursor."""
    cursor: int | None = None
    stand: Stand | None = None
    marks: frozenset[tuple[str, str]] = frozenset()
    """Host and GPU key of what is marked."""
    proof: ProofView | None = None
    """The proof that runs; None before any."""
    cleaning: CleaningView | None = None
    """The cleanups under way."""
    formers: Formers | None = None
    """What GPUs at zero were used for before a cleanup."""
    keys: Keys = KEYS
    chosen: Chosen | None = None
    """What is shown of the fleet, and how it is sorted; None: all, as given."""
    renamed: Mapping[str, str] = NO_NAMES
    """Keys of the default set that are others now."""
    startup: StartupView | None = None
    """What starts, or was ready or failed just now."""
    alerts: int = 0
    """How many are raised."""


def header_view(view: FrameView) -> HeaderView:
    """Return what the header says of a fleet."""
    hosts = view.fleet.hosts
    paused = [host.link_since_s for host in hosts if host.link is Link.PAUSED]
    is_paused = bool(hosts) and len(paused) == len(hosts)
    return HeaderView(
        hosts=tuple(host.name for host in hosts),
        gpus=sum(len(host.gpus) for host in hosts),
        clock=view.wall_of(view.now_s),
        interval_s=min((host.interval_s for host in hosts), default=1.0),
        is_simulated=view.fleet.is_simulated,
        paused_s=view.now_s - max(paused) if is_paused else None,
        filter=view.chosen.filter if view.chosen else "",
        shown=view.chosen.counted(view.fleet) if view.chosen else "",
        sort=view.chosen.sort if view.chosen else "",
        alerts=view.alerts,
    )


class Parts(NamedTuple):
    """A screen in pieces, each as high as the layout says; a piece that is gone is empty."""

    layout: Layout
    header: tuple[Row, ...]
    banner: tuple[Row, ...]
    views: tuple[HostView, ...]
    """Of the hosts; what paints them decides which rows are needed."""
    welcome: tuple[Row, ...]
    """In place of hosts, where there is nothing to watch."""
    holders: tuple[Row, ...]
    events: tuple[Row, ...]
    footer: tuple[Row, ...]
    word: str
    """The banner's."""


def compose(view: FrameView, width: int, height: int, ledger: Ledger | None = None) -> Parts:
    """Paint everything but the hosts. A ledger that is kept saves counting what did not change."""
    fleet, glyphs = view.fleet, view.glyphs
    ledger = ledger or Ledger()
    found = ledger.all_holders(fleet)
    table = holder_table(fleet, found, view.now_s)
    judged = ledger.judge(fleet)
    count = ledger.tally(fleet)
    is_welcome = is_nothing_to_watch(fleet)
    shown = () if is_welcome else shown_places(fleet, view.chosen)
    wanted = 0 if is_welcome else holders_height(table)
    is_proof = not is_welcome and not table and is_proof_shown(view.proof)
    if is_proof:
        wanted = PROOF_ROWS
    if view.cleaning is not None:
        from gpudash.ui.paint.cleanpanel import panel_height

        wanted = panel_height(view.cleaning)
    layout = plan(
        width,
        height,
        tuple(fleet.hosts[place] for place, _ in shown),
        holders_wanted=wanted,
        density=view.density,
        is_panel_first=view.cleaning is not None,
        is_alone=len(fleet.hosts) == 1,
        kept=tuple(kept for _, kept in shown),
    )
    is_empty = not is_welcome and not shown
    if is_empty:
        layout = layout._replace(events=max(0, layout.events - EMPTY_ROWS))
    if is_welcome and height > layout.banner + 1:
        # Its keys are all that it offers.
        layout = layout._replace(footer=1)
    head = header_view(view)
    story = _story(view, judged, tally(Fleet(), ()) if is_welcome else count, width)
    room = height - layout.header - layout.banner - layout.footer
    problem = fleet.hosts[0].problem if fleet.hosts else None
    clean_key = view.renamed.get("c", "c")
    panel = HoldersView(table, count, view.now_s, view.wall_of, glyphs, clean_key=clean_key)
    first: tuple[Row, ...] = ()
    keys = view.keys
    if is_welcome:
        # Seldom needed, and every import delays the first frame.
        from gpudash.ui.paint import welcome

        first = welcome.welcome_rows(width, room, glyphs, problem)
        keys = welcome.KEYS
    elif is_empty and view.chosen:
        from gpudash.ui.paint import nothing

        first = nothing.nothing_rows(view.chosen, fleet, width, glyphs)[:room]
    return Parts(
        layout=layout,
        header=(header_row(head, width, glyphs),) if layout.header else (),
        banner=banner_rows(story, width, glyphs, () if layout.header else notes(head)),
        views=() if is_welcome else host_views(view, judged, found, layout),
        welcome=first,
        holders=_panel(view, panel, layout.holders, width, is_proof=is_proof),
        events=() if is_welcome else _events(view, layout, width),
        footer=(footer_row(keys, width, glyphs),) if layout.footer else (),
        word=story.word,
    )


def is_proof_shown(view: ProofView | None) -> bool:
    """Tell whether a proof takes the place of the holders that there are none of."""
    if view is None:
        return False
    from gpudash.ui.paint.proofpanel import is_shown

    return is_shown(view)


def _panel(
    view: FrameView, panel: HoldersView, height: int, width: int, *, is_proof: bool
) -> tuple[Row, ...]:
    if not height:
        return ()
    if view.cleaning is not None:
        from gpudash.ui.paint.cleanpanel import clean_rows

        return clean_rows(view.cleaning, width, height, view.glyphs)
    if is_proof and view.proof is not None:
        from gpudash.ui.paint.proofpanel import proof_rows

        return proof_rows(view.proof, width, height, view.glyphs)
    return holders_rows(panel, width, height)


def _story(view: FrameView, judged: FleetVerdict, count: Tally, width: int) -> Story:
    """Return what the banner says: a proof's words where there is one to speak of."""
    is_wide = width >= 100
    if view.cleaning is not None:
        from gpudash.ui.paint.cleaning import cleaning_story

        return cleaning_story(view.cleaning, is_wide=is_wide)
    story = tell(judged, count, now_s=view.now_s, stand=view.stand, is_wide=is_wide)
    if view.proof is not None:
        from gpudash.ui.paint.proving import proof_story

        story = proof_story(view.proof, story.word, is_wide=is_wide) or story
    if view.startup is not None:
        from gpudash.ui.paint.startupstory import told_instead

        story = told_instead(view.startup, story, is_wide=is_wide)
    renamed = view.renamed
    story = story._replace(keys=tuple((renamed.get(key, key), word) for key, word in story.keys))
    # A key that is not offered here is not named either.
    clean = renamed.get("c", "c")
    if all(key != clean for key, _ in view.keys):
        story = story._replace(keys=tuple(one for one in story.keys if one[0] != clean))
    return story


def is_nothing_to_watch(fleet: Fleet) -> bool:
    """Tell whether there is no host, or only a machine without any NVIDIA driver."""
    return all(
        host.link is Link.DOWN and host.problem is not None and host.problem.is_no_driver
        for host in fleet.hosts
    )


def frame_rows(view: FrameView, width: int, height: int) -> tuple[Row, ...]:
    """Paint a screen: exactly `height` rows of `width` cells."""
    parts = compose(view, width, height)
    layout = parts.layout
    rows: list[Row] = [*parts.header, *parts.banner, *parts.welcome]
    if parts.views:
        rows += _hosts(parts.views, layout, width, view.glyphs)
    if not is_nothing_to_watch(view.fleet):
        rows += [*parts.holders, *parts.events]
    blank = height - layout.footer - len(rows)
    rows += [finished((), width, view.glyphs)] * max(0, blank)
    rows = rows[: height - layout.footer]
    return (*rows, *parts.footer)


def _hosts(views: tuple[HostView, ...], layout: Layout, width: int, glyphs: Glyphs) -> list[Row]:
    rows: list[Row] = []
    if layout.density is Density.CELL:
        from gpudash.ui.paint.cell import CellPane

        pane = CellPane(views, width, glyphs)
        return [pane.row(y) for y in range(min(layout.hosts, pane.height))]
    for view in views:
        if len(rows) >= layout.hosts:
            break
        rows += HostPane(view, width).rows()
    return rows[: layout.hosts]


def _events(view: FrameView, layout: Layout, width: int) -> tuple[Row, ...]:
    return events_rows(
        view.fleet.happenings,
        width,
        layout.events,
        wall_of=view.wall_of,
        glyphs=view.glyphs,
        has_hosts=len(view.fleet.hosts) > 1,
    )
