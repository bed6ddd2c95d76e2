"""Finds, in the records of this user, orders whose end nobody has written down."""

from __future__ import annotations

import logging

from gpudash.core.cleanup.unfinished import Unfinished, unfinished_of
from gpudash.core.record import Record
from gpudash.services.record_files import RecordError, list_runs, read_record, records_folder

log = logging.getLogger(__name__)

MOST_RECORDS = 40
"""The newest; an older order's reports are kept nowhere any more."""


def unfinished_orders() -> tuple[Unfinished, ...]:
    """Return the orders of recent runs whose end is on no record."""
    folder = records_folder()
    records: list[Record] = []
    try:
        for run in list_runs(folder)[:MOST_RECORDS]:
            if "-clean-" in run:
                records.append(read_record(folder, run))
    except (OSError, RecordError) as error:
        log.warning("records can't be read: %s", error)
    return unfinished_of(records)
