"""The lines of a scan: it is whole or it is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.events import Garbled, ProbeEvent, Scanned
from gpudash.core.holding import Existence, Reach, reach_of
from gpudash.core.scanlines import MAX_PARTS
from gpudash.core.wire import LineDecoder
from tests.core.making import HOST, TOKEN, hello, line, roster, told
from tests.core.scans import last_fields, part_fields, row_fields, scan, scanned, seen


def decoded(*lines: dict[str, Any]) -> list[ProbeEvent]:
    decoder = LineDecoder(TOKEN)
    decoder.feed(f"{TOKEN}\n".encode())
    return [event for fields in lines for event in decoder.feed(line(**fields))]


def test_parts_become_one_scan_by_pid() -> None:
    (event,) = decoded(
        part_fields(0, row_fields(pid=50), row_fields(pid=40)), last_fields(1, row_fields(pid=45))
    )
    assert isinstance(event, Scanned)
    assert event.id == 7
    assert [process.pid for process in event.scan.processes] == [40, 45, 50]
    assert event.scan.listed == ((9, Existence.HIDDEN),)
    assert (event.scan.seen, event.scan.unreadable) == (200, 3)
    assert event.scan.processes[0].hints == (("RANK", "0"),)


def test_a_scan_that_is_not_complete_is_none() -> None:
    for lines in (
        [last_fields(1)],
        [part_fields(0), last_fields(2)],
        [part_fields(0), part_fields(0, id=8), last_fields(1)],
        [part_fields(0), part_fields(1, row_fields(pid=0)), last_fields(2)],
    ):
        events = decoded(*lines)
        assert events
        assert all(isinstance(event, Garbled) for event in events)


def test_a_scan_after_one_that_broke_off_is_whole() -> None:
    events = decoded(part_fields(0, row_fields()), last_fields(0, row_fields(pid=5), id=8))
    (event,) = events
    assert isinstance(event, Scanned)
    assert [process.pid for process in event.scan.processes] == [5]


def test_a_scan_without_end_is_given_up() -> None:
    events = decoded(*(part_fields(number) for number in range(MAX_PARTS + 1)))
    (event,) = events
    assert isinstance(event, Garbled)


@pytest.mark.parametrize("key", [*row_fields()])
def test_a_process_with_a_wrong_value_is_none(key: str) -> None:
    if key in ("readable", "kernel"):
        return  # Anything but true is no.
    (event,) = decoded(last_fields(0, row_fields(**{key: object.__name__.encode().hex() + "?"})))
    is_text = key in ("user", "comm", "path", "cwd", "state", "cgroup")
    assert isinstance(event, Scanned if is_text else Garbled)
    (event,) = decoded(last_fields(0, row_fields(**{key: 1.5})))
    assert isinstance(event, Scanned if key == "age" else Garbled)


@pytest.mark.parametrize(
    "handle",
    [[], ["gpu"], ["gpus", None, 1, 0], ["gpu", 5, 1, 0], ["gpu", None, -1, 0], ["gpu", None, 1]],
)
def test_a_handle_that_is_none(handle: list[object]) -> None:
    (event,) = decoded(last_fields(0, row_fields(handles=[handle])))
    assert isinstance(event, Garbled)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=6,
)


@given(
    changes=st.dictionaries(st.sampled_from([*last_fields(0)][1:]), json_values, max_size=3),
    row=st.dictionaries(st.sampled_from([*row_fields()]), json_values, max_size=2),
)
def test_nothing_raises(changes: dict[str, Any], row: dict[str, Any]) -> None:
    events = decoded({**last_fields(0, {**row_fields(), **row}), **changes})
    assert all(isinstance(event, Scanned | Garbled) for event in events)


# -- in the fleet ------------------------------------------------------------------------------


def test_the_newest_scan_of_this_boot_is_kept() -> None:
    first, second, other = scanned(), scanned(seen(5)), scanned(boot_id="boot-2")
    fleet = told(hello(*roster(1)), first, second)
    assert fleet.host(HOST).scan is second.scan
    assert told(other, fleet=fleet).host(HOST).scan is second.scan
    again = told(hello(*roster(1), boot_id="boot-2"), fleet=fleet)
    assert again.host(HOST).scan is None


def test_how_far_a_scan_saw() -> None:
    assert reach_of(scan()) == Reach()
    assert reach_of(scan()).word == "full"
    partial = reach_of(scan(unreadable=2, is_initial_namespace=False, notes=("x",)))
    assert partial.word == "partial"
    assert len(partial.why) == 3
    assert reach_of(None).word == "partial"
