"""Alerts: raised once, taken back once, and never by what is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.alert_levels import Bounds, Kind
from gpudash.core.alerts import CLEAR_S, RAISE_S, Alerts, Told, look
from gpudash.core.model import Gpu, GpuState, Host, Link
from gpudash.core.throttling import is_slowed, reasons
from tests.core.making import HOST, gpu_info, reading

ALL = Bounds(memory_pct=95, temperature_c=85)
TOTAL = 1000


def host(gpu: Gpu | None = None, **changes: Any) -> Host:
    values: dict[str, Any] = {"name": HOST, "link": Link.LIVE, "samples": 3}
    return Host(**(values | {"gpus": (gpu or at(),)} | changes))


def at(state: GpuState = GpuState.READ, info: dict[str, Any] | None = None, **got: Any) -> Gpu:
    return Gpu(
        info=gpu_info(0, total_bytes=TOTAL, **(info or {})),
        reading=reading(got.pop("used", 0), **got),
        state=state,
    )


def looked(*seen: tuple[float, Host], bounds: Bounds = ALL) -> list[tuple[float, str]]:
    """Return when what was told."""
    alerts, found = Alerts(), []
    for at_s, one in seen:
        alerts, news = look(alerts, one, bounds, at_s)
        found += [(at_s, told.happening.words) for told in news]
    return found


def every(seconds: range, one: Host) -> list[tuple[float, Host]]:
    return [(float(second), one) for second in seconds]


WELL = host(at(temperature_c=40, throttle_bits=0))


@pytest.mark.parametrize(
    ("bad", "raised", "taken_back"),
    [
        (
            host(at(temperature_c=86)),
            (5.0, "GPU 0  86°C, the bound is 85°C"),
            (40.0, "GPU 0  is cool enough again, after 35 s"),
        ),
        (
            host(at(used=960)),
            (5.0, "GPU 0  96% of its memory is used, the bound is 95%"),
            (20.0, "GPU 0  memory is below its bound again, after 15 s"),
        ),
        (
            host(at(throttle_bits=0x40 | 0x8, sm_clock_mhz=1200)),
            (5.0, "GPU 0  slowed by heat (hardware), now at 1200 MHz"),
            (40.0, "GPU 0  is not slowed any more, after 35 s"),
        ),
        (
            host(at(info={"is_remap_pending": True})),
            (0.0, "GPU 0  a broken memory row waits for a reset to be replaced"),
            (10.0, "GPU 0  needs no repair any more, after 10 s"),
        ),
        (
            host(at(GpuState.LOST)),
            (5.0, "GPU 0  is lost"),
            (15.0, "GPU 0  answers again, after 10 s"),
        ),
        (
            host(link=Link.DOWN),
            (5.0, "does not answer any more"),
            (15.0, "answers again, after 10 s"),
        ),
    ],
)
def test_raised_and_taken_back_once(
    bad: Host, raised: tuple[float, str], taken_back: tuple[float, str]
) -> None:
    assert looked(*every(range(10), bad), *every(range(10, 60), WELL)) == [raised, taken_back]


def test_a_value_that_swings_about_its_bound_is_told_once() -> None:
    swinging = [
        (float(second), host(at(temperature_c=86 if second % 4 < 2 else 82)))
        for second in range(8, 200)
    ]
    told = looked(*every(range(8), host(at(temperature_c=86))), *swinging)
    assert told == [(5.0, "GPU 0  86°C, the bound is 85°C")]


def test_a_short_peak_is_not_told() -> None:
    peaks = [
        (float(second), host(at(temperature_c=99 if second % 6 < 5 else 40)))
        for second in range(60)
    ]
    assert looked(*peaks) == []


def test_a_full_gpu_is_normal_unless_somebody_asks() -> None:
    full = host(at(used=TOTAL))
    assert looked(*every(range(30), full), bounds=Bounds()) == []


@pytest.mark.parametrize("kind", Kind)
def test_each_kind_can_be_left_out(kind: Kind) -> None:
    off = {Kind.MEMORY: "memory_pct", Kind.TEMPERATURE: "temperature_c"}.get(kind, kind.value)
    bounds = replace(ALL, **{off: None if off.endswith(("pct", "_c")) else False})
    worst = at(
        GpuState.READ,
        {"is_remap_pending": True},
        used=TOTAL,
        temperature_c=99,
        throttle_bits=0x40,
    )
    seen = [*every(range(10), host(worst)), *every(range(10, 20), host(at(GpuState.LOST)))]
    alerts, kinds = Alerts(), set()
    for at_s, one in seen:
        alerts, news = look(alerts, one, bounds, at_s)
        kinds |= {told.kind for told in news}
    assert kinds == set(Kind) - {kind}


def test_what_leaves_the_roster_leaves_no_alert() -> None:
    alerts = Alerts()
    for at_s, one in every(range(10), host(at(temperature_c=99))):
        alerts, _ = look(alerts, one, ALL, at_s)
    assert [place for place, _ in alerts.raised] == [("GPU-0", Kind.TEMPERATURE)]
    alerts, news = look(alerts, host(gpus=()), ALL, 10.0)
    assert (alerts.raised, news) == ((), ())


def test_only_what_happened_lacks_is_news() -> None:
    for bad, is_news in ((host(link=Link.HUNG), False), (host(at(temperature_c=99)), True)):
        alerts, told = Alerts(), []
        for at_s, one in every(range(10), bad):
            alerts, news = look(alerts, one, ALL, at_s)
            told += news
        assert [one.is_news for one in told] == [is_news]


gpus = st.builds(
    at,
    st.sampled_from(GpuState),
    st.fixed_dictionaries({"is_remap_pending": st.booleans()}),
    used=st.sampled_from([None, 0, 920, 960]),
    temperature_c=st.sampled_from([None, 40, 82, 90]),
    throttle_bits=st.sampled_from([None, 0, 0x1, 0x4, 0x40]),
)
hosts = st.builds(host, gpus, link=st.sampled_from(Link), samples=st.sampled_from([0, 5]))
walks = st.lists(st.tuples(st.sampled_from([0.25, 1.0, 6.0, 40.0]), hosts), max_size=40)


def _told(walk: list[tuple[float, Host]]) -> list[Told]:
    alerts, at_s, found = Alerts(), 0.0, []
    for wait_s, one in walk:
        at_s += wait_s
        alerts, news = look(alerts, one, ALL, at_s)
        found += news
    return found


@given(walks)
def test_raised_and_taken_back_take_turns(walk: list[tuple[float, Host]]) -> None:
    by_kind: dict[tuple[Kind, bool], list[bool]] = {}
    for told in _told(walk):
        place = told.kind, told.happening.words.startswith("GPU")
        by_kind.setdefault(place, []).append(told.is_raised)
    for turns in by_kind.values():
        assert turns == [place % 2 == 0 for place in range(len(turns))]


@given(walks)
def test_nothing_is_told_before_its_time(walk: list[tuple[float, Host]]) -> None:
    last: dict[tuple[Kind, bool], float] = {}
    for told in _told(walk):
        place, at_s = (told.kind, told.happening.words.startswith("GPU")), told.happening.at_s
        wait_s = RAISE_S[told.kind] if told.is_raised else CLEAR_S[told.kind]
        assert at_s - last.get(place, 0.0) >= wait_s
        last[place] = at_s


@given(walks, st.floats(0.0, 1e4))
def test_what_is_not_known_changes_nothing(walk: list[tuple[float, Host]], later_s: float) -> None:
    alerts, at_s = Alerts(), 0.0
    for wait_s, one in walk:
        at_s += wait_s
        alerts, _ = look(alerts, one, ALL, at_s)
    blind = host(Gpu(info=gpu_info(0), reading=None, state=GpuState.UNREAD), link=Link.CONNECTING)
    after, news = look(alerts, blind, ALL, at_s + later_s)
    assert news == ()
    assert after.standing == alerts.standing


@given(st.integers(0, 0xFFFF))
def test_every_reason_has_words(bits: int) -> None:
    words = reasons(bits)
    assert bool(words) == bool(bits)
    assert not is_slowed(bits) or "slowed" in words[0]
