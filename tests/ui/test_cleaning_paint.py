"""A cleanup under way as text: banner, shadows, the time axis; from the machine's own states."""

from __future__ import annotations

import json
from functools import lru_cache

import pytest

from gpudash.core.cleanup import happened as ev
from gpudash.core.cleanup.course import Course, followed
from gpudash.core.cleanup.forecast import given_for
from gpudash.core.cleanup.orderrows import order_row
from gpudash.core.cleanup.outlook import kin_of
from gpudash.core.cleanup.phases import Phase
from gpudash.core.cleanup.planner import Request, plan_host
from gpudash.core.cleanup.reports import report_of
from gpudash.core.cleanup.run import step
from gpudash.core.cleanup.state import State, begin
from gpudash.core.cleanup.table import handle_names
from gpudash.core.events import Foreseen
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import Fleet
from gpudash.core.wire import LineDecoder, encode_command
from gpudash.sources.demo.programs import TOKEN, Hand, Sampler, uptime_s
from gpudash.sources.demo.scenario import parse_scenario
from gpudash.sources.demo.scenes import machines
from gpudash.ui.paint.cleaning import CleaningView, HostProgress, cleaning_story, gpu_progress
from gpudash.ui.paint.cleanpanel import clean_rows
from gpudash.ui.paint.frame import FrameView, frame_rows
from gpudash.ui.paint.glyphs import ASCII, UNICODE
from gpudash.ui.paint.plankeys import letters_of
from gpudash.ui.paint.spans import plain, row_width
from tests.ui.test_screens import check_golden

BEGAN_S = 1.0
LETTERS = {48213: "A", 31877: "B", 22310: "C"}


def wall(at_s: float) -> str:
    return f"12:06:{25 + at_s:04.1f}"


@lru_cache
def course_of(until_s: float, *, stops_at: float | None = None) -> tuple[Fleet, CleaningView]:
    """Clean the demo's leftovers and B, and return what is known so many seconds later."""
    (machine,) = machines(parse_scenario("leftovers"), 1)
    fleet = new_fleet(("gpu-a",), 0.0)
    sampler, hand, decoder = Sampler(machine, 0.1), Hand(machine), LineDecoder(TOKEN)
    events = decoder.feed(sampler.greeting(0.0) + sampler.tick(BEGAN_S))
    for event in events:
        fleet = apply(fleet, "gpu-a", event, BEGAN_S)
    asked = encode_command(1, "scan", pids=sorted(fleet.hosts[0].listed), all=True)
    for event in LineDecoder(TOKEN).feed(hand.greeting(BEGAN_S) + hand.answer(asked, BEGAN_S)):
        fleet = apply(fleet, "gpu-a", event, BEGAN_S)
    host = fleet.hosts[0]
    assert host.scan is not None
    plan = plan_host(host, host.scan, Request(), at_s=BEGAN_S)
    fleet = apply(fleet, "gpu-a", Foreseen(kin=kin_of(plan)), BEGAN_S)
    host_s = uptime_s(machine, BEGAN_S)
    state, _ = begin("run-1", handle_names(host, is_simulated=True))
    state, _ = step(state, ev.Planned(plan=plan, at_s=BEGAN_S, host_s=host_s))
    agreed = given_for(plan, frozenset({plan.families[1].id}))
    confirmed = ev.Confirmed(given=agreed, at_s=BEGAN_S, host_s=host_s, digest=plan.digest)
    state, _ = step(state, confirmed)
    state, _ = step(state, ev.Recorded(serial=1))
    assert state.order is not None
    lines = hand.answer(encode_command(2, "order", order=order_row(state.order)), BEGAN_S)
    state, _ = step(state, ev.Taken(run="run-1"))
    course: Course | None = None
    for tick in range(round((until_s) * 10) + 1):
        at_s = BEGAN_S + tick / 10
        if stops_at is not None and tick == round(stops_at * 10):
            state, _ = step(state, ev.Aborted())
            lines += hand.answer(encode_command(3, "abort", run="run-1"), at_s)
        lines += hand.pump(at_s)
        for row in map(json.loads, lines.splitlines()):
            if row["t"] == "order":
                state, _ = step(state, ev.Reported(report=report_of(row)))
        lines = b""
        for event in decoder.feed(sampler.tick(at_s)):
            fleet = apply(fleet, "gpu-a", event, at_s)
        state = sampled(state, fleet, at_s)
        course = followed(course, state, at_s)
    letters = letters_of((plan,), {("gpu-a", pid): letter for pid, letter in LETTERS.items()})
    by_pid = {pid: letters["gpu-a", family.id] for family in plan.families for pid in family.pids}
    one = HostProgress("gpu-a", state, course, by_pid)
    return fleet, CleaningView((one,), BEGAN_S + until_s, wall, "record.jsonl")


