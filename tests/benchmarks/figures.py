"""Measured values, their medians and ratios, as a table and as JSON.

Contenders are measured in turns (A, B, A, B, …), so value number i of each belongs to the same
moment of a noisy machine; a ratio is the median of the ratios of such pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing that is measured."""

    key: str
    """As in the JSON, with its unit: `cpu_pct`."""
    title: str
    digits: int = 1


@dataclass(slots=True)
class Comparison:
    """Contenders side by side."""

    title: str
    metrics: tuple[Metric, ...]
    ratios: tuple[tuple[str, str], ...] = ()
    """Pairs of contenders: the first over the second."""
    values: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, contender: str, measured: dict[str, float | None]) -> None:
        """Keep the values of one run; None was not seen and is left out."""
        row = self.values.setdefault(contender, {})
        for key, value in measured.items():
            if value is not None:
                row.setdefault(key, []).append(value)

    def ratio(self, key: str, pair: tuple[str, str]) -> float | None:
        """Return one ratio, or None where one of the two was not measured."""
        upper, lower = (self.values.get(name, {}).get(key, []) for name in pair)
        return paired_ratio(upper, lower)

    def document(self) -> dict[str, Any]:
        """Return all of it as JSON can carry it."""
        return {
            "title": self.title,
            "contenders": {
                name: {key: summary(values) for key, values in row.items()}
                for name, row in self.values.items()
            },
            "ratios": [
                {
                    "of": pair[0],
                    "to": pair[1],
                    **{
                        metric.key: _rounded(self.ratio(metric.key, pair))
                        for metric in self.metrics
                    },
                }
                for pair in self.ratios
            ],
            "notes": self.notes,
        }

    def table(self) -> str:
        """Return the table as text: median [min–max], then the ratios."""
        rows = [["", *(metric.title for metric in self.metrics)]]
        for name, row in self.values.items():
            rows.append(
                [name, *(_spread(row.get(m.key, []), m.digits) for m in self.metrics)],
            )
        for pair in self.ratios:
            if all(name in self.values for name in pair):
                ratios = (self.ratio(metric.key, pair) for metric in self.metrics)
                rows.append([f"{pair[0]} / {pair[1]}", *(_ratio_text(r) for r in ratios)])
        return "\n".join([self.title, *aligned(rows), *(f"  {note}" for note in self.notes)])


def paired_ratio(upper: Sequence[float], lower: Sequence[float]) -> float | None:
    """Return the median ratio of pairs, of medians where the counts differ; None without any."""
    if not upper or not lower:
        return None
    if len(upper) == len(lower) and all(lower):
        return median(one / other for one, other in zip(upper, lower, strict=True))
    return median(upper) / median(lower) if median(lower) else None


def summary(values: Sequence[float]) -> dict[str, Any]:
    """Return median, least, most and all values."""
    return {
        "median": _rounded(median(values)),
        "min": _rounded(min(values)),
        "max": _rounded(max(values)),
        "values": [_rounded(value) for value in values],
    }


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines with columns: the first to the left, the others to the right."""
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines


def _spread(values: Sequence[float], digits: int) -> str:
    if not values:
        return "not seen"
    least, most = min(values), max(values)
    middle = f"{median(values):.{digits}f}"
    return middle if len(values) == 1 else f"{middle} [{least:.{digits}f}–{most:.{digits}f}]"


def _ratio_text(ratio: float | None) -> str:
    return "-" if ratio is None else f"× {ratio:.2f}"


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
