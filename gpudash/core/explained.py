"""A record as a story that a person can read; `core/storytelling.py` writes it down.

Nothing here knows the kinds of lines. Each line brings its own sentence; what it carries besides is
shown by the name of the member: a list of objects is a table, a list of texts its items, a command
one line that a shell takes. A new kind of line needs no change here.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpudash.core.names import clean_text, printable
from gpudash.core.record import BEGIN, END, Record
from gpudash.core.units import format_memory

_KNOWN = frozenset(
    (
        "schema",
        "run",
        "n",
        "utc",
        "kind",
        "says",
        "host",
        "host_monotonic_s",
        "boot_id",
        "exit_code",
    )
)
_SAID_ABOVE = frozenset(("command", "gpudash", "user", "machine", "hosts", "simulated"))
"""Members of the first line that stand in the head."""
_LONG_COLUMNS = 8
_CELL = 120
_SAYS = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A list of objects."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One line of the record."""

    at: str
    """Time of day, UTC."""
    host: str
    host_clock: str
    kind: str
    says: str
    facts: tuple[str, ...]
    """`name: value`, one each."""
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """A whole record, cleaned of what steers a terminal."""

    run: str
    command: str
    began: str
    about: tuple[str, ...]
    """Who, where, with what."""
    outcome: str
    events: tuple[Event, ...]
    doubts: tuple[str, ...]
    """What is wrong with the record itself."""


def told(record: Record) -> Story:
    """Return a record as a story."""
    first = record.first
    began = str(record.lines[0].get("utc", "")) if record.lines else ""
    return Story(
        run=record.run,
        command=_command(first.get("command")),
        began=began.replace("T", " ").partition(".")[0] + (" UTC" if began else ""),
        about=_about(record),
        outcome=_outcome(record),
        events=tuple(_event(line) for line in record.lines if line.get("kind") != BEGIN),
        doubts=_doubts(record),
    )


def _about(record: Record) -> tuple[str, ...]:
    first = record.first
    simulated = ("SIMULATED",) if any(one.get("simulated") for one in record.lines) else ()
    if not first:
        return simulated
    hosts = first.get("hosts")
    names = ", ".join(_text(name) for name in hosts) if isinstance(hosts, list) else "?"
    about = [
        f"on {names}",
        f"by {_text(first.get('user'))} at {_text(first.get('machine'))}",
        f"gpudash {_text(first.get('gpudash'))}",
    ]
    return (*about, *simulated)


def _outcome(record: Record) -> str:
    if not record.has_ended:
        return "no end is on record: it still runs, or was killed"
    code = record.last.get("exit_code")
    return f"{_text(record.last.get('says'), _SAYS)} (exit {_text(code)})"


def _doubts(record: Record) -> tuple[str, ...]:
    doubts = []
    if record.is_torn:
        doubts.append("the last line was cut off and is left out")
    if record.damaged:
        doubts.append(f"{record.damaged} damaged lines are left out")
    if not record.first:
        doubts.append("its first line is missing")
    return tuple(doubts)


def _event(line: Mapping[str, object]) -> Event:
    kind = _text(line.get("kind"), 16)
    skipped = _KNOWN | (_SAID_ABOVE if kind == BEGIN else frozenset())
    facts: list[str] = []
    tables: list[Table] = []
    for name, value in line.items():
        if name in skipped or value is False or value in (None, [], {}, ""):
            continue
        if isinstance(value, list) and all(isinstance(item, dict) for item in value):
            tables.append(_table(name, value))
        else:
            facts += _facts(name, value)
    clock = line.get("host_monotonic_s")
    code = line.get("exit_code")
    ending = f" (exit {_text(code)})" if kind == END and code is not None else ""
    return Event(
        at=_text(line.get("utc")).partition("T")[2].rstrip("Z"),
        host=_text(line.get("host") or ""),
        host_clock="" if clock is None else f"{clock} s",
        kind=kind,
        says=_text(line.get("says"), _SAYS) + ending,
        facts=tuple(facts),
        tables=tuple(tables),
    )


def _facts(name: str, value: object) -> list[str]:
    label = _label(name)
    if name in ("command", "argv"):
        return [f"{label}: {_command(value)}"]
    if isinstance(value, list):
        return [f"{label}: {_value(name, item)}" for item in value]
    return [f"{label}: {_value(name, value)}"]


def _table(name: str, items: Sequence[Mapping[str, object]]) -> Table:
    columns: dict[str, None] = {}
    for item in items:
        columns |= dict.fromkeys(key for key, value in item.items() if value not in (None, [], ""))
    header = tuple(columns)[:_LONG_COLUMNS]
    return Table(
        title=_label(name),
        header=tuple(_label(column) for column in header),
        rows=tuple(tuple(_value(key, item.get(key)) for key in header) for item in items),
    )


def _label(name: str) -> str:
    """Return a member's name as a word: the unit is written with the value."""
    return _text(re.sub(r"_(bytes|s)$", "", name).replace("_", " "), 40)


def _value(name: str, value: object) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("_bytes") and isinstance(value, int):
        return format_memory(value)
    if name.endswith("_s") and isinstance(value, int | float):
        return f"{value:.2f} s"
    if name in ("command", "argv"):
        return _command(value)
    if isinstance(value, dict):
        return _text(_item(value)) or "–"
    if isinstance(value, list) and not any(isinstance(item, list) for item in value):
        return _text(", ".join(_item(item) for item in value)) or "–"
    return _text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _item(item: object) -> str:
    """Return one item of a list; of an object, what it says without its names."""
    if not isinstance(item, dict):
        return str(item)
    known = ((name, value) for name, value in item.items() if value not in (None, [], ""))
    said = (_value(name, value) for name, value in known)
    return " ".join(said)


def _command(value: object) -> str:
    """Return a command as one line: of words as a shell takes them; a line stays as it is."""
    if isinstance(value, str):
        return _text(value, _SAYS) or "?"
    words = value if isinstance(value, list) else []
    return printable(" ".join(shlex.quote(str(word)) for word in words))[:_SAYS] or "?"


def _text(value: object, limit: int = _CELL) -> str:
    return clean_text("–" if value is None else str(value), limit)
