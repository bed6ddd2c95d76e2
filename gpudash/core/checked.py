"""Small readers of what a wire's line says: a wrong type is an error, never a default."""

from __future__ import annotations

from gpudash.core import nvml
from gpudash.core.names import printable

TYPE_CHECKING = False  # typing takes 5 ms to import, and `check` needs nothing else of it
if TYPE_CHECKING:
    from typing import Any


class InvalidLine(ValueError):
    """A line that the wire does not allow."""


def an_object(value: object) -> dict[str, Any]:
    """Return a JSON object. Raises InvalidLine."""
    if not isinstance(value, dict):
        raise InvalidLine("not an object")
    return value


def a_list(value: object, what: str) -> list[Any]:
    """Return a JSON list. Raises InvalidLine."""
    if not isinstance(value, list):
        raise InvalidLine(f"{what} is not a list")
    return value


def a_count(value: object, what: str, *, least: int = 0) -> int:
    """Return a whole number from `least` on. Raises InvalidLine."""
    if type(value) is not int or not least <= value <= nvml.NOT_AVAILABLE_U64:
        raise InvalidLine(f"{what} is not a whole number")
    return value


def a_number(value: object, what: str, *, most: float = 1e15) -> float:
    """Return a number from 0 on. Raises InvalidLine."""
    if type(value) not in (int, float) or not 0 <= value <= most:  # type: ignore[operator]
        raise InvalidLine(f"{what} is not a number")
    return float(value)  # type: ignore[arg-type]


def a_text(value: object, what: str) -> str:
    """Return a text that can be printed. Raises InvalidLine."""
    if not isinstance(value, str):
        raise InvalidLine(f"{what} is not a text")
    if value.isprintable():
        return value
    # JSON can spell half a character; nothing could print it.
    return printable(value.encode("utf-8", "replace").decode())


def maybe_text(value: object, what: str) -> str | None:
    """Return a text, or None for null. Raises InvalidLine."""
    return None if value is None else a_text(value, what)


def maybe_count(value: object, what: str) -> int | None:
    """Return a whole number, or None for null. Raises InvalidLine."""
    return None if value is None else a_count(value, what)


def maybe_bytes(value: object, what: str) -> int | None:
    """Return an amount; NVML's "not available" is none."""
    number = maybe_count(value, what)
    return None if number == nvml.NOT_AVAILABLE_U64 else number
