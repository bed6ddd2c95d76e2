"""Alerts told aloud: never a storm, nothing lost, no text that steers a terminal."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.alert_levels import Kind
from gpudash.core.alert_toasts import (
    MOST_LINES,
    REST_S,
    Toasts,
    gathered,
    notification,
    toast_text,
)
from gpudash.core.alerts import Told
from gpudash.core.model import Happening


def told(words: str = "90°C", *, host: str = "gpu-a", is_raised: bool = True) -> Told:
    said = Happening(at_s=1.0, host=host, words=words, tone="warn")
    return Told(kind=Kind.TEMPERATURE, is_raised=is_raised, happening=said)


def test_several_at_once_are_one_toast_and_the_rest_waits() -> None:
    toasts, now = gathered(Toasts(), (told("a"), told("b")), 10.0)
    assert [one.happening.words for one in now] == ["a", "b"]
    toasts, now = gathered(toasts, (told("c"),), 10.25)
    assert now == ()
    toasts, now = gathered(toasts, (told("d"),), 10.0 + REST_S - 0.1)
    assert now == ()
    toasts, now = gathered(toasts, (), 10.0 + REST_S)
    assert [one.happening.words for one in now] == ["c", "d"]
    assert gathered(toasts, (), 100.0)[1] == ()


def test_what_is_taken_back_is_not_told_aloud() -> None:
    assert gathered(Toasts(), (told(is_raised=False),), 10.0)[1] == ()


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.integers(0, 4)), max_size=40))
def test_each_is_told_once_and_no_two_toasts_are_close(steps: list[tuple[float, int]]) -> None:
    toasts, at_s, number = Toasts(), 0.0, 0
    shown: list[float] = []
    heard: list[str] = []
    for later_s, count in [*steps, (REST_S, 0)]:
        at_s += later_s
        news = tuple(told(str(number + at)) for at in range(count))
        number += count
        toasts, now = gathered(toasts, news, at_s)
        if now:
            shown.append(at_s)
            heard += [one.happening.words for one in now]
    assert heard == [str(at) for at in range(number)]
    assert all(after - before >= REST_S for before, after in itertools.pairwise(shown))


def test_a_toast_is_bounded_and_names_hosts_where_there_are_several() -> None:
    many = tuple(told(f"hot {at}", host=f"node{at}") for at in range(MOST_LINES + 3))
    lines = toast_text(many, "e", has_hosts=True).split("\n")
    assert lines[0] == "node0  hot 0"
    assert lines[-1] == "and 3 more: e lists them"
    assert len(lines) == MOST_LINES + 1
    assert toast_text((told("hot"),), "e", has_hosts=False) == "hot"
    assert toast_text(many, "f4", has_hosts=True, most=0) == "f4 lists them"


TRICK = "\x1b]0;gone\x07\x9d\u202ex\n9;4;1"


def test_no_text_of_a_host_ends_the_sequence_or_begins_another() -> None:
    said = notification((told(TRICK, host=TRICK),), is_in_tmux=False)
    assert said.startswith("\x1b]9;gpudash: ")
    assert said.endswith("\x07")
    assert said[1:-1].isprintable()
    assert toast_text((told(TRICK, host=TRICK),), "e", has_hosts=True).isprintable()


def test_tmux_gets_it_wrapped_with_each_escape_doubled() -> None:
    said = notification((told("a"), told("b")), is_in_tmux=True)
    assert said == "\x1bPtmux;\x1b\x1b]9;gpudash: gpu-a  a, and 1 more\x07\x1b\\"
