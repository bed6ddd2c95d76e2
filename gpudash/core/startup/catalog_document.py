"""Build the catalog from its two documents, `markers.toml` and `failures.toml`.

The core reads no files: `config/markers.py` does. A document that is wrong raises ValueError at
once and names the entry, so a pattern that can never match is no silent gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpudash.core.startup.catalog import (
    Anchor,
    Catalog,
    Engine,
    Evidence,
    FailurePattern,
    Index,
    Marker,
    Pattern,
    Words,
)

KINDS = ("start", "progress", "end", "number", "ready", "beat", "anchor", "prelude")
HOW = ("first", "last", "rank0", "sum", "list")
WORDS = ("ignored", "survived", "introducers")
_IN_FAILURES = (
    "rror", "rrno", "iled", "mory", "lled", "xception", "not ", "valid", "died", "river", "xit",
    "atch", "in use", "code", "supported", "shape", "divisible", "dule", "shm",
)  # fmt: skip
"""Parts of words that half of all failures have and few other lines."""


def build(markers: Mapping[str, Any], failures: Mapping[str, Any]) -> Catalog:
    """Build the catalog from both documents. Raises ValueError naming what is wrong in them."""
    tables = {name: tuple(map(_marker, rows)) for name, rows in markers["markers"].items()}
    hub = tables.pop("hub")
    unknown = tables.pop("generic")
    training = tables["training"]
    engines = {name: _engine(name, row) for name, row in markers["engines"].items()}
    for engine in engines.values():
        if engine.markers not in tables:
            raise ValueError(f"markers of {engine.name}: there are none")
    tables = {
        **{name: hub + rows for name, rows in tables.items()},
        "generic": hub + training + unknown,
    }
    return Catalog(
        engines=engines,
        markers=tables,
        indexes={name: Index(rows) for name, rows in tables.items()},
        failures=Index(tuple(map(_failure, failures["failures"])), _IN_FAILURES),
        words=Index([word for kind in WORDS for word in _words(failures, kind)]),
        evidence={name: Index(_evidence_beside(name, engines)) for name in ("", *engines)},
        anchors=_anchors(tables, engines),
        writers={
            proof.writer: name
            for name, engine in engines.items()
            for proof in engine.evidence
            if proof.writer
        },
        hints=dict(failures["hints"]),
    )


def _anchors(
    tables: Mapping[str, tuple[Marker, ...]], engines: Mapping[str, Engine]
) -> Index[Anchor]:
    found = []
    for table, rows in tables.items():
        names = frozenset(name for name, engine in engines.items() if engine.markers == table)
        found += [
            Anchor(has=marker.has, marker=marker, engines=names)
            for marker in rows
            if marker.kind == "anchor" and names
        ]
    return Index(found)


def _evidence_beside(known: str, engines: Mapping[str, Engine]) -> list[Evidence]:
    """Return the evidence that still counts where an engine is known."""
    return [
        proof
        for name, engine in engines.items()
        if known in ("", name) or known in engine.over
        for proof in engine.evidence
        if proof.pattern is not None and (name != known or "(?P<version>" in proof.pattern.source)
    ]


_MARKER_KEYS = {
    "phase", "kind", "has", "re", "seen", "keep", "keep_draft", "how", "unit", "count", "closes",
    "opens", "within", "from", "writer", "again", "once", "whole", "search", "repeats", "late",
    "trains", "hides", "at", "anchors_after_ready",
}  # fmt: skip


def _marker(row: Mapping[str, Any]) -> Marker:
    told = f"marker {row.get('phase')} {row.get('re')}"
    if unknown := set(row) - _MARKER_KEYS:
        raise ValueError(f"{told}: unknown {', '.join(sorted(unknown))}")
    if row["kind"] not in KINDS:
        raise ValueError(f"{told}: kind {row['kind']}")
    how = row.get("how", "first")
    if how not in HOW and not how.startswith("by:"):
        raise ValueError(f"{told}: how {how}")
    within = row.get("within", "")
    return Marker(
        phase=row["phase"],
        kind=row["kind"],
        has=tuple(row["has"]),
        pattern=Pattern(row["re"]),
        seen=row["seen"],
        keep=row.get("keep", {}),
        keep_draft=row.get("keep_draft", {}),
        how=how,
        unit=row.get("unit", ""),
        count=row.get("count", ""),
        closes=row.get("closes", ""),
        opens=row.get("opens", ""),
        within=row["phase"] if within is True else within,
        begins_after=row.get("from", ""),
        writer=row.get("writer", ""),
        extends=row.get("again") == "extend",
        once=row.get("once", False),
        whole=row.get("whole", False),
        search=row.get("search", False),
        repeats=row.get("repeats", False),
        late=row.get("late", False),
        trains=row.get("trains", False),
        hides=row.get("hides", False),
        ends_at_progress=row.get("at") == "progress",
        anchors_after_ready=row.get("anchors_after_ready", False),
    )


def _engine(name: str, row: Mapping[str, Any]) -> Engine:
    return Engine(
        name=name,
        title=row["title"],
        markers=row.get("uses", name),
        evidence=tuple(
            Evidence(
                engine=name,
                has=tuple(item.get("has", ())),
                pattern=Pattern(item["re"]) if "re" in item else None,
                writer=item.get("writer", ""),
            )
            for item in row["detect"]
        ),
        over=frozenset(row["over"]),
        is_launched_by_anchor=row.get("launch") == "anchor",
        binds_early=row.get("bind") == "early",
        ready_is_proof=row.get("ready_is_proof", True),
        health=tuple(row.get("health", ())),
        port=row.get("port"),
    )


def _failure(row: Mapping[str, Any]) -> FailurePattern:
    if row["tier"] not in (1, 2, 3):
        raise ValueError(f"failure {row['kind']}: tier {row['tier']}")
    return FailurePattern(
        kind=row["kind"],
        tier=row["tier"],
        has=tuple(row["has"]),
        pattern=Pattern(row["re"]),
        is_weak=row.get("weak", False),
        opens=row.get("opens", False),
    )


def _words(document: Mapping[str, Any], kind: str) -> list[Words]:
    return [
        Words(kind=kind, has=tuple(row["has"]), pattern=Pattern(row["re"]))
        for row in document[kind]
    ]
