"""Finds, in the records of this user, orders whose end nobody has written down.

An order that a living gpudash follows is none of them: its reports are that one's to fetch.
"""

from __future__ import annotations

import logging
from pathlib import Path

from gpudash.core.cleanup.unfinished import Unfinished, unfinished_of
from gpudash.core.record import Record
from gpudash.services.record_files import (
    RecordError,
    is_being_written,
    list_runs,
    read_record,
    records_folder,
)

log = logging.getLogger(__name__)

MOST_RECORDS = 40
"""The newest; an older order's reports are kept nowhere any more."""


def clean_records(folder: Path) -> tuple[Record, ...]:
    """Return the newest records of cleanups, the one that was written last first."""
    records: list[Record] = []
    try:
        runs = [run for run in list_runs(folder) if "-clean-" in run]
    except OSError as error:
        log.warning("records can't be read: %s", error)
        return ()
    for run in runs[:MOST_RECORDS]:
        try:
            records.append(read_record(folder, run))
        except RecordError as error:
            # Another gpudash may have removed it; the others tell no less for that.
            log.warning("a record can't be read: %s", error)
    return tuple(records)


def unfinished_orders(folder: Path | None = None) -> tuple[Unfinished, ...]:
    """Return the orders of recent runs whose end is on no record."""
    folder = folder or records_folder()
    return unfinished_in(clean_records(folder), folder)


def unfinished_in(records: tuple[Record, ...], folder: Path) -> tuple[Unfinished, ...]:
    """Return the orders of these records whose end is on none of them, and nobody's concern."""
    found = unfinished_of(records)
    followed = {run for run in {one.run for one in found} if is_being_written(folder, run)}
    return tuple(one for one in found if one.run not in followed)
