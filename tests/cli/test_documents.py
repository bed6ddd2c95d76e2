"""Tables of readings that don't tell all: what is unknown is never written as 0."""

from __future__ import annotations

import pytest

from gpudash.cli import diagnostics
from gpudash.cli.commands.verdict_table import verdict_table
from gpudash.core.errors import ExitCode
from gpudash.core.verify import judge_fleet
from tests.core.making import GIB, hello, process, reading, roster, sample, told


@pytest.mark.parametrize(
    ("used", "amount"), [(None, "≥ 70.0 GiB"), (0, "70.0 GiB"), (71 * GIB, "71.0 GiB")]
)
def test_what_a_process_holds_counts_where_the_sum_is_unknown(
    used: int | None, amount: str
) -> None:
    fleet = told(hello(*roster(1)), sample(1, reading(used, process(7, 70 * GIB))))
    lines = verdict_table(judge_fleet(fleet), ExitCode.HELD).splitlines()
    assert amount in lines[2]
    assert f"; {amount} held, 1 holder listed" in lines[-1]
    assert "0 MiB held" not in lines[-1]


def test_an_amount_that_nobody_tells_is_a_question_mark() -> None:
    fleet = told(hello(*roster(1)), sample(1, reading(None, process(7, None))))
    said = verdict_table(judge_fleet(fleet), ExitCode.UNKNOWN)
    assert "? held, 1 holder listed" in said


def test_narration_steers_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    diagnostics.say("gpu-a: \x1b[2J\u202ewhat\x07 was said")
    assert capsys.readouterr().err == "gpu-a: [2Jwhat was said\n"
