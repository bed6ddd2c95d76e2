"""A GPU that the kernel has and NVML does not count is never left out of `all`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import GpuState
from gpudash.core.verify import Verdict, judge_fleet
from gpudash.probe.absent import find_absent, plain_bus
from gpudash.sources import shipping
from tests.fake_driver import FakeDriver
from tests.probe.running import Program


class Known:
    """What the sampler has of a GPU."""

    def __init__(self, bus: str | None) -> None:
        self.facts = {"bus": bus}


def folder(path: Path, *buses: str) -> str:
    for bus in buses:
        (path / bus).mkdir(parents=True)
    return str(path)


@pytest.mark.parametrize(
    ("text", "plain"),
    [("00000000:3B:00.0", "0000:3b:00.0"), ("0001:3b:00.0", "0001:3b:00.0"), (None, "")],
)
def test_an_address_is_one_however_it_is_written(text: str | None, plain: str) -> None:
    assert plain_bus(text) == plain


def test_who_is_missing(tmp_path: Path) -> None:
    place = folder(tmp_path / "gpus", "0000:19:00.0", "0000:2a:00.0", "0000:3b:00.0")
    gpus = [Known("00000000:19:00.0"), Known("00000000:3B:00.0")]
    (absent,) = find_absent(gpus, place)
    assert absent.facts["bus"] == "00000000:2A:00.0"
    assert absent.index == 2
    assert find_absent([*gpus, Known(None)], place) == []
    assert find_absent([*gpus, Known("00000000:2A:00.0")], place) == []
    assert find_absent(gpus, str(tmp_path / "nothing")) == []


def test_seven_of_eight_are_not_all(tmp_path: Path) -> None:
    driver = FakeDriver.h200(2, tmp_path / "driver").write()
    buses = ("0000:19:00.0", "0000:2a:00.0", "0000:3b:00.0")
    place = folder(tmp_path / "gpus", *buses)
    options: dict[str, Any] = {"once": True, "gpus_folder": place}
    with Program(shipping.sampler_payload(), driver.env(), **options) as program:
        program.to_end()
    fleet = new_fleet(("local",), 0.0)
    for event in program.events:
        fleet = apply(fleet, "local", event, 0.0)
    verdict = judge_fleet(fleet)
    assert verdict.verdict is Verdict.UNKNOWN
    assert int(verdict.exit_code) == 4
    lost = fleet.hosts[0].gpus[2]
    assert (lost.state, lost.info.bus_id) == (GpuState.LOST, "00000000:3B:00.0")
