"""The frozen value of a start-up, for the screen, the report and the record."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from gpudash.core.startup import engines, readiness
from gpudash.core.startup.model import Startup

if TYPE_CHECKING:
    from gpudash.core.startup.tracker import Tracker


def snapshot(state: Tracker) -> Startup:
    """Return what is known now."""
    run = state.run
    basis, notes = readiness.judge(run, expects_url=state.expects_url)
    port = run.arguments.get("port", "")
    known = state.catalog.engines.get(run.engine or "")
    return Startup(
        engine=engines.title(run),
        version=run.version,
        phases=tuple(run.phases),
        ready_line=run.ready_line,
        ready_s=run.ready_s,
        ready_basis=basis,
        failure=run.failure,
        numbers=MappingProxyType(dict(run.numbers)),
        notes=notes,
        recent=run.recent,
        line=run.line,
        first_line=run.first_line,
        restarts=run.restarts,
        now_s=run.clock.now_s,
        port=int(port) if port.isdigit() else (known.port if known else None),
    )
