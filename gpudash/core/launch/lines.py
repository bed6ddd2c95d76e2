"""What the hand tells of checks and of programs that it started, from JSON to events."""

from __future__ import annotations

from gpudash.core.checked import InvalidLine, a_count, a_list, a_text, an_object
from gpudash.core.events import Exited, Launched, Preflighted

_MOST_CODE = 1 << 32


def event_of_launch(value: object) -> Launched | Exited | Preflighted:
    """Return what a line of type `launched`, `exited` or `preflight` says. Raises InvalidLine."""
    line = an_object(value)
    match line.get("t"):
        case "launched":
            return Launched(
                id=a_count(line.get("id"), "id"),
                pid=a_count(line.get("pid"), "pid", least=2),
                start_ticks=a_count(line.get("start"), "start"),
                log=a_text(line.get("log"), "log"),
                inode=a_count(line.get("inode"), "inode"),
                offset=a_count(line.get("offset"), "offset"),
                cwd=a_text(line.get("cwd"), "cwd"),
            )
        case "exited":
            return Exited(
                id=a_count(line.get("id"), "id"),
                pid=a_count(line.get("pid"), "pid", least=2),
                code=_code(line.get("code")),
            )
        case _:
            rows = a_list(line.get("results"), "results")
            return Preflighted(
                id=a_count(line.get("id"), "id"), results=tuple(_result(row) for row in rows)
            )


def _code(value: object) -> int | None:
    if value is None:
        return None
    if type(value) is not int or not -_MOST_CODE < value < _MOST_CODE:
        raise InvalidLine("code is not a whole number")
    return value


def _result(value: object) -> tuple[bool, str]:
    row = a_list(value, "a result")
    if len(row) != 2 or not isinstance(row[0], bool):
        raise InvalidLine("a result is not a truth and a text")
    return row[0], a_text(row[1], "a clause")
