"""From raw numbers to readings that can be trusted."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core import nvml
from gpudash.core.model import GpuReading, GpuState, Kind, MigReading
from gpudash.core.readings import (
    driver_version,
    has_scrambled_process_lists,
    held_sum,
    listed_bytes,
    merge_processes,
    read_gpu,
    state_of,
    trusted,
)
from tests.core.making import GIB, failed, gpu_info, infos, process, reading, readings

KINDS = st.sampled_from(list(Kind))
ROWS = st.lists(st.tuples(st.integers(1, 4), st.none() | st.integers(0, 9), KINDS), max_size=8)


@given(ROWS)
def test_merging_by_pid(rows: list[tuple[int, int | None, Kind]]) -> None:
    merged = merge_processes(rows)
    assert [row.pid for row in merged] == sorted({pid for pid, _, _ in rows})
    for row in merged:
        mine = [(used, kind) for pid, used, kind in rows if pid == row.pid]
        assert row.kinds == {kind for _, kind in mine}
        said = [used for used, _ in mine if used is not None]
        assert row.used_bytes == (max(said) if said else None)


@given(ROWS, st.randoms())
def test_merging_in_any_order(rows: list[tuple[int, int | None, Kind]], random: object) -> None:
    mixed = list(rows)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert merge_processes(mixed) == merge_processes(rows)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("580.159.04", (580, 159, 4)),
        ("450.80", (450, 80, 0)),
        ("535", None),
        ("", None),
        (None, None),
        ("N/A", None),
    ],
)
def test_driver_versions(text: str | None, version: tuple[int, int, int] | None) -> None:
    assert driver_version(text) == version


@pytest.mark.parametrize(
    ("driver", "is_scrambled"),
    [
        ("535.42.01", False),
        ("535.43.02", True),
        ("535.54.03", True),
        ("535.86.10", True),
        ("535.98", False),
        ("535.104.05", False),
        ("530.43", False),
        ("545.54", False),
        (None, False),
    ],
)
def test_the_drivers_that_scramble_process_lists(driver: str | None, is_scrambled: bool) -> None:
    assert has_scrambled_process_lists(driver) is is_scrambled
    sound = trusted(reading(GIB, process(7)), gpu_info(0), driver)
    assert (sound.processes is None) is is_scrambled
    assert sound.used_bytes == GIB


@pytest.mark.parametrize(
    "processes",
    [(process(0),), (process(1 << 22, 1), process((1 << 22) + 1, 1)), (process(7, 141 * GIB),)],
    ids=["pid 0", "pid above the kernel's", "more than there is"],
)
def test_an_impossible_process_list_becomes_unknown(processes: tuple[object, ...]) -> None:
    sound = trusted(reading(0, *processes), gpu_info(0), None)  # type: ignore[arg-type]
    assert sound.processes is None


def test_more_used_than_there_is_becomes_unknown() -> None:
    found = read_gpu(gpu_info(0), reading(141 * GIB), None)
    assert found.reading is not None
    assert found.reading.used_bytes is None
    assert found.state is GpuState.UNREADABLE


def test_what_nvml_calls_unknown_in_32_bits_becomes_unknown() -> None:
    raw = reading(0, power_mw=0xFFFF_FFFF, temperature_c=0xFFFF_FFFF, sm_clock_mhz=0xFFFF_FFFF)
    sound = trusted(raw, gpu_info(0), None)
    assert (sound.power_mw, sound.temperature_c, sound.sm_clock_mhz) == (None, None, None)
    assert trusted(reading(0, pstate=32), gpu_info(0), None).pstate is None
    assert trusted(reading(0, pstate=15), gpu_info(0), None).pstate == 15


@given(readings, infos)
def test_trust_only_takes_away(raw: GpuReading, info: object) -> None:
    sound = trusted(raw, info, "580.1")  # type: ignore[arg-type]
    for field in dataclasses.fields(GpuReading):
        kept = getattr(sound, field.name)
        if field.name != "hidden_processes":
            assert kept is None or kept == getattr(raw, field.name)
    dropped = len(raw.processes or ()) - len(sound.processes or ())
    assert sound.hidden_processes == raw.hidden_processes + dropped


@pytest.mark.parametrize("code", [*nvml._MEANINGS, 77])
def test_the_state_by_the_code_of_everything(code: int) -> None:
    expected = {
        nvml.GPU_IS_LOST: GpuState.LOST,
        nvml.GPU_NOT_FOUND: GpuState.LOST,
        nvml.RESET_REQUIRED: GpuState.NEEDS_RESET,
        nvml.NO_PERMISSION: GpuState.NO_PERMISSION,
    }.get(code, GpuState.UNREADABLE)
    assert state_of(gpu_info(0), failed(code)) is expected


@pytest.mark.parametrize(
    ("total", "got", "state"),
    [
        (None, None, GpuState.UNREAD),
        (8, reading(0), GpuState.READ),
        (8, reading(None), GpuState.UNREADABLE),
        (0, reading(0), GpuState.UNIFIED),
        (None, reading(None, memory_code=3), GpuState.UNIFIED),
        (8, reading(None, memory_code=3), GpuState.UNREADABLE),
        (8, reading(0, codes=frozenset({15})), GpuState.LOST),
        (8, reading(0, codes=frozenset({16, 15})), GpuState.LOST),
        (8, reading(0, codes=frozenset({16})), GpuState.NEEDS_RESET),
        (8, reading(0, codes=frozenset({14})), GpuState.READ),
        (8, reading(0, codes=frozenset({3, 13})), GpuState.READ),
        *((8, reading(0, recovery_action=n), GpuState.NEEDS_RESET) for n in (1, 2, 4, 6, 7)),
        *((8, reading(0, recovery_action=n), GpuState.NEEDS_ATTENTION) for n in (3, 5, 8, 99)),
        (8, reading(0, recovery_action=0), GpuState.READ),
        (8, reading(0, recovery_action=None), GpuState.READ),
    ],
)
def test_states(total: int | None, got: GpuReading | None, state: GpuState) -> None:
    assert state_of(gpu_info(0, total_bytes=total), got) is state


def mig(instance: int, compute: int, used: int | None, *pids: int) -> MigReading:
    return MigReading(
        gpu_instance=instance,
        compute_instance=compute,
        uuid=None,
        profile=None,
        used_bytes=used,
        total_bytes=None,
        processes=tuple(process(pid, 4) for pid in pids),
    )


@pytest.mark.parametrize(
    ("got", "held"),
    [
        (reading(None), 0),
        (reading(None, process(1, 3), process(2, 4)), 7),
        (reading(None, process(1, None)), 0),
        (reading(0, mig=(mig(1, 0, 5), mig(1, 1, 5))), 5),
        (reading(0, mig=(mig(1, 0, 5), mig(2, 0, 6))), 11),
        (reading(0, mig=(mig(1, 0, None, 7),)), 4),
        (reading(0, process(7, 9), mig=(mig(1, 0, 0, 7),)), 9),
        (GpuReading(), 0),
    ],
)
def test_what_is_held_for_certain(got: GpuReading, held: int) -> None:
    assert listed_bytes(got) == held


@pytest.mark.parametrize("code", range(-1, 1005, 7))
def test_every_code_has_words(code: int) -> None:
    known = nvml.meaning(code)
    assert known.name
    assert known.words
    assert nvml.recovery_words(code)


@pytest.mark.parametrize(
    ("readings", "held", "is_whole"),
    [
        ((), 0, False),
        ((None,), 0, False),
        ((reading(0),), 0, True),
        ((reading(None),), 0, False),
        ((reading(None, process(7, GIB)),), GIB, False),
        ((reading(0, process(7, GIB)),), GIB, True),
        ((reading(2 * GIB), reading(0)), 2 * GIB, True),
        ((reading(2 * GIB), None), 2 * GIB, False),
    ],
)
def test_what_is_held(readings: tuple[GpuReading | None, ...], held: int, is_whole: bool) -> None:
    assert held_sum(readings) == (held, is_whole)
