"""Beside stand-in devices nothing of the host may be signalled."""

from __future__ import annotations

import pytest

from gpudash.core.errors import UsageError
from gpudash.core.standins import standin_options
from gpudash.probe import devices

STANDINS = {"devices": [[1, 7, "gpu", 0]], "pids": "own"}
INITIAL = devices.INITIAL_PID_NAMESPACE


@pytest.mark.parametrize("namespace", [INITIAL, None])
def test_nobody_is_signalled_where_everybody_can_be_hit(
    monkeypatch: pytest.MonkeyPatch, namespace: int | None
) -> None:
    monkeypatch.setattr(devices, "pid_namespace", lambda: namespace)
    assert devices.why_no_signal(STANDINS)
    assert devices.why_no_signal({"devices": [], "pids": "host"})
    assert devices.why_no_signal({}) == ""


def test_a_namespace_of_its_own_can_only_hurt_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "pid_namespace", lambda: INITIAL + 1)
    assert devices.why_no_signal(STANDINS) == ""


def test_whose_pids_the_driver_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "pid_namespace", lambda: INITIAL + 1)
    assert devices.lists_own_pids(STANDINS)
    assert not devices.lists_own_pids({**STANDINS, "pids": "host"})
    assert not devices.lists_own_pids({})
    monkeypatch.setattr(devices, "pid_namespace", lambda: INITIAL)
    assert devices.lists_own_pids({})


def test_a_map() -> None:
    told = standin_options("1:7=0, 1:5=1,1:9=uvm,pids=host")
    assert told == {
        "devices": [(1, 7, "gpu", 0), (1, 5, "gpu", 1), (1, 9, "uvm", 0)],
        "pids": "host",
    }
    assert standin_options("1:7=0")["pids"] == "own"


@pytest.mark.parametrize(
    "text", ["x", "1:7", "1:7=", "1:7=gpu", "pids=host", "1:7=0,pids=mine", ","]
)
def test_what_is_no_map(text: str) -> None:
    with pytest.raises(UsageError, match="GPUDASH_DEVICE_MAP"):
        standin_options(text)
