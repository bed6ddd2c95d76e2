"""What is known of engines and failures, as values built from two documents of data.

The core reads no files: `config/markers.py` reads them. A document that is wrong raises ValueError
at once and names the entry, so a pattern that can never match is no silent gap.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MATCHED_CHARS = 2048
"""Patterns look at so much of a message; `whole` ones at all of it."""
KINDS = ("start", "progress", "end", "number", "ready", "beat", "anchor", "prelude")
HOW = ("first", "last", "rank0", "sum", "list")


class Pattern:
    """A regular expression that is compiled when it is first needed."""

    __slots__ = ("_compiled", "source")

    def __init__(self, source: str) -> None:
        self.source = source
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The compiled expression. Raises ValueError where the data is wrong."""
        if self._compiled is None:
            try:
                self._compiled = re.compile(self.source)
            except re.error as error:
                raise ValueError(f"not a pattern: {self.source}") from error
        return self._compiled


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """A line that means something for a phase; the fields are described in markers.toml."""

    phase: str
    kind: str
    has: tuple[str, ...]
    pattern: Pattern
    seen: str
    keep: Mapping[str, str] = field(default_factory=dict)
    keep_draft: Mapping[str, str] = field(default_factory=dict)
    how: str = "first"
    unit: str = ""
    count: str = ""
    closes: str = ""
    opens: str = ""
    within: str = ""
    begins_after: str = ""
    writer: str = ""
    extends: bool = False
    once: bool = False
    whole: bool = False
    search: bool = False
    repeats: bool = False
    late: bool = False
    hides: bool = False
    ends_at_progress: bool = False
    anchors_after_ready: bool = False

    def match(self, message: str) -> re.Match[str] | None:
        """Return what the pattern finds, or None; cheap for a line that can't match."""
        for word in self.has:
            if word in message:
                break
        else:
            return None
        text = message if self.whole else message[:MATCHED_CHARS]
        compiled = self.pattern.compiled
        return compiled.search(text) if self.search else compiled.match(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A line that tells which engine writes."""

    has: tuple[str, ...] = ()
    pattern: Pattern | None = None
    writer: str = ""

    def found(self, message: str, writer: str) -> tuple[bool, str]:
        """Return whether the line is evidence, and the version where it says one."""
        if self.writer:
            return writer == self.writer, ""
        if self.pattern is None or not any(word in message for word in self.has):
            return False, ""
        match = self.pattern.compiled.match(message[:MATCHED_CHARS])
        if match is None:
            return False, ""
        return True, match.groupdict().get("version") or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine: how it is recognised and how it behaves."""

    name: str
    title: str
    markers: str
    """Whose markers it uses."""
    evidence: tuple[Evidence, ...]
    over: frozenset[str]
    """Engines whose lines it may write too: it is taken for itself when both are seen."""
    is_launched_by_anchor: bool
    binds_early: bool
    ready_is_proof: bool
    health: tuple[str, ...]
    port: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailurePattern:
    """A line that looks like a failure."""

    kind: str
    tier: int
    has: tuple[str, ...]
    pattern: Pattern
    is_weak: bool = False
    opens: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A line that is to be known and means no failure."""

    has: tuple[str, ...]
    pattern: Pattern

    def fits(self, message: str) -> bool:
        """Return whether the message is one of these."""
        if not any(word in message for word in self.has):
            return False
        return self.pattern.compiled.search(message[:MATCHED_CHARS]) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All that is known."""

    engines: Mapping[str, Engine]
    markers: Mapping[str, tuple[Marker, ...]]
    failures: tuple[FailurePattern, ...]
    ignored: tuple[Words, ...]
    survived: tuple[Words, ...]
    introducers: tuple[Words, ...]
    hints: Mapping[str, str]

    def markers_of(self, engine: str) -> tuple[Marker, ...]:
        """Return an engine's markers in order; of an unknown one, what fits any training or server."""
        known = self.engines.get(engine)
        return self.markers[known.markers if known else "generic"]


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
    return Catalog(
        engines=engines,
        markers={
            **{name: hub + rows for name, rows in tables.items()},
            "generic": hub + training + unknown,
        },
        failures=tuple(map(_failure, failures["failures"])),
        ignored=_words(failures["ignored"]),
        survived=_words(failures["survived"]),
        introducers=_words(failures["introducers"]),
        hints=dict(failures["hints"]),
    )


_MARKER_KEYS = {
    "phase", "kind", "has", "re", "seen", "keep", "keep_draft", "how", "unit", "count", "closes",
    "opens", "within", "from", "writer", "again", "once", "whole", "search", "repeats", "late", "hides",
    "at", "anchors_after_ready",
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


def _words(rows: Sequence[Mapping[str, Any]]) -> tuple[Words, ...]:
    return tuple(Words(has=tuple(row["has"]), pattern=Pattern(row["re"])) for row in rows)
