"""Checks before a launch: what is looked at, on whose word, and what came of it.

Most are answered by the hand on the host that will launch. How many GPUs there are, and how many
of them read zero, is known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from gpudash.core.names import clean_text


class Kind(Enum):
    """What a check looks at."""

    PORT_FREE = "port_free"
    PATH_EXISTS = "path_exists"
    FREE_DISK = "free_disk"
    SHM = "shm"
    COMMAND = "command"
    LAUNCHABLE = "launchable"
    """The command itself: its folder, environment, program and log."""
    GPUS = "gpus"
    """So many GPUs must be in scope; after cleaning and proof so many that may be used."""

    @property
    def changes_by_cleaning(self) -> bool:
        """Tell whether ending a family may turn its answer."""
        return self in (Kind.PORT_FREE, Kind.SHM)


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that must hold before a launch."""

    name: str
    """What it is called: a section of the configuration, or what a command line names."""
    kind: Kind
    origin: str = ""
    """On whose word: `--port`, `FILE:LINE`."""
    arguments: Mapping[str, object] = field(default_factory=dict)
    """As the wire has them."""

    @property
    def row(self) -> dict[str, object]:
        """Return it as the hand is asked."""
        return {"kind": self.kind.value, **self.arguments}


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a check found."""

    check: Check
    is_ok: bool
    said: str
    """One clause."""

    @property
    def words(self) -> str:
        """Return what it found and who asked for it."""
        by = f" ({self.check.origin})" if self.check.origin else ""
        return f"{clean_text(self.said, 400)}{by}"


def at_folder(check: Check, folder: str | None) -> Check:
    """Return a check as seen from the command's folder."""
    if folder is None or check.kind not in (Kind.PATH_EXISTS, Kind.FREE_DISK, Kind.COMMAND):
        return check
    return replace(check, arguments={"cwd": folder, **check.arguments})


def first_checks(checks: tuple[Check, ...], *, will_clean: bool) -> tuple[Check, ...]:
    """Return what is looked at before anything else: what cleaning can't change.

    Where nothing is cleaned that is everything.
    """
    return tuple(one for one in checks if not (will_clean and one.kind.changes_by_cleaning))


def failed(results: tuple[Result, ...]) -> tuple[Result, ...]:
    """Return what does not hold."""
    return tuple(one for one in results if not one.is_ok)


def failed_words(results: tuple[Result, ...]) -> str:
    """Return what does not hold as one sentence."""
    return "; ".join(one.words for one in failed(results))


def count_result(check: Check, usable: int, of: str) -> Result:
    """Return whether so many GPUs are enough; `of` says which were counted."""
    wanted = check.arguments.get("count")
    count = wanted if isinstance(wanted, int) else 0
    said = f"{count} GPUs are wanted and {usable} {'is' if usable == 1 else 'are'} {of}"
    return Result(check=check, is_ok=usable >= count, said=said)
