"""Failures and versions that no recorded case has (tests/data/startup-made.toml)."""

from __future__ import annotations

import pytest

from gpudash.config.markers import load_catalog
from tests.core.startup.following import follow
from tests.core.startup.made import CAUSE, LOGS, READY


@pytest.mark.parametrize("name", LOGS)
def test_kind_line_and_words(name: str) -> None:
    made = LOGS[name]
    told = follow([made.log], exit_code=made.exit_code)
    failure = told.failure
    assert (failure.kind if failure else None) == made.kind
    assert (failure.line if failure else None) == made.line_of(CAUSE)
    assert told.ready_line == made.line_of(READY)
    if failure is not None:
        assert [word for word in made.words if word not in failure.message] == []
        assert failure.hint
        assert "\n" not in failure.message


@pytest.mark.parametrize("name", [name for name, made in LOGS.items() if made.engine])
def test_engine(name: str) -> None:
    assert follow([LOGS[name].log]).engine == LOGS[name].engine


@pytest.mark.parametrize("name", [name for name, made in LOGS.items() if made.phases])
def test_phases(name: str) -> None:
    assert tuple(phase.name for phase in follow([LOGS[name].log]).phases) == LOGS[name].phases


def test_every_kind_has_a_hint() -> None:
    catalog = load_catalog()
    kinds = {made.kind for made in LOGS.values() if made.kind}
    assert kinds <= set(catalog.hints)


def test_eight_ranks_with_one_error_are_one_cause() -> None:
    head = "[2026-03-03 03:50:11] server_args=ServerArgs(tp_size=8)\n"
    died = "".join(
        f"[2026-03-03 03:50:55 TP{rank}] Scheduler hit an exception: "
        "Traceback (most recent call last):\n"
        '  File "/a/b.py", line 1, in f\n    g()\n'
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.75 GiB. "
        f"GPU {rank} has a total capacity of 79.11 GiB of which 1.02 GiB is free.\n"
        for rank in (5, 2, 0, 1, 3, 4, 6, 7)
    )
    failure = follow([(head + died).encode()]).failure
    assert failure is not None
    assert (failure.rank, failure.line, failure.others) == ("TP5", 5, 7)
