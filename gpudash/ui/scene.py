"""What the user chose to see, joined with what the monitor knows: the input of the painters."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

from gpudash.core.actions import Situation
from gpudash.core.arranging import NOT_ARRANGED, Arrangement, Facts, Sort, arranged, problems
from gpudash.core.model import Fleet
from gpudash.core.query.language import EVERYTHING, Query
from gpudash.core.telling import Told, document, told_table
from gpudash.services.clock import Clock
from gpudash.services.monitor import FleetMonitor
from gpudash.services.past import utilisation_of
from gpudash.ui.actions import DEFAULT_ACTIONS, Actions
from gpudash.ui.paint.cleaning import CleaningView
from gpudash.ui.paint.former import Formers
from gpudash.ui.paint.frame import FrameView
from gpudash.ui.paint.glyphs import UNICODE, Glyphs
from gpudash.ui.paint.hostpane import positions
from gpudash.ui.paint.proving import ProofView
from gpudash.ui.paint.story import Stand, stand_after
from gpudash.ui.paint.tally import Ledger
from gpudash.ui.paint.view import Chosen, Density
from gpudash.ui.targets import Target, marked_target, target_of

PROGRESS_KEYS = (("e", "errors"), ("?", "help"), ("q", "quit"))


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
    filter: str = ""
    """As it was typed."""
    query: Query = EVERYTHING
    sort: Sort = Sort.GIVEN
    arrangement: Arrangement = NOT_ARRANGED
    """What is shown now, in its order."""
    is_readonly: bool = True
    """Nothing can be done to a host from here."""
    actions: Actions = DEFAULT_ACTIONS
    """With the user's keys."""
    ledger: Ledger = field(default_factory=Ledger)
    """Kept from paint to paint: only hosts that changed are counted again."""

    def target(self, fleet: Fleet) -> Target | None:
        """Return what a key that acts would be about: nothing that a filter hides is, unnamed."""
        marked = self.marked(fleet)
        if marked is not None or self.focus is None:
            return marked
        if self.arrangement.gpus_of(self.focus) is None:
            return target_of(fleet, frozenset(), self.focus)
        here = frozenset(one for one in self.shown_gpus(fleet) if one[0] == self.focus)
        return marked_target(fleet, here)

    def marked(self, fleet: Fleet) -> Target | None:
        """Return what is marked; marks that a filter hides count, and are counted."""
        marked = marked_target(fleet, self.marks)
        hidden = len(self.marks - self.shown_gpus(fleet)) if self.arrangement.is_filtered else 0
        if marked is None or not hidden:
            return marked
        return replace(marked, words=f"{marked.words}, {hidden} of them hidden")

    def unmark(self) -> None:
        """Take all marks away: they end with the action."""
        self.marks = frozenset()

    def view(
        self,
        monitor: FleetMonitor,
        proof: ProofView | None = None,
        cleaning: CleaningView | None = None,
        formers: Formers | None = None,
        *,
        is_quiet: bool = False,
    ) -> FrameView:
        """Return all that a screen shows now."""
        fleet = monitor.fleet
        self.arrange(fleet, is_quiet=is_quiet)
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
            chosen=self.chosen,
            renamed=self.actions.renamed,
        )

    def _keys(
        self, fleet: Fleet, cleaning: CleaningView | None, *, is_paused: bool
    ) -> tuple[tuple[str, str], ...]:
        if cleaning is not None:
            keys = (*cleaning.keys, *PROGRESS_KEYS)
            return tuple((self.actions.key_of(key), label) for key, label in keys)
        return self.actions.footer_keys(self.situation(fleet, is_paused=is_paused))

    def situation(
        self, fleet: Fleet, *, is_paused: bool = False, is_cleaning: bool = False
    ) -> Situation:
        """Return what decides which actions there are."""
        target = None if self.is_readonly else self.target(fleet)
        return Situation(
            can_act=not self.is_readonly,
            is_cleaning=is_cleaning,
            is_paused=is_paused,
            is_filtered=self.arrangement.is_filtered,
            has_hosts=bool(fleet.hosts),
            has_several=len(fleet.hosts) > 1,
            target=target.words if target else "",
        )

    def stands(self, word: str) -> None:
        """Note which word the banner says, for how long it says it."""
        self.stand = stand_after(self.stand, word, self.clock.now())

    def _facts(self, fleet: Fleet) -> Facts:
        ledger = self.ledger
        return Facts(fleet, ledger.judged, partial(ledger.holders_of, fleet), self.clock.now())

    def told_text(self, fleet: Fleet) -> str:
        """Return the GPU under the cursor as a line, what is marked as a table; empty for none."""
        marked = [
            (host.name, at)
            for host in fleet.hosts
            for at, gpu in enumerate(host.gpus)
            if (host.name, gpu.info.key) in self.marks
        ]
        if not marked and self.focus is not None and fleet.host(self.focus).gpus:
            marked = [(self.focus, self.cursor)]
        return told_table(Told(*self._facts(fleet)), marked)

    def document(self, fleet: Fleet, recorded_at: str) -> dict[str, object]:
        """Return all that is shown as a JSON object."""
        chosen = self.chosen
        return document(
            Told(*self._facts(fleet)),
            chosen.shown,
            recorded_at=recorded_at,
            chosen=chosen.filter,
            sort=chosen.sort,
        )

    def arrange(self, fleet: Fleet, *, is_quiet: bool = False) -> None:
        """Decide which hosts and GPUs are shown; `is_quiet`: no key was pressed for a while."""
        facts = self._facts(fleet)
        self.arrangement = arranged(
            self.arrangement, facts, self.query, self.sort, is_quiet=is_quiet
        )

    def set_filter(self, fleet: Fleet, text: str, query: Query) -> None:
        """Show only what matches a query, at once; `text` is how it was typed."""
        self.filter, self.query = text.strip(), query
        self.arrange(fleet)
        self.keep_cursor(fleet)

    def next_sort(self, fleet: Fleet) -> None:
        """Sort by the next thing."""
        self.sort = self.sort.following
        self.arrange(fleet)

    @property
    def chosen(self) -> Chosen:
        """Return what is shown, for painters."""
        sort = "" if self.sort is Sort.GIVEN else self.sort.value
        return Chosen(self.arrangement.shown, self.filter, sort)

    def _places(self, fleet: Fleet, *, by_host: bool = False) -> list[tuple[str, int]]:
        """Return every place that the cursor can be at, in order."""
        found: list[tuple[str, int]] = []
        for one in self.arrangement.shown:
            if any(host.name == one.host for host in fleet.hosts):
                kept = positions(fleet.host(one.host), one.gpus) or (0,)
                found += [(one.host, at) for at in (kept[:1] if by_host else kept)]
        return found

    def keep_cursor(self, fleet: Fleet) -> None:
        """Put the cursor back onto a GPU where its host or its row is gone."""
        places = self._places(fleet)
        if (self.focus, self.cursor) in places:
            return
        here = [at for name, at in places if name == self.focus]
        if here:
            self.cursor = min(here, key=lambda at: (abs(at - self.cursor), at))
        else:
            self.focus, self.cursor = places[0] if places else (None, 0)

    def point_at(self, host: str, position: int) -> None:
        """Put the cursor onto a GPU."""
        self.focus, self.cursor = host, position

    def move(self, fleet: Fleet, step: int, *, by_host: bool = False) -> None:
        """Move the cursor over the GPUs of all hosts, or over hosts where a row is a host."""
        places = self._places(fleet, by_host=by_host)
        if not places:
            return
        here = (self.focus or "", self.cursor)
        names = [name for name, _ in places]
        at = places.index(here) if here in places else 0
        if by_host and self.focus in names:
            at = names.index(self.focus or "")
        self.focus, self.cursor = places[min(max(at + step, 0), len(places) - 1)]

    def move_host(self, fleet: Fleet, step: int) -> None:
        """Move the cursor to the first GPU of another host, round and round."""
        places = self._places(fleet, by_host=True)
        names = [name for name, _ in places]
        if places:
            at = names.index(self.focus) if self.focus in names else 0
            self.focus, self.cursor = places[(at + step) % len(places)]

    def next_problem(self, fleet: Fleet) -> bool:
        """Move the cursor to the next thing that is wrong, round and round; False for none."""
        wrong = problems(self._facts(fleet), self.arrangement.shown)
        if not wrong:
            return False
        order = {place: number for number, place in enumerate(self._places(fleet))}
        here = order.get((self.focus or "", self.cursor), -1)
        later = [place for place in wrong if order.get(place, -1) > here]
        self.focus, self.cursor = (later or wrong)[0]
        return True

    def toggle_mark(self, fleet: Fleet, *, by_host: bool) -> None:
        """Mark the GPU under the cursor or take its mark away; by host: all its GPUs shown."""
        if self.focus is None:
            return
        host = fleet.host(self.focus)
        kept = positions(host, self.arrangement.gpus_of(host.name))
        gpus = [host.gpus[at] for at in kept if by_host or at == self.cursor]
        here = frozenset((host.name, gpu.info.key) for gpu in gpus)
        self.marks = self.marks - here if here <= self.marks else self.marks | here

    def shown_gpus(self, fleet: Fleet) -> frozenset[tuple[str, str]]:
        """Return host and key of every GPU that is shown."""
        return frozenset(
            (host.name, host.gpus[at].info.key)
            for one in self.arrangement.shown
            for host in fleet.hosts
            if host.name == one.host
            for at in positions(host, one.gpus)
        )

    def toggle_all(self, fleet: Fleet) -> None:
        """Mark every GPU that is shown, or take their marks away."""
        every = self.shown_gpus(fleet)
        self.marks = self.marks - every if every <= self.marks else self.marks | every

    def next_density(self, shown: Density) -> None:
        """Go on from what is shown: card, line, cell, and back to what fits by itself."""
        order: list[Density | None] = [Density.CARD, Density.LINE, Density.CELL, None]
        at = order.index(self.density) if self.density else order.index(shown)
        self.density = order[(at + 1) % len(order)]
