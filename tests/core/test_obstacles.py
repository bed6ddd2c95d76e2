"""What stands in the way of zero: everything that votes, and only what votes, is a cross."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudash.core.families import holders
from gpudash.core.model import Fleet, GpuState, Host, Link
from gpudash.core.obstacles import Obstacle, obstacles, verdict_words
from gpudash.core.verify import Verdict, judge_gpu, judge_host
from tests.ui import fleets

STATES = ("busy", "idle", "connecting", "three_hosts", "down", "paused", "errors", "many")


def found(fleet: Fleet, host: Host, place: int | None = None) -> tuple[Obstacle, ...]:
    gpus = host.gpus if place is None else host.gpus[place : place + 1]
    return obstacles(host, gpus, holders(host, fleet.letters), fleets.NOW)


@pytest.mark.parametrize("name", STATES)
def test_without_a_cross_it_is_zero_and_with_one_it_is_not(name: str) -> None:
    fleet: Fleet = getattr(fleets, name)()
    for host in fleet.hosts:
        judged = {one.gpu.info.key: one for one in judge_host(host).gpus}
        for place, gpu in enumerate(host.gpus):
            lines = found(fleet, host, place)
            is_zero = judged[gpu.info.key].verdict is Verdict.ZERO
            assert any(line.stands for line in lines) is not is_zero, (host.name, gpu.info.index)


@pytest.mark.parametrize("name", STATES)
def test_no_gpu_and_no_live_link_clear_anything(name: str) -> None:
    fleet: Fleet = getattr(fleets, name)()
    for host in fleet.hosts:
        none = obstacles(host, (), (), fleets.NOW)
        assert none[0].stands
        assert "a fault" in none[0].words
        if host.link is not Link.LIVE:
            assert all(line.stands is not False for line in found(fleet, host))


def test_words_of_a_busy_gpu() -> None:
    fleet = fleets.busy()
    (host,) = fleet.hosts
    words = [line.words for line in found(fleet, host, 0)]
    assert words[0].startswith("71.2 GiB: A ")
    assert "all memory explained" in words
    assert "no reset pending" in words
    assert "open handles were not looked at" in words
    assert verdict_words(host, host.gpus[:1]).endswith("held")


def test_the_verdict_of_a_whole_host() -> None:
    (idle,) = fleets.idle().hosts
    assert verdict_words(idle, idle.gpus) == "nothing: memory reads 0"
    (busy,) = fleets.busy().hosts
    assert verdict_words(busy, busy.gpus) == "8 GPUs, not zero"


@pytest.mark.parametrize("link", [Link.STALE, Link.HUNG, Link.DOWN, Link.PAUSED, Link.CONNECTING])
def test_an_old_reading_stands_in_the_way(link: Link) -> None:
    fleet = fleets.idle()
    (host,) = fleet.hosts
    old = replace(host, link=link, received_s=fleets.NOW - 14)
    (age,) = (line for line in found(fleet, old, 0) if "old" in line.words)
    assert age.stands
    assert "14 s" in age.words


def test_lost_and_unreadable_gpus_are_named() -> None:
    fleet = fleets.idle()
    (host,) = fleet.hosts
    for state in GpuState:
        if state is GpuState.READ:
            continue
        gpu = replace(host.gpus[0], state=state)
        lines = found(fleet, replace(host, gpus=(gpu,)), 0)
        assert any(line.stands and "GPU 0: " in line.words for line in lines), state
        assert judge_gpu(gpu).verdict is not Verdict.ZERO
