"""Compares what the observer saw with what is on record. It asks nothing of gpudash itself."""

from __future__ import annotations

from typing import Any

from tests.chaos.play import Play
from tests.cli.running import is_running

SENT, ENDED = ("signal",), ("exit", "untouched")


def judge(played: Play) -> None:
    """Raise AssertionError unless all is accounted for and nobody outside the plan was touched."""
    observed = played.observed
    assert {one["pid"] for one in observed} <= set(played.targets), observed
    assert all(is_running(pid) for pid in played.others)
    planned = planned_pids(played)
    assert planned <= set(played.targets)
    sent = {(line["pid"], line["signal"]) for line in played.of_kind(*SENT)}
    unknown = unknown_pids(played)
    for one in observed:
        word = signal_of(one)
        if word is None or one.get("by") in played.targets:
            continue  # it ended by itself, or its own server told it to
        assert one["pid"] in planned, one
        assert (one["pid"], word) in sent or one["pid"] in unknown, (one, sent)
        assert one.get("record", ["consent", "order"]) == ["consent", "order"], one
    ended = {line["pid"] for line in played.of_kind(*ENDED)}
    touched = {one["pid"] for one in observed}
    for pid in played.targets:
        if pid not in touched:
            assert is_running(pid)
        elif not is_running(pid):
            assert pid in ended | unknown, played.state_of_things()


def signal_of(one: dict[str, Any]) -> str | None:
    """Return what a process was sent; SIGKILL shows as its end alone."""
    word = one.get("signal") or ("KILL" if one["exit"] == "KILL" else None)
    assert word is None or isinstance(word, str)
    return word


def planned_pids(played: Play) -> set[int]:
    """Return whom the orders on record name."""
    return {row["pid"] for line in played.of_kind("order") for row in line["targets"]}


def unknown_pids(played: Play) -> set[int]:
    """Return of whom the record says that nobody can tell any more."""
    rows = [row for line in played.of_kind("forgotten") for row in line["targets"]]
    return {row["pid"] for row in rows if row["fate"] == "unknown"}
