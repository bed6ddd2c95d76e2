"""What is known of engines and failures, as values: markers, evidence, failures, and their index.

`catalog_document` builds them from two documents of data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

MATCHED_CHARS = 2048
"""Patterns look at so much of a message; `whole` ones at all of it."""


class Worded(Protocol):
    """Whatever can be looked at only where one of its words is there."""

    @property
    def has(self) -> tuple[str, ...]:
        """The words."""


Item = TypeVar("Item", bound=Worded)


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


class Index(Generic[Item]):
    """Finds the few items whose words are in a text: one look a word, not one a pattern.

    Words that have a part in common are looked for together by that part.
    """

    __slots__ = ("_found", "_items", "_places", "_text", "words")

    def __init__(self, items: Sequence[Item], shared: tuple[str, ...] = ()) -> None:
        places: dict[str, list[int]] = {}
        for at, item in enumerate(items):
            for word in item.has:
                looked_for = next((part for part in shared if part in word), word)
                places.setdefault(looked_for, []).append(at)
        self._items = tuple(items)
        self._places = tuple((word, tuple(found)) for word, found in places.items())
        self.words = len(places)
        """How many are looked for."""
        # Eight ranks say the same, one after the other.
        self._text = ""
        self._found: list[Item] = []

    def in_text(self, text: str) -> list[Item]:
        """Return what may fit the text, in the catalog's order."""
        if text == self._text:
            return self._found
        found: list[int] = []
        for word, places in self._places:
            if word in text:
                found += places
        if len(found) > 1:
            found = sorted(set(found))
        self._text, self._found = text, [self._items[at] for at in found]
        return self._found


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
    trains: bool = False
    hides: bool = False
    ends_at_progress: bool = False
    anchors_after_ready: bool = False

    def match(self, message: str) -> re.Match[str] | None:
        """Return what the pattern finds in a message that has one of its words."""
        text = message if self.whole else message[:MATCHED_CHARS]
        compiled = self.pattern.compiled
        return compiled.search(text) if self.search else compiled.match(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A line that begins a run, and of which engines."""

    has: tuple[str, ...]
    marker: Marker
    engines: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A line that tells which engine writes."""

    engine: str
    has: tuple[str, ...] = ()
    pattern: Pattern | None = None
    writer: str = ""

    def found(self, message: str) -> tuple[bool, str]:
        """Return whether a message with one of its words is evidence, and the version it tells."""
        if self.pattern is None:
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

    kind: str
    """`ignored`, `survived` or `introducers`."""
    has: tuple[str, ...]
    pattern: Pattern

    def fits(self, message: str) -> bool:
        """Return whether a message with one of its words is one of these."""
        return self.pattern.compiled.search(message[:MATCHED_CHARS]) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All that is known."""

    engines: Mapping[str, Engine]
    markers: Mapping[str, tuple[Marker, ...]]
    indexes: Mapping[str, Index[Marker]]
    failures: Index[FailurePattern]
    words: Index[Words]
    """Ignored lines, those that say something was survived, and those before vain tracebacks."""
    evidence: Mapping[str, Index[Evidence]]
    """By the engine that is known (empty: none): what would name another one, or its version."""
    anchors: Index[Anchor]
    writers: Mapping[str, str]
    """Engines that their loggers' names give away."""
    hints: Mapping[str, str]

    def markers_in(self, engine: str, message: str) -> list[Marker]:
        """Return an engine's markers that may fit; where none is known, any trainer's or server's.

        They are in the catalog's order.
        """
        known = self.engines.get(engine)
        return self.indexes[known.markers if known else "generic"].in_text(message)
