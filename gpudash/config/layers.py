"""What one configuration file says, or the environment: a layer, not yet weighed against others.

A layer keeps for each value where it stands, so that every sentence about it can say so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from gpudash.config.schema import Setting

if TYPE_CHECKING:
    from gpudash.core.cleanup.protection import Rule
    from gpudash.core.launch.checks import Check


class Origin(Enum):
    """Who speaks."""

    DEFAULT = "default"
    SITE = "site"
    USER = "user"
    ENVIRONMENT = "environment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value and where it stands."""

    value: Setting
    where: str
    """`PATH:LINE`, the name of a variable, or `default`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One line of [groups]."""

    words: tuple[str, ...]
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One [hosts."NAME or glob"]."""

    pattern: str
    """As written."""
    exact: frozenset[str]
    """Names that it means, ranges expanded, lower case."""
    globs: tuple[str, ...]
    """Globs that it means, lower case."""
    values: Mapping[str, Value]
    where: str

    def fit(self, names: frozenset[str]) -> tuple[int, int] | None:
        """Return how closely the section means a host of these names (lower case).

        The greater, the closer: a name before any glob, then the number of literal characters.
        None where it does not mean the host.
        """
        if found := self.exact & names:
            return (1, max(map(len, found)))
        fits = [len(re.sub(r"[*?]", "", glob)) for glob in self.globs if _fits(glob, names)]
        return (0, max(fits)) if fits else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One file, or the environment."""

    origin: Origin
    path: str | None = None
    """Of the file; None for the environment."""
    is_there: bool = True
    """False for a file that does not exist."""
    top: Mapping[str, Value] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    """In the order of the file."""
    cleanup: Mapping[str, Value] = field(default_factory=dict)
    protect: tuple[Rule, ...] = ()
    """In the order of the file."""
    alerts: Mapping[str, Value] = field(default_factory=dict)
    keys: Mapping[str, Value] = field(default_factory=dict)
    """Of [keys]: id of an action to its keys as written."""
    preflights: Mapping[str, Check] = field(default_factory=dict)
    """By name."""

    def host_values(self, names: frozenset[str]) -> dict[str, Value]:
        """Return what the layer says about a host; of several sections the closest counts last."""
        fitting = [(fit, section) for section in self.sections if (fit := section.fit(names))]
        found: dict[str, Value] = {}
        for _, section in sorted(fitting, key=lambda pair: pair[0]):
            found |= section.values
        return found


def _fits(glob: str, names: frozenset[str]) -> bool:
    pattern = "".join({"*": ".*", "?": "."}.get(char, re.escape(char)) for char in glob)
    return any(re.fullmatch(pattern, name) for name in names)
