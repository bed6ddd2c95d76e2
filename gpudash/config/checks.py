"""Checks of values in a configuration file: each returns the value, or raises ValueError."""

from __future__ import annotations

from collections.abc import Callable

from gpudash.config.key import Setting
from gpudash.core.errors import UsageError
from gpudash.core.units import parse_duration

MIN_INTERVAL_S = 0.1
MAX_INTERVAL_S = 3600.0


def flag(value: object) -> Setting:
    if not isinstance(value, bool):
        raise ValueError
    return value


def text(value: object) -> Setting:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError
    return value


def program(value: object) -> Setting:
    if str(text(value)).startswith("-") or " " in str(value):
        raise ValueError
    return str(value)


def user(value: object) -> Setting:
    from gpudash.core.hostspec import parse_destination

    try:
        return parse_destination(f"{text(value)}@name").user
    except UsageError as error:
        raise ValueError from error


def port(value: object) -> Setting:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 65535:
        raise ValueError
    return value


def gpus(value: object) -> Setting:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 128:
        raise ValueError
    return value


def bound(most: int) -> Callable[[object], Setting]:
    """Return a check for a number from 1 to `most`, or false for no bound."""

    def check(value: object) -> Setting:
        if value is False:
            return False
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise ValueError
        return value

    return check


def argv(value: object) -> Setting:
    if not isinstance(value, list) or not value:
        raise ValueError
    return tuple(str(text(word)) for word in value)


def duration(value: object) -> Setting:
    try:
        seconds = parse_duration(str(text(value)), flag="interval")
    except UsageError as error:
        raise ValueError from error
    if not MIN_INTERVAL_S <= seconds <= MAX_INTERVAL_S:
        raise ValueError
    return str(value)


def one_of(*words: str) -> Callable[[object], Setting]:
    def check(value: object) -> Setting:
        if not isinstance(value, str) or value not in words:
            raise ValueError
        return value

    return check
