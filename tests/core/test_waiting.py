"""When a wait is over: what waiting can't mend, and what the timeout says."""

from __future__ import annotations

import pytest

from gpudash.core.errors import ExitCode, UsageError
from gpudash.core.events import Event, Fault, LinkConnecting, LinkDown, LinkStale
from gpudash.core.model import Fleet, Problem
from gpudash.core.scope import parse_scope
from gpudash.core.units import parse_size
from gpudash.core.verify import judge_host
from gpudash.core.waiting import hopeless, in_the_way, out_of_time
from tests.core.making import (
    GIB,
    HOST,
    ack,
    failed,
    hello,
    host_of,
    info,
    process,
    reading,
    roster,
    sample,
    told,
)

UNREACHABLE = Problem(
    title="refused", sentence="Nobody listens there.", exit_code=ExitCode.UNREACHABLE
)


def read(*readings: object) -> Fleet:
    return told(hello(*roster(len(readings))), sample(1, *readings))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fleet", "code"),
    [
        (read(reading(0), reading(GIB)), None),
        (read(reading(0), failed(999)), None),
        (read(reading(0), failed(15)), 4),
        (read(reading(0), failed(16)), 6),
        (read(failed(16), failed(15)), 4),
        (read(reading(0, recovery_action=1)), 6),
        (read(reading(0, recovery_action=3)), None),
        (told(hello()), 4),
        (told(LinkDown(problem=UNREACHABLE)), None),
        (told(LinkConnecting()), None),
        *((told(Fault(call="nvmlInit", code=code, is_fatal=True)), 4) for code in (9, 12, 18)),
        (told(Fault(call="nvmlInit", code=999, is_fatal=True)), None),
        (told(Fault(call="nvmlInit", code=None, hung_s=9.0)), None),
    ],
)
def test_what_waiting_can_not_mend(fleet: Fleet, code: int | None) -> None:
    ending = hopeless(fleet, None)
    assert (ending and int(ending.exit_code)) == code
    assert ending is None or ending.says.startswith(HOST)


def test_an_old_reading_ends_nothing() -> None:
    fleet = told(LinkStale(), fleet=read(reading(0), failed(15)))
    assert hopeless(fleet, None) is None


def test_only_the_scope_counts() -> None:
    fleet = read(reading(0), failed(15))
    assert hopeless(fleet, parse_scope("0")) is None
    assert hopeless(fleet, parse_scope("1")) is not None
    with pytest.raises(UsageError):
        hopeless(fleet, parse_scope("2"))


@pytest.mark.parametrize(
    ("events", "local", "code"),
    [
        ((LinkConnecting(),), False, 3),
        ((LinkConnecting(),), True, 5),
        ((LinkDown(problem=UNREACHABLE),), False, 3),
        ((LinkDown(problem=Problem(title="x", sentence="Odd.")),), False, 5),
        ((hello(*roster(1)),), False, 5),
        ((hello(*roster(1)), sample(1, reading(GIB))), False, 5),
        ((hello(*roster(1)), LinkDown(problem=UNREACHABLE)), False, 5),
    ],
)
def test_out_of_time(events: tuple[Event, ...], local: bool, code: int) -> None:
    names = frozenset({HOST}) if local else frozenset()
    ending = out_of_time(told(*events).hosts, names, "no proof came", 60.0)
    assert ending.exit_code == code
    words = "never answered within" if code == 3 else "timed out: no proof came within 1m 00s"
    assert words in ending.says


def test_what_stands_in_the_way_is_named() -> None:
    fleet = told(ack(info(7)), fleet=read(reading(GIB, process(7)), reading(0), failed(999)))
    assert in_the_way(judge_host(host_of(fleet))) == (
        "gpu-a: GPU 0: 1.0 GiB held by train.py (pid 7, ana)",
        "gpu-a: GPU 2: its used memory can't be read: the driver reports an unknown error",
    )
    down = told(LinkDown(problem=UNREACHABLE))
    assert in_the_way(judge_host(host_of(down))) == ("gpu-a: Nobody listens there",)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("40GiB", 40 << 30),
        ("40 GiB", 40 << 30),
        ("1.5GiB", 3 << 29),
        ("500MiB", 500 << 20),
        ("80GB", 80 * 10**9),
        ("1KiB", 1024),
        ("0.1KiB", 103),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text, flag="--free") == size


@pytest.mark.parametrize(
    "text", ["", "40", "40G", "GiB", "-1GiB", "0GiB", "0.0GiB", "1e3GiB", "٣GiB"]
)
def test_no_sizes(text: str) -> None:
    with pytest.raises(UsageError, match="--free"):
        parse_size(text, flag="--free")