def sampled(state: State, fleet: Fleet, at_s: float) -> State:
    host = fleet.hosts[0]
    used = tuple((gpu.info.key, gpu.reading.used_bytes) for gpu in host.gpus if gpu.reading)
    assert host.host_monotonic_s is not None
    return step(state, ev.Sampled(used=used, at_s=at_s, host_s=host.host_monotonic_s))[0]


def told(view: CleaningView) -> str:
    story = cleaning_story(view, is_wide=True)
    return " | ".join(plain(row) for row in (*story.headline, *story.second))


def frame(fleet: Fleet, view: CleaningView) -> FrameView:
    keys = (*view.keys, ("q", "quit"))
    return FrameView(
        fleet=fleet,
        now_s=view.now_s,
        wall_of=wall,
        focus="gpu-a",
        cursor=0,
        cleaning=view,
        keys=keys,
    )


@pytest.mark.parametrize("size", [(40, 10), (80, 24), (120, 40)], ids=str)
def test_progress_as_text(size: tuple[int, int]) -> None:
    fleet, view = course_of(2.4)
    rows = frame_rows(frame(fleet, view), *size)
    assert {row_width(row) for row in rows} == {size[0]}
    assert len(rows) == size[1]
    check_golden(f"cleaning-{size[0]}x{size[1]}", "\n".join(plain(row).rstrip() for row in rows))


def test_what_the_banner_says_over_time() -> None:
    _, view = course_of(0.2)
    assert "0 of 9 processes ended" in told(view)
    assert "9 processes left: force in" in told(view)
    _, view = course_of(2.4)
    assert "5 of 9 processes ended" in told(view)
    assert told(view).endswith("4 processes left: force in 0.6 s")
    _, view = course_of(3.2)
    assert "forced" in told(view) or "waiting for the memory" in told(view)
    _, view = course_of(4.5)
    assert "502.5 of 502.5 GiB freed | 9 of 9 processes ended" in told(view)
    assert view.hosts[0].state.phase is Phase.RESCANNING
    assert not view.can_force


def test_what_each_gpu_says() -> None:
    fleet, view = course_of(2.4)
    words = {}
    for gpu in fleet.hosts[0].gpus:
        said = gpu_progress(view.hosts[0], view.now_s, gpu)
        assert said is not None
        words[gpu.info.index] = " ".join(
            " ".join(plain(row) for row in (said.first, said.second, said.right)).split()
        )
    assert words[0] == "√ zero ended after 1.3 s at 1.3 s"
    assert words[3] == "√ zero was free before"
    assert words[4] == "asked to end, no answer yet force in 0.6 s"
    assert words[7] == "asked to end, no answer yet force in 0.6 s"
    assert words[2].startswith("ends, ")


def test_after_escape_it_promises_nobody_more() -> None:
    _, view = course_of(2.4, stops_at=2.0)
    assert told(view).endswith("stopped here: nobody else is signalled")
    text = "\n".join(plain(row) for row in clean_rows(view, 120, 18, UNICODE))
    assert "force who is left" not in text
    assert view.keys == ()


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
@pytest.mark.parametrize("height", [3, 6, 9, 18, 30])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_the_panel_fits(width: int, height: int, glyphs: object) -> None:
    for until_s in (0.1, 2.4, 4.5):
        _, view = course_of(until_s)
        rows = clean_rows(view, width, height, glyphs)  # type: ignore[arg-type]
        assert len(rows) == height
        assert {row_width(row) for row in rows} == {width}
        if glyphs is ASCII:
            assert all(plain(row).isascii() for row in rows)
