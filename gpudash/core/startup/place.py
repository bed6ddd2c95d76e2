"""Where in a log we are, so that a cut link goes on with the very next byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpudash.core.startup.catalog import Catalog
from gpudash.core.startup.following import FollowSpec, LogSource
from gpudash.core.startup.loglines import LogPiece

_MOVED = frozenset({"opened", "rotated", "truncated", "replaced"})
"""What is told with these notes begins at another place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The next byte to read. Nothing is known before the first piece."""

    inode: int | None = None
    offset: int | None = None
    head: tuple[int, int] | None = None
    cursor: tuple[str | int, ...] | None = None
    path: str = ""
    """Of the file, as the host told it: the pid that led there may be gone."""


def beginning(spec: FollowSpec) -> Place:
    """Return where a log is begun to be read."""
    return Place(inode=spec.place[0], offset=spec.place[1]) if spec.place else Place()


def taken(place: Place, piece: LogPiece) -> tuple[Place, bytes]:
    """Return the place behind a piece, and what of its data is new."""
    at, data = piece.offset, piece.data
    if place.offset is not None and piece.inode == place.inode and piece.note not in _MOVED:
        # A file's hole is skipped forwards; nothing is read twice.
        data = data[max(0, place.offset - at) :]
        at = max(at, place.offset)
    moved = replace(
        place,
        inode=piece.inode,
        offset=at + len(data),
        head=piece.head or place.head,
        cursor=piece.cursor or place.cursor,
        path=piece.words if piece.note == "opened" else place.path,
    )
    return moved, data


def tail_arguments(
    spec: FollowSpec, place: Place, catalog: Catalog, pid: int | None
) -> dict[str, object]:
    """Return what the hand is told to follow, from where."""
    told: dict[str, object] = {"of": _of(spec.source), "from": spec.start}
    if pid is not None:
        told["pid"] = pid
    if spec.is_finished:
        told["once"] = True
    if place.cursor is not None:
        told["cursor"] = list(place.cursor)
    if place.offset is not None and place.inode is not None:
        told["from"] = place.offset
        told["of"] = {"path": place.path} if place.path else told["of"]
        told["inode"] = place.inode
        told["head"] = None if place.head is None else list(place.head)
    elif spec.source.kind in ("path", "pid") and spec.start == "anchor":
        told["anchors"] = anchors_of(catalog)
    return told


def _of(source: LogSource) -> Mapping[str, object]:
    if source.kind == "argv":
        return {"argv": list(source.argv)}
    return {source.kind: int(source.value) if source.kind == "pid" else source.value}


def anchors_of(catalog: Catalog) -> list[list[object]]:
    """Return word, pattern and whether it begins a run, for each line that may stand there."""
    found: list[list[object]] = []
    for markers in catalog.markers.values():
        for marker in markers:
            if marker.kind in ("anchor", "prelude") and not marker.late:
                is_anchor = marker.kind == "anchor"
                rows = [[word, marker.pattern.source, is_anchor] for word in marker.has if word]
                found += [row for row in rows if row not in found]
    return found
