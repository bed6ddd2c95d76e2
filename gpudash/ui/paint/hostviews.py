"""From a whole screen's view to one view for each host that is shown."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gpudash.core.families import Holder
from gpudash.core.gates import gate_of, places, waiting
from gpudash.core.model import Fleet, Gpu
from gpudash.core.verify import FleetVerdict
from gpudash.ui.paint.layout import Layout
from gpudash.ui.paint.view import Chosen, HostView, no_history

TYPE_CHECKING = False  # as in frame
if TYPE_CHECKING:
    from gpudash.ui.paint.cleaning import GpuProgress
    from gpudash.ui.paint.frame import FrameView
    from gpudash.ui.paint.proving import ProofView


def host_views(
    view: FrameView, judged: FleetVerdict, found: tuple[Holder, ...], layout: Layout
) -> tuple[HostView, ...]:
    """Return one view for each host that is shown."""
    past = view.utilisation_of or {}
    waits = waiting(view.fleet)
    shown = [
        (view.fleet.hosts[place], judged.hosts[place], kept)
        for place, kept in shown_places(view.fleet, view.chosen)
    ]
    marks: dict[str, set[str]] = {}
    for name, key in view.marks:
        marks.setdefault(name, set()).add(key)
    phases = _phases(view.proof)
    by_host: dict[str, list[Holder]] = {}
    for one in found:
        by_host.setdefault(one.key[0], []).append(one)
    return tuple(
        HostView(
            host=host,
            holders=tuple(by_host.get(host.name, ())),
            utilisation=past.get(host.name, no_history),
            now_s=view.now_s,
            wall_of=view.wall_of,
            density=layout.density,
            card_rows=layout.card_rows,
            glyphs=view.glyphs,
            has_focus=host.name == view.focus,
            cursor=view.cursor if host.name == view.focus else None,
            is_first=number == 0,
            is_alone=len(view.fleet.hosts) == 1,
            marks=frozenset(marks.get(host.name, ())),
            phase=phases.get(host.name, ("", None))[0],
            in_proof=phases.get(host.name, ("", None))[1],
            progress=_progress(view, host.name),
            judged=verdict,
            behind=max(0, waits.get(gate_of(host), 0) - 1),
            kept=kept,
            renamed=view.renamed,
        )
        for number, (host, verdict, kept) in enumerate(shown)
    )


def shown_places(
    fleet: Fleet, chosen: Chosen | None
) -> tuple[tuple[int, tuple[int, ...] | None], ...]:
    """Return the places in the fleet of the hosts that are shown, and of each which GPUs."""
    every = places(fleet)
    if chosen is None:
        return tuple((place, None) for place in every)
    by_name = {fleet.hosts[place].name: place for place in every}
    return tuple((by_name[name], kept) for name, kept in chosen.shown if name in by_name)


def _progress(view: FrameView, name: str) -> Callable[[Gpu], GpuProgress | None] | None:
    """Return what tells of one host's GPUs while it is cleaned, and afterwards."""
    if view.cleaning is not None and (one := view.cleaning.of(name)) is not None:
        from gpudash.ui.paint.cleaning import gpu_progress

        return partial(gpu_progress, one, view.now_s)
    if view.formers:
        from gpudash.ui.paint.former import former_progress

        return partial(former_progress, view.formers, name, view.now_s)
    return None


def _phases(view: ProofView | None) -> dict[str, tuple[str, frozenset[str] | None]]:
    if view is None:
        return {}
    from gpudash.ui.paint.proving import phases

    return phases(view.proof)
