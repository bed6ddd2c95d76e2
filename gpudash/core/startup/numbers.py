"""Numbers worth keeping: what an engine says of weights, KV cache, graphs and seconds."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpudash.core.startup.catalog import Marker
from gpudash.core.startup.model import Number
from gpudash.core.startup.reading import Record, Run

_INTEGER = re.compile(r"-?\d+")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+")
_REAL = re.compile(r"-?(?:\d+\.\d*|\d*\.\d+|\d+)(?:[eE][+-]?\d+)?")
BLOCK_TOKENS = 16
"""vLLM V0 counts its cache in blocks; it does not print their size, and 16 is the default."""


def keep(run: Run, marker: Marker, match: re.Match[str], record: Record, *, draft: bool) -> None:
    """Keep what this marker's line tells, by the marker's rule for ranks and passes."""
    wanted = marker.keep_draft if draft else marker.keep
    if not wanted:
        return
    if marker.how == "first" and all(name in run.numbers for name in wanted):
        return
    found = {key: value for key, value in match.groupdict().items() if value is not None}
    for name, groups in wanted.items():
        value = _value(groups, found, is_list=marker.how == "list")
        if value is not None:
            _store(run, name, value, marker.how, found, record.rank)
    if "gpu_blocks" in wanted and isinstance(blocks := run.numbers.get("gpu_blocks"), int):
        run.numbers["block_size_assumed"] = BLOCK_TOKENS
        run.numbers["kv_tokens_if_block16"] = blocks * BLOCK_TOKENS


def is_first_rank(rank: str) -> bool:
    """Return whether this is the rank that prints bars: the first one, or the only one."""
    return rank == "" or all(part.rstrip("0123456789") + "0" == part for part in rank.split())


def _store(
    run: Run, name: str, value: Number, how: str, found: Mapping[str, str], rank: str
) -> None:
    known = run.numbers.get(name)
    match how:
        case "last":
            run.numbers[name] = value
        case "sum":
            if isinstance(value, int | float):
                before = known if isinstance(known, int | float) else 0
                run.numbers[name] = round(before + value, 6)
        case "rank0":
            if known is None or (is_first_rank(rank) and name not in run.kept_by_first_rank):
                run.numbers[name] = value
                if is_first_rank(rank):
                    run.kept_by_first_rank.add(name)
        case _ if how.startswith("by:"):
            if isinstance(value, int | float | str):
                parts = known if isinstance(known, dict) else {}
                run.numbers[name] = {**parts, found[how[3:]]: value}
        case _:
            run.numbers.setdefault(name, value)


def _value(groups: str, found: Mapping[str, str], *, is_list: bool) -> Number | None:
    """Return the first alternative of `k+v|kv` all of whose groups were found."""
    for alternative in groups.split("|"):
        parts = alternative.split("+")
        if not all(part in found for part in parts):
            continue
        if is_list:
            return [int(item) for item in found[parts[0]].split(",")]
        if len(parts) == 1:
            return number(found[parts[0]])
        return round(sum(float(found[part]) for part in parts), 6)
    return None


def number(text: str) -> int | float | str:
    """Read a number; what is none stays text."""
    if _INTEGER.fullmatch(text):
        return int(text)
    if _GROUPED.fullmatch(text):
        return int(text.replace(",", ""))
    if _REAL.fullmatch(text):
        return float(text)
    return " ".join(text.split())
