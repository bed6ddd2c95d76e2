"""What a key of the configuration file is: its place, what it expects, its default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

Setting = str | bool | int | tuple[str, ...] | None
"""A value as the file says it; None leaves it to something else (ssh's own configuration)."""


class Place(Enum):
    """Where a key may stand."""

    TOP = "top level"
    HOST = '[hosts."NAME"]'
    CLEANUP = "[cleanup]"
    ALERTS = "[alerts]"
    PREFLIGHT = "[preflight.NAME]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key."""

    name: str
    place: Place
    expects: str
    """What a value is, as the rest of "must be …"."""
    check: Callable[[object], Setting]
    """Returns the value; raises ValueError where it is none."""
    default: Setting
    doc: str
    """One sentence."""
    example: Setting = None
    """Shown beside a default of None."""
    loosest_first: tuple[Setting, ...] = ()
    """Where the site's file says one of these, others only go further right."""
    is_least: bool = False
    """Where the site's file says a number, others say no smaller one."""

    @property
    def variable(self) -> str | None:
        """Return the environment variable that overrides the key; hosts' keys have none."""
        return f"GPUDASH_{self.name.upper()}" if self.place is Place.TOP else None

    def loosens(self, value: Setting, site: Setting) -> bool:
        """Tell whether a value allows more than the site's does."""
        if self.is_least and isinstance(value, int) and isinstance(site, int):
            return value < site
        order = self.loosest_first
        return bool(order) and order.index(value) < order.index(site)
