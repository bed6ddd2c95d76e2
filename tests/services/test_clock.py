"""The machine's clock only goes forward and names its times."""

from __future__ import annotations

import re

from gpudash.services.clock import SystemClock


def test_it_goes_forward() -> None:
    clock = SystemClock()
    times = [clock.now() for _ in range(100)]
    assert times == sorted(times)


def test_it_names_times() -> None:
    clock = SystemClock()
    now = clock.now()
    assert re.fullmatch(r"\d\d:\d\d:\d\d", clock.wall(now))
    assert re.fullmatch(r"\d{1,2} \w{3} \d\d:\d\d", clock.wall(now - 3 * 86400))
