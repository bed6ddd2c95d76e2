"""Reads the history the way charts want it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gpudash.core.history import History, Series

Utilisation = Callable[[str, int, int], tuple[int | None, ...]]
"""GPU key, columns, seconds a column: percentages, oldest first; None is a gap."""


def utilisation_of(history: History, host: str, second: int) -> Utilisation:
    """Return what answers for one host's utilisation up to a second.

    A column is the largest of its seconds, and columns lie on a fixed grid: a chart moves by
    whole columns and never shimmers.
    """

    def answer(gpu: str, columns: int, each_s: int) -> tuple[int | None, ...]:
        ring = history.ring(host, gpu, Series.UTILISATION)
        if ring is None:
            return (None,) * columns
        return ring.columns(ring.latest(second), columns, each_s)

    return answer


def seed(
    history: History, host: str, gpu: str, now_s: int, rows: Iterable[tuple[int | None, ...]]
) -> None:
    """Store readings of the seconds before `now_s`, oldest first."""
    past = list(rows)
    for age, row in zip(range(len(past), 0, -1), past, strict=True):
        history.put(host, gpu, now_s - age, row)
