"""The event log as values: what stands in it, what is found, what is copied."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.alert_levels import Kind
from gpudash.core.alerts import Alert, Standing
from gpudash.core.eventlog import (
    Count,
    EventLine,
    Part,
    counted,
    event_lines,
    found_in,
    log_text,
    simulated_line,
)
from gpudash.core.fleet import HAPPENINGS, with_happening
from gpudash.core.model import Fleet, Happening, Host, Link, Problem


def wall(at_s: float) -> str:
    return f"00:00:{at_s:02.0f}"


HOT = Alert(standing=Standing.RAISED, since_s=5.0, raised_s=5.0, words="GPU 0  93°C")
RAISED = (("gpu-a", ("GPU-0", Kind.TEMPERATURE), HOT),)


def fleet(*past: Happening) -> Fleet:
    problem = Problem(title="not trusted", sentence="Why.", advice="Do it.", detail="a\nb")
    down = Host(name="gpu-b", link=Link.DOWN, link_since_s=3.0, problem=problem)
    return Fleet(hosts=(Host(name="gpu-a"), down), happenings=past)


def past(at_s: float, words: str, tone: str = "") -> Happening:
    return Happening(at_s=at_s, host="gpu-a", words=words, tone=tone)


EVERY = (past(9, "Sglang is gone"), past(8, "lost", "bad"), past(7, "silent", "warn"))


def test_problems_come_first_then_alerts_then_everything_that_happened() -> None:
    lines = event_lines(fleet(*EVERY), RAISED, is_bad_only=False)
    assert log_text(lines, wall) == (
        "open problems\n00:00:03  gpu-b  not trusted\n  Why.\n  Do it.\n  a\n  b\n\n"
        "raised alerts\n00:00:05  gpu-a  GPU 0  93°C\n\n"
        "what happened, newest first\n00:00:09  gpu-a  Sglang is gone\n"
        "00:00:08  gpu-a  lost\n00:00:07  gpu-a  silent"
    )
    assert counted(lines) == Count(1, 1, 3)


def test_bad_only_leaves_out_what_was_well() -> None:
    lines = event_lines(fleet(*EVERY), (), is_bad_only=True)
    assert [line.words for line in lines if line.part is Part.PAST] == ["lost", "silent"]
    assert EventLine(Part.HEAD, "what went wrong, newest first") in lines
    assert EventLine(Part.NOTE, "no alert is raised") in lines


def test_nothing_is_said_in_words() -> None:
    lines = event_lines(Fleet(hosts=(Host(name="a"),)), (), is_bad_only=True)
    notes = [line.words for line in lines if line.part is Part.NOTE]
    assert notes == ["no open problem", "no alert is raised", "nothing went wrong yet"]


def test_capitals_count_only_where_the_words_have_some() -> None:
    lines = event_lines(fleet(*EVERY), RAISED, is_bad_only=False)
    assert [lines[at].words for at in found_in(lines, "sglang", wall)] == ["Sglang is gone"]
    assert [lines[at].words for at in found_in(lines, "Sg", wall)] == ["Sglang is gone"]
    assert found_in(lines, "SGLANG", wall) == ()
    assert found_in(lines, "", wall) == ()
    assert [lines[at].words for at in found_in(lines, "00:00:08  gpu-a", wall)] == ["lost"]


def test_no_text_from_outside_steers_anything() -> None:
    trick = "\x1b[2J\u202ex\r\n[red]"
    problem = Problem(title=trick, sentence=trick, advice=trick, detail=trick)
    host = Host(name=trick, link=Link.DOWN, problem=problem)
    alert = replace(HOT, words=trick)
    happening = Happening(at_s=1.0, host=trick, words=trick)
    shown = Fleet(hosts=(host,), happenings=(happening,))
    raised = ((trick, ("GPU-0", Kind.ECC), alert),)
    text = log_text(event_lines(shown, raised, is_bad_only=False), wall)
    assert all(line.isprintable() for line in text.split("\n"))
    # Text is text: a bracket stays one.
    assert text.count("[red]") == 9


def test_what_is_made_up_is_marked_first() -> None:
    made_up = Fleet(hosts=(Host(name="a", is_invented=True), Host(name="b")))
    assert simulated_line(made_up) == "SIMULATED: a is made up"
    text = log_text(event_lines(made_up, (), is_bad_only=False), wall, mark=simulated_line(made_up))
    assert text.startswith("SIMULATED: a is made up\n\nopen problems\n")
    assert simulated_line(fleet()) == ""


def test_what_happened_is_bounded() -> None:
    shown = Fleet()
    for at in range(HAPPENINGS + 5):
        shown = with_happening(shown, past(at, "x"))
    assert len(shown.happenings) == HAPPENINGS == 1000
    assert shown.happenings[0].at_s == HAPPENINGS + 4
