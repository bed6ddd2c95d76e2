"""The frozen value of a start-up, for the screen, the report and the record."""

from __future__ import annotations

from types import MappingProxyType

from gpudash.core.names import printable
from gpudash.core.startup import engines, readiness
from gpudash.core.startup.catalog import Catalog
from gpudash.core.startup.model import Startup
from gpudash.core.startup.reading import Run
from gpudash.core.startup.secrets import masked


def snapshot_of(run: Run, catalog: Catalog, *, expects_url: bool = False) -> Startup:
    """Return what is known of a run now."""
    basis, notes = readiness.judge(run, expects_url=expects_url)
    port = run.arguments.get("port", "")
    known = catalog.engines.get(run.engine or "")
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
        recent=tuple(masked(printable(line)) for line in run.recent),
        line=run.line,
        first_line=run.first_line,
        restarts=run.restarts,
        now_s=run.clock.now_s,
        model=run.arguments.get("model_path") or run.arguments.get("model", ""),
        told_s=run.told_s,
        port=int(port) if port.isdigit() else (known.port if known else None),
        ready_at_s=run.ready_at_s,
    )
