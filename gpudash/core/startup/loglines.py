"""What a hand tells of a log, of the processes behind it and of a URL, checked."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from gpudash.core.checked import (
    InvalidLine,
    a_count,
    a_list,
    a_text,
    maybe_count,
    maybe_number,
    maybe_text,
)
from gpudash.core.events import LogTold, UrlTold


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSigns:
    """What the processes behind a log did until now."""

    pid: int
    is_gone: bool
    at_s: float
    """The host's clock."""
    read_bytes: int | None
    cpu_s: float
    pids: frozenset[int]
    age_s: float | None
    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPiece:
    """Bytes of a log at a place, or a note of what happened to it."""

    data: bytes
    offset: int
    """Where the data begins."""
    inode: int | None
    note: str = ""
    """`opened`, `nobody`, `live`, `rotated`, `truncated`, `replaced`, `waiting`, `gone`, `denied`,
    `ended`, `unreadable` or `failed`."""
    words: str = ""
    line: int | None = None
    """Number of the line that begins here, where the host knows it."""
    age_s: float | None = None
    """Of `opened`: since the file was last written to."""
    head: tuple[int, int] | None = None
    """Length and checksum of the file's first bytes; None: as told before."""
    cursor: tuple[str | int, ...] | None = None
    """Where a command's output is taken up again; None: as told before."""
    code: int | None = None
    """Exit code of a command that ended."""
    signs: TreeSigns | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlAnswer:
    """What a URL answered."""

    status: int | None
    error: str
    """Why there is no status."""
    pids: frozenset[int]
    """Who listens on its port, as far as can be seen."""


def told_of(line: dict[str, object]) -> LogTold | UrlTold:
    """Return the event of a line of type `log` or `url`. Raises InvalidLine."""
    number = a_count(line.get("id"), "id")
    if line.get("t") == "url":
        pids = a_list(line.get("pids", []), "pids")
        answer = UrlAnswer(
            status=maybe_count(line.get("status"), "status"),
            error=a_text(line.get("error", ""), "error"),
            pids=frozenset(a_count(pid, "pid") for pid in pids),
        )
        return UrlTold(id=number, answer=answer)
    return LogTold(id=number, told=_piece(line))


def _piece(line: dict[str, object]) -> LogPiece:
    try:
        data = base64.b64decode(a_text(line.get("data", ""), "data"), validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidLine("data is not base64") from error
    signs = line.get("signs")
    code = line.get("code")
    return LogPiece(
        data=data,
        offset=a_count(line.get("offset"), "offset"),
        inode=maybe_count(line.get("inode"), "inode"),
        note=a_text(line.get("note", ""), "note"),
        words=maybe_text(line.get("words"), "words") or "",
        line=maybe_count(line.get("line"), "line"),
        age_s=maybe_number(line.get("age"), "age"),
        head=_head(line.get("head")),
        cursor=_cursor(line.get("cursor")),
        code=code if isinstance(code, int) else None,
        signs=_signs(signs) if isinstance(signs, dict) else None,
    )


def _head(value: object) -> tuple[int, int] | None:
    if value is None:
        return None
    items = a_list(value, "head")
    if len(items) != 2:
        raise InvalidLine("head has not 2 items")
    return a_count(items[0], "head"), a_count(items[1], "head")


def _cursor(value: object) -> tuple[str | int, ...] | None:
    if value is None:
        return None
    items = a_list(value, "cursor")
    if not all(isinstance(item, str | int) for item in items):
        raise InvalidLine("not a cursor")
    return tuple(items)


def _signs(value: dict[str, object]) -> TreeSigns:
    return TreeSigns(
        pid=a_count(value.get("pid"), "pid"),
        is_gone=value.get("gone") is True,
        at_s=maybe_number(value.get("at"), "at") or 0.0,
        read_bytes=maybe_count(value.get("read"), "read"),
        cpu_s=maybe_number(value.get("cpu"), "cpu") or 0.0,
        pids=frozenset(a_count(pid, "pid") for pid in a_list(value.get("pids", []), "pids")),
        age_s=maybe_number(value.get("age"), "age"),
        argv=tuple(a_text(word, "argv") for word in a_list(value.get("argv", []), "argv")),
    )
