"""Which known word a mistyped one probably meant."""

from __future__ import annotations

from collections.abc import Iterable


def edit_distance(one: str, other: str, limit: int) -> int:
    """Return the number of inserted, dropped, changed or swapped letters, at most limit + 1."""
    if abs(len(one) - len(other)) > limit:
        return limit + 1
    older: list[int] = []
    old = list(range(len(other) + 1))
    for row, left in enumerate(one, start=1):
        new = [row]
        for column, right in enumerate(other, start=1):
            cost = min(old[column] + 1, new[-1] + 1, old[column - 1] + (left != right))
            if row > 1 and column > 1 and left == other[column - 2] and one[row - 2] == right:
                cost = min(cost, older[column - 2] + 1)
            new.append(cost)
        older, old = old, new
    return min(old[-1], limit + 1)


def nearest(word: str, known: Iterable[str], limit: int = 2) -> str | None:
    """Return the known word within `limit` edits that is nearest, or None."""
    best = min(known, key=lambda name: (edit_distance(word, name, limit), name), default=None)
    if best is None or edit_distance(word, best, limit) > limit:
        return None
    return best
