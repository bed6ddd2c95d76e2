"""What the user chose to see, joined with what the monitor knows: the input of the painters."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpudash.core.gates import standing
from gpudash.core.model import Fleet
from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.past import utilisation_of
from gpudash.ui.actions import footer_keys
from gpudash.ui.paint.cleaning import CleaningView
from gpudash.ui.paint.former import Formers
from gpudash.ui.paint.frame import FrameView
from gpudash.ui.paint.glyphs import UNICODE, Glyphs
from gpudash.ui.paint.proving import ProofView
from gpudash.ui.paint.story import Stand, stand_after
from gpudash.ui.paint.tally import Ledger
from gpudash.ui.paint.view import Density
from gpudash.ui.targets import Target, target_of

PROGRESS_KEYS = (("e", "errors"), ("?", "help"), ("q", "quit"))


def every_gpu(fleet: Fleet) -> frozenset[tuple[str, str]]:
    """Return host and key of every GPU that is known."""
    return frozenset((host.name, gpu.info.key) for host in fleet.hosts for gpu in host.gpus)


@dataclass(slots=True)
class Scene:
    """Cursor, density and glyphs; no widget and no connection."""

    clock: Clock
    glyphs: Glyphs = UNICODE
    density: Density | None = None
    """None: by the room there is."""
    focus: str | None = None
    """Name of the host with the cursor."""
    cursor: int = 0
    stand: Stand | None = None
    marks: frozenset[tuple[str, str]] = frozenset()
    """Host and GPU key of what is marked: what the next action is about."""
    is_readonly: bool = True
    """Nothing can be done to a host from here."""
    ledger: Ledger = field(default_factory=Ledger)
    """Kept from paint to paint: only hosts that changed are counted again."""

    def target(self, fleet: Fleet) -> Target | None:
        """Return what a key that acts would be about."""
        return target_of(fleet, self.marks, self.focus)

    def unmark(self) -> None:
        """Take all marks away: they end with the action."""
        self.marks = frozenset()

    def view(
        self,
        monitor: FleetMonitor,
        proof: ProofView | None = None,
        cleaning: CleaningView | None = None,
        formers: Formers | None = None,
    ) -> FrameView:
        """Return all that a screen shows now."""
        fleet = monitor.fleet
        self.keep_cursor(fleet)
        is_paused = self.focus is not None and monitor.paused_for(self.focus) is not None
        return FrameView(
            fleet=fleet,
            now_s=self.clock.now(),
            wall_of=self.clock.wall,
            utilisation_of={
                host.name: utilisation_of(monitor.history, host.name, monitor.second(host.name))
                for host in fleet.hosts
            },
            glyphs=self.glyphs,
            density=self.density,
            focus=self.focus,
            cursor=self.cursor,
            stand=self.stand,
            marks=self.marks,
            proof=proof,
            cleaning=cleaning,
            formers=formers,
            keys=self._keys(fleet, cleaning, is_paused=is_paused),
        )

    def _keys(
        self, fleet: Fleet, cleaning: CleaningView | None, *, is_paused: bool
    ) -> tuple[tuple[str, str], ...]:
        if cleaning is not None:
            return (*cleaning.keys, *PROGRESS_KEYS)
        target = None if self.is_readonly else self.target(fleet)
        return footer_keys(
            is_paused=is_paused,
            is_readonly=self.is_readonly,
            target=target.words if target else "",
        )

    def stands(self, word: str) -> None:
        """Note which word the banner says, for how long it says it."""
        self.stand = stand_after(self.stand, word, self.clock.now())

    def keep_cursor(self, fleet: Fleet) -> None:
        """Put the cursor back onto a GPU where its host or its row is gone."""
        names = [host.name for host in standing(fleet)]
        if self.focus not in names:
            self.focus = names[0] if names else None
            self.cursor = 0
        if self.focus is not None:
            count = len(fleet.host(self.focus).gpus)
            self.cursor = min(max(self.cursor, 0), max(count - 1, 0))

    def point_at(self, host: str, position: int) -> None:
        """Put the cursor onto a GPU."""
        self.focus, self.cursor = host, position

    def move(self, fleet: Fleet, step: int, *, by_host: bool = False) -> None:
        """Move the cursor over the GPUs of all hosts, or over hosts where a row is a host."""
        places = [
            (host.name, position)
            for host in standing(fleet)
            for position in range(1 if by_host else max(1, len(host.gpus)))
        ]
        if not places:
            return
        here = (self.focus or "", 0 if by_host else self.cursor)
        at = places.index(here) if here in places else 0
        self.focus, self.cursor = places[min(max(at + step, 0), len(places) - 1)]

    def move_host(self, fleet: Fleet, step: int) -> None:
        """Move the cursor to the first GPU of another host, round and round."""
        names = [host.name for host in standing(fleet)]
        if names:
            at = names.index(self.focus) if self.focus in names else 0
            self.focus, self.cursor = names[(at + step) % len(names)], 0

    def toggle_mark(self, fleet: Fleet, *, by_host: bool) -> None:
        """Mark the GPU under the cursor or take its mark away; by host: all its GPUs."""
        if self.focus is None:
            return
        host = fleet.host(self.focus)
        gpus = host.gpus if by_host else host.gpus[self.cursor : self.cursor + 1]
        here = frozenset((host.name, gpu.info.key) for gpu in gpus)
        self.marks = self.marks - here if here <= self.marks else self.marks | here

    def toggle_all(self, fleet: Fleet) -> None:
        """Mark every GPU, or take all marks away."""
        every = every_gpu(fleet)
        self.marks = frozenset() if every <= self.marks else every

    def next_density(self, shown: Density) -> None:
        """Go on from what is shown: card, line, cell, and back to what fits by itself."""
        order: list[Density | None] = [Density.CARD, Density.LINE, Density.CELL, None]
        at = order.index(self.density) if self.density else order.index(shown)
        self.density = order[(at + 1) % len(order)]
