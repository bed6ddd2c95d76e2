"""The sampler that runs before the configuration is read."""

from __future__ import annotations

import pytest

from gpudash.core.events import Hello
from gpudash.sources.handover import EarlySampler
from tests.fake_driver import FakeDriver


def test_it_takes_another_pace_from_the_configuration(
    fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in fake_driver.env().items():
        monkeypatch.setenv(name, value)
    early = EarlySampler(60.0)
    try:
        early.read_for(30)
        early.change_interval(60.0)
        early.change_interval(0.1)
        told: list[float | None] = []
        while 0.1 not in told:
            assert early.child.wait_readable(30)
            events = early.decoder.feed(early.child.read() or b"")
            told += [event.interval_s for event in events if isinstance(event, Hello)]
        assert told == [0.1]
    finally:
        early.end()
