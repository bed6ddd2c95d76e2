"""The machine's clock only goes forward and names its times."""

from __future__ import annotations

import re

from gpudash.services.clock import AwakeClock, SystemClock
from gpudash.services.leap import Leap


def test_it_goes_forward() -> None:
    clock = SystemClock()
    times = [clock.now() for _ in range(100)]
    assert times == sorted(times)


def test_it_names_times() -> None:
    clock = SystemClock()
    now = clock.now()
    assert re.fullmatch(r"\d\d:\d\d:\d\d", clock.wall(now))
    assert re.fullmatch(r"\d{1,2} \w{3} \d\d:\d\d", clock.wall(now - 3 * 86400))


def test_others_than_linux_have_one_clock_for_all() -> None:
    first, second = SystemClock("darwin"), SystemClock("win32")
    before = first.now()
    assert before <= second.now() <= first.now()


class Machine:
    """A machine whose monotonic clock stands still while it sleeps."""

    def __init__(self) -> None:
        self.awake_s = 100.0
        self.unix_s = 1e9

    def pass_(self, seconds: float) -> None:
        self.awake_s += seconds
        self.unix_s += seconds

    def clock(self) -> AwakeClock:
        return AwakeClock(lambda: self.awake_s, lambda: self.unix_s)


def test_sleep_is_counted_by_the_wall_clock() -> None:
    machine = Machine()
    clock = machine.clock()
    machine.pass_(10.0)
    assert clock.now() == 110.0
    machine.unix_s += 3600.0
    assert clock.now() == 3710.0
    machine.pass_(1.0)
    assert clock.now() == 3711.0


def test_a_wall_clock_that_is_set_a_little_or_back_counts_as_nothing() -> None:
    machine = Machine()
    clock = machine.clock()
    for change_s in (4.0, -4.0, -7200.0, 0.5):
        machine.unix_s += change_s
        machine.pass_(1.0)
        clock.now()
    assert clock.now() == machine.awake_s


def test_a_sleep_is_a_leap_there_too() -> None:
    machine = Machine()
    clock = machine.clock()

    class Clock(SystemClock):
        def now(self) -> float:
            return clock.now()

    leap = Leap(Clock(), lambda: machine.awake_s)
    machine.pass_(1.0)
    assert not leap.has_happened()
    machine.unix_s += 600.0
    machine.pass_(0.1)
    assert leap.has_happened()
    assert not leap.has_happened()
