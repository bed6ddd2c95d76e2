"""The answer to the query of names; a product name may hold commas, so it comes last."""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.readings import driver_version
from gpudash.core.smi import cells
from gpudash.core.smi.commands import NAME_QUERY


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What GPUs and their driver are called."""

    names: dict[str, str]
    """By UUID."""
    driver: str | None


def parse_names(stdout: str) -> Names:
    """Read rows of UUID, driver version and name; whatever else is there is left out."""
    names: dict[str, str] = {}
    driver = None
    for line in stdout.split("\n")[:-1]:
        split = [cell.strip() for cell in line.split(",", len(NAME_QUERY) - 1)]
        if len(split) != len(NAME_QUERY) or (uuid := cells.uuid(split[0])) is None:
            continue
        if driver_version(split[1]) is not None:
            driver = cells.name(split[1])
        if name := cells.name(split[2]):
            names[uuid] = name
    return Names(names=names, driver=driver)
