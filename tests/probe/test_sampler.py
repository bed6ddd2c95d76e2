"""The sampler as shipped, against the fake driver."""

from __future__ import annotations

import json
import os
import shutil
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gpudash.core.events import Garbled, Hello, Sample
from gpudash.core.model import GpuReading, GpuState
from gpudash.core.readings import read_gpu
from gpudash.core.wire import READING_FIELDS
from gpudash.sources import cutting, shipping
from tests.fake_driver import FOREVER, MIB, FakeDriver, Instance, Process
from tests.fake_driver.state import H200_RESERVED, H200_TOTAL
from tests.probe.running import (
    Program,
    cut_sampler,
    reaped,
    said,
    sampler_with,
    whole_binding,
)

IDLE = [0, 0, 75000, 30, 345, 1, 0, 0, []]


@pytest.fixture(scope="module")
def document() -> bytes:
    return cut_sampler()


def readings(driver: FakeDriver, document: bytes) -> list[object]:
    hello, sample, bye = said(driver.write(), document)
    assert (hello["t"], sample["t"], bye["t"]) == ("hello", "sample", "bye")
    return list(sample["gpus"])


# -- what it says ------------------------------------------------------------------------------


def test_an_idle_machine(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.env(), once=True) as program:
        hello, sample, bye = program.to_end()
        assert program.status() == 0
    assert hello["driver"] == "580.159.04"
    assert (hello["v"], hello["seq"], hello["source"], hello["simulated"]) == (1, 0, "nvml", False)
    assert hello["uid"] == os.getuid()
    assert hello["boot"]
    assert [gpu["index"] for gpu in hello["roster"]] == list(range(8))
    assert hello["roster"][1] == {
        "index": 1,
        "uuid": fake_driver.state.gpus[1].uuid,
        "bus": fake_driver.state.gpus[1].bus,
        "name": "NVIDIA H200",
        "total": H200_TOTAL,
        "reserved": H200_RESERVED,
        "limit": 700_000,
        "mig": False,
        "remap": [0, 0],
    }
    assert sample["gpus"] == [IDLE] * 8
    assert bye["reason"] == "done"
    assert [type(event).__name__ for event in program.events] == ["Hello", "Sample", "Bye"]


def test_each_value_stands_at_its_field(fake_driver: FakeDriver, document: bytes) -> None:
    driver = fake_driver.with_gpu(
        0,
        used=7 * MIB + 1,
        util=93,
        power_mw=612_345,
        temp=67,
        clocks=(1980, 1965, 3201, 1500),
        throttle=0x24,
        pstate=2,
        recovery=3,
        processes=(
            Process(43, 5 * MIB, "CG"),
            Process(41, None),
            Process(42, 7, "G"),
            Process(44, 9, "M"),
        ),
    )
    wanted = {
        "used": 7 * MIB + 1,
        "utilisation": 93,
        "power": 612_345,
        "temperature": 67,
        "sm_clock": 1965,
        "throttle": 0x24,
        "pstate": 2,
        "recovery": 3,
        "processes": [[41, None, "C"], [42, 7, "G"], [43, 5 * MIB, "CG"], [44, 9, "M"]],
    }
    assert readings(driver, document)[0] == [wanted[name] for name in READING_FIELDS]


def test_the_size_of_a_tick(fake_driver: FakeDriver, document: bytes) -> None:
    """Design §11: at most 1 KB a second for 8 GPUs."""
    busy = fake_driver
    for gpu in range(8):
        busy = busy.with_gpu(gpu, used=70 << 30, util=100, power_mw=700_000).with_process(
            gpu, Process(4_000_000 + gpu, 70 << 30)
        )
    with Program(document, busy.write().env(), once=True) as program:
        program.to_end()
        ticks = [line for line in program.raw.split(b"\n") if b'"sample"' in line]
    assert len(ticks[0]) <= 1024


# -- memory ------------------------------------------------------------------------------------


def test_version_2_counts_without_the_reserve(fake_driver: FakeDriver, document: bytes) -> None:
    assert readings(fake_driver.with_used(0, 1), document)[0][0] == 1  # type: ignore[index]


@pytest.mark.parametrize("code", [3, 4, 15, 16, 25, 999])
def test_version_1_is_no_way_round_an_error(
    fake_driver: FakeDriver, document: bytes, code: int
) -> None:
    got = readings(fake_driver.with_error(0, "MemoryInfo_v2", code), document)[0]
    assert (got if code == 15 else got[0]) == {"e": code}  # type: ignore[index]


def test_version_1_where_there_is_no_version_2(fake_driver: FakeDriver, document: bytes) -> None:
    got = readings(fake_driver.with_error(0, "MemoryInfo_v2", 13), document)
    assert got[0][0] == H200_RESERVED  # type: ignore[index]
    assert got[1][0] == 0  # type: ignore[index]


def test_a_driver_of_450(fake_driver: FakeDriver, document: bytes) -> None:
    old = replace(fake_driver, old_450=True).with_used(0, 5)
    old = old.with_process(0, Process(41, 4)).with_process(0, Process(42, None, "G"))
    hello, sample, _ = said(old.with_state(driver="450.80.02").write(), document)
    assert hello["roster"][0]["reserved"] is None
    got = sample["gpus"][0]
    assert got[0] == 5
    assert got[5] == 1
    assert got[7] == {"e": 3}
    assert got[8] == [[41, 4, "C"], [42, 2**64 - 1, "G"]]
    with Program(document, old.env(), once=True) as program:
        program.to_end()
    event = program.events[1]
    assert isinstance(event, Sample)
    processes = event.readings[0].processes
    assert processes is not None
    assert processes[1].used_bytes is None


def test_unified_memory(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.unify(0).write().env(), once=True) as program:
        program.to_end()
    hello, sample = program.events[:2]
    assert isinstance(hello, Hello)
    assert isinstance(sample, Sample)
    found = read_gpu(hello.roster[0], sample.readings[0], hello.facts.driver)
    assert found.state.value == "unified"


def test_a_total_that_comes_later_is_told(fake_driver: FakeDriver, document: bytes) -> None:
    deaf = fake_driver.with_error(0, "MemoryInfo*", 999).write()
    with Program(document, deaf.env(), interval=0.05, refresh=0.1) as program:
        assert program.of("hello")["roster"][0]["total"] is None
        fake_driver.write()
        hello = program.until(lambda line: line["t"] == "hello" and line["seq"] > 0)
    assert hello["roster"][0]["total"] == H200_TOTAL


def test_a_uuid_that_comes_later_is_told(fake_driver: FakeDriver, document: bytes) -> None:
    nameless = fake_driver.with_error(0, "UUID", 999).write()
    with Program(document, nameless.env(), interval=0.05, refresh=0.1) as program:
        assert program.of("hello")["roster"][0]["uuid"] is None
        fake_driver.write()
        hello = program.until(lambda line: line["t"] == "hello" and line["seq"] > 0)
    assert hello["roster"][0]["uuid"] == fake_driver.state.gpus[0].uuid


# -- processes ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Compute", "Graphics", "MPSCompute"])
@pytest.mark.parametrize("code", [7, 999, 4])
def test_a_list_that_fails_makes_the_list_unknown(
    fake_driver: FakeDriver, document: bytes, kind: str, code: int
) -> None:
    got = readings(fake_driver.with_error(0, f"{kind}RunningProcesses*", code), document)[0]
    assert got == [*IDLE[:8], {"e": code}]


@pytest.mark.parametrize("kind", ["Graphics", "MPSCompute"])
@pytest.mark.parametrize("code", [3, 13])
def test_a_gpu_without_graphics_is_not_unknown(
    fake_driver: FakeDriver, document: bytes, kind: str, code: int
) -> None:
    driver = fake_driver.with_error(0, f"{kind}RunningProcesses*", code)
    assert readings(driver.with_process(0, Process(7, 5)), document)[0] == [
        *IDLE[:8],
        [[7, 5, "C"]],
    ]


def test_a_list_that_grew_is_asked_again(fake_driver: FakeDriver, document: bytes) -> None:
    """Code 7 for a while, then an answer: within one tick it is asked again at once."""
    call = "ComputeRunningProcesses_v3"
    growing = fake_driver.with_error(0, call, 7).with_process(0, Process(7, 5)).write()
    with Program(document, growing.env(), interval=0.05) as program:
        assert program.of("sample")["gpus"][0][8] == {"e": 7}
        fake_driver.with_process(0, Process(7, 5)).write()
        program.until(lambda line: line["t"] == "sample" and line["gpus"][0][8] == [[7, 5, "C"]])


def test_old_lists_step_down_by_version(fake_driver: FakeDriver, document: bytes) -> None:
    driver = fake_driver.with_process(0, Process(7, 5))
    for version in (3, 2):
        driver = driver.with_error(0, f"ComputeRunningProcesses_v{version}", 13)
        assert readings(driver, document)[0] == [*IDLE[:8], [[7, 5, "C"]]]


def test_lists_too_long_for_a_line_become_unknown(fake_driver: FakeDriver, document: bytes) -> None:
    many = tuple(Process(1_000_000 + n, 123_456_789) for n in range(1000))
    driver = fake_driver
    for gpu in range(8):
        driver = driver.with_gpu(gpu, processes=many, used=5)
    with Program(document, driver.write().env(), once=True) as program:
        program.to_end()
    sample = program.events[1]
    assert isinstance(sample, Sample)
    assert not any(isinstance(event, Garbled) for event in program.events)
    assert all(reading.processes is None for reading in sample.readings)
    assert all(reading.used_bytes == 5 for reading in sample.readings)


# -- recovery, MIG -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "code", "said_"),
    [(0, 0, 0), (1, 0, 1), (7, 0, 7), (0, 3, {"e": 3}), (1, 17, {"e": 17})],
)
def test_recovery_has_a_code_of_its_own(
    fake_driver: FakeDriver, document: bytes, value: int, code: int, said_: object
) -> None:
    got = readings(fake_driver.with_gpu(0, recovery=value, recovery_code=code), document)[0]
    assert got[7] == said_  # type: ignore[index]


def mig(driver: FakeDriver) -> FakeDriver:
    instances = (
        Instance(1, 0, "MIG-a", "3g.71gb", used=5, total=9 * MIB),
        Instance(2, 0, "MIG-b", "1g.18gb", used=0),
    )
    return driver.with_gpu(
        0,
        mig=(1, 1),
        instances=instances,
        used=45,
        processes=(Process(7, 5, gi=1, ci=0), Process(8, None, "C", gi=2, ci=0)),
    )


def test_mig(fake_driver: FakeDriver, document: bytes) -> None:
    hello, sample, _ = said(mig(fake_driver).write(), document)
    assert hello["roster"][0]["mig"] is True
    got = sample["gpus"][0]
    assert got[1] == {"e": 3}
    assert [(s["gi"], s["ci"], s["uuid"], s["used"]) for s in got[9]] == [
        (1, 0, "MIG-a", 5),
        (2, 0, "MIG-b", 0),
    ]
    assert got[9][0]["profile"] == "3g.71gb"
    assert got[9][0]["total"] == 9 * MIB
    assert [s["procs"] for s in got[9]] == [[[7, 5, "C"]], [[8, None, "C"]]]
    assert len(sample["gpus"][1]) == len(READING_FIELDS)


def test_mig_switched_on_is_noticed(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.env(), interval=0.05, refresh=0.1) as program:
        assert program.of("hello")["roster"][0]["mig"] is False
        mig(fake_driver).write()
        program.until(lambda line: line["t"] == "hello" and line["roster"][0]["mig"])
        program.until(lambda line: line["t"] == "sample" and len(line["gpus"][0]) == 10)


# -- GPUs that go and come back ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "told", "state"),
    [
        ((3, 0, 0, 0), [0, 0], GpuState.READ),
        ((0, 1, 1, 0), [1, 0], GpuState.NEEDS_RESET),
        ((0, 1, 0, 1), [0, 1], GpuState.NEEDS_ATTENTION),
        (None, {"e": 3}, GpuState.READ),
    ],
)
def test_rows_that_wait_to_be_replaced(
    fake_driver: FakeDriver,
    document: bytes,
    rows: tuple[int, int, int, int] | None,
    told: object,
    state: GpuState,
) -> None:
    driver = fake_driver.with_gpu(0, remapped=rows)
    with Program(document, driver.write().env(), once=True) as program:
        hello, _, _ = program.to_end()
        event = program.events[0]
    assert hello["roster"][0]["remap"] == told
    assert isinstance(event, Hello)
    assert read_gpu(event.roster[0], GpuReading(used_bytes=0), None).state is state


def test_a_row_that_breaks_later_is_told(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.env(), interval=0.05, refresh=0.1) as program:
        program.of("sample")
        fake_driver.with_gpu(0, remapped=(0, 1, 1, 0)).write()
        program.until(lambda line: line["t"] == "hello" and line["roster"][0]["remap"] == [1, 0])


def test_a_lost_gpu(fake_driver: FakeDriver, document: bytes) -> None:
    hello, sample, _ = said(fake_driver.lose(3).write(), document)
    assert len(hello["roster"]) == 8
    assert sample["gpus"][3] == {"e": 15}
    assert sample["gpus"][4] == IDLE


def test_lost_and_back(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.env(), interval=0.05, revive=0.1) as program:
        program.of("sample")
        fake_driver.lose(3).write()
        program.until(lambda line: line["t"] == "sample" and line["gpus"][3] == {"e": 15})
        fake_driver.write()
        program.until(lambda line: line["t"] == "sample" and line["gpus"][3] == IDLE)


def test_vanished_and_back(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.env(), interval=0.05, revive=0.1) as program:
        program.of("sample")
        fake_driver.vanish(3).write()
        program.until(lambda line: line["t"] == "sample" and line["gpus"][3] == {"e": 15})
        short = program.until(lambda line: line["t"] == "hello" and len(line["roster"]) == 7)
        assert fake_driver.state.gpus[3].uuid not in [gpu["uuid"] for gpu in short["roster"]]
        assert short["seq"] > 0
        fake_driver.write()
        program.until(lambda line: line["t"] == "hello" and len(line["roster"]) == 8)
        program.until(lambda line: line["t"] == "sample" and line["gpus"] == [IDLE] * 8)


@pytest.mark.parametrize("code", [15, 16, 999])
def test_a_handle_that_comes_later(fake_driver: FakeDriver, document: bytes, code: int) -> None:
    broken = fake_driver.with_error(3, "HandleByIndex_v2", code).write()
    with Program(document, broken.env(), interval=0.05, revive=0.1) as program:
        assert program.of("hello")["roster"][3]["uuid"] is None
        assert program.of("sample")["gpus"][3] == {"e": code}
        fake_driver.write()
        program.until(lambda line: line["t"] == "hello" and line["roster"][3]["uuid"] is not None)
        program.until(lambda line: line["t"] == "sample" and line["gpus"][3] == IDLE)


@pytest.mark.parametrize("code", [1, 9, 28])
def test_memory_that_needs_a_new_session(
    fake_driver: FakeDriver, document: bytes, code: int
) -> None:
    with Program(document, fake_driver.env(), interval=0.05, revive=0.1) as program:
        program.of("sample")
        fake_driver.with_error(3, "MemoryInfo_v2", code).write()
        program.until(lambda line: line["t"] == "sample" and line["gpus"][3][0] == {"e": code})
        program.until(lambda line: line["t"] == "hello" and line["seq"] > 0)


def test_no_gpus_at_all_is_looked_at_again(fake_driver: FakeDriver, document: bytes) -> None:
    empty = fake_driver.with_state(gpus=()).write()
    with Program(document, empty.env(), interval=0.05, revive=0.1) as program:
        assert program.of("hello")["roster"] == []
        assert program.of("sample")["gpus"] == []
        fake_driver.write()
        assert program.until(lambda line: line["t"] == "hello" and line["roster"])


# -- the driver as a whole ---------------------------------------------------------------------


@pytest.mark.parametrize("code", [9, 18, 4, 999])
def test_no_session(fake_driver: FakeDriver, document: bytes, code: int) -> None:
    lines = said(fake_driver.with_init_error(code).write(), document)
    assert [line["t"] for line in lines] == ["fault", "bye"]
    assert lines[0] == {"t": "fault", "call": "nvmlInit", "code": code, "fatal": True}


def test_no_library(document: bytes) -> None:
    env = {name: text for name, text in os.environ.items() if name != "LD_LIBRARY_PATH"}
    with Program(document, env, once=True) as program:
        lines = program.to_end()
    assert lines[0] == {"t": "fault", "call": "nvmlInit", "code": 12, "fatal": True}


def test_a_driver_upgraded_underneath(
    fake_driver: FakeDriver, document: bytes, tmp_path: Path
) -> None:
    library = tmp_path / "lib" / "libnvidia-ml.so.1"
    library.parent.mkdir()
    shutil.copy(fake_driver.library, library)
    env = fake_driver.env() | {"LD_LIBRARY_PATH": str(library.parent)}
    with Program(document, env, interval=0.05, refresh=0.1) as program:
        program.of("sample")
        newer = library.with_suffix(".new")
        shutil.copy(fake_driver.library, newer)
        os.replace(newer, library)
        fault = program.of("fault")
        assert program.of("bye")
        assert program.status() == 0
    assert (fault["code"], fault["fatal"]) == (18, True)


def test_calls_that_meet_another_driver(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.env(), interval=0.05) as program:
        program.of("sample")
        fake_driver.with_error(2, "MemoryInfo_v2", 18).write()
        fault = program.of("fault")
    assert (fault["code"], fault["fatal"]) == (18, True)


# -- a call that hangs -------------------------------------------------------------------------


def test_a_hung_call_is_told_once_and_ends_with_stdin(
    fake_driver: FakeDriver, document: bytes
) -> None:
    hung = fake_driver.with_delay(3, "PowerUsage", FOREVER).write()
    with Program(document, hung.env(), interval=0.05, hung=0.1) as program:
        fault = program.of("fault")
        assert (fault["call"], fault["gpu"]) == ("nvmlDeviceGetPowerUsage", 3)
        assert fault["hung"] >= 0.1
        assert "code" not in fault
        program.child.close_stdin()
        assert program.status() == 0


def test_a_call_that_returns_after_all_goes_on(fake_driver: FakeDriver, document: bytes) -> None:
    hung = fake_driver.with_delay(3, "PowerUsage", FOREVER).write()
    with Program(document, hung.env(), interval=0.05, hung=0.1) as program:
        program.of("fault")
        fake_driver.write()
        assert program.of("sample")["gpus"] == [IDLE] * 8


def test_a_hung_start(fake_driver: FakeDriver, document: bytes) -> None:
    hung = fake_driver.with_delay(None, "Init*", FOREVER).write()
    with Program(document, hung.env(), hung=0.1) as program:
        assert program.of("fault")["call"] == "nvmlInit"
        program.child.close_stdin()
        assert program.status() == 0


# -- commands ----------------------------------------------------------------------------------


def test_once_is_answered_and_followed_by_a_tick(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.env(), interval=3600) as program:
        first = program.of("sample")
        program.send(5, "once")
        assert program.of("ack") == {"t": "ack", "id": 5, "ok": True}
        assert program.of("sample")["seq"] == first["seq"] + 1


def test_a_ping_is_answered_even_while_the_driver_hangs(
    fake_driver: FakeDriver, document: bytes
) -> None:
    """With the host's wall clock, and by no tick."""
    hung = fake_driver.with_delay(3, "PowerUsage", FOREVER).write()
    with Program(document, hung.env(), interval=0.05, hung=0.1) as program:
        program.of("fault")
        before = time.time()
        program.send(7, "ping")
        ack = program.of("ack")
        assert (ack["id"], ack["ok"]) == (7, True)
        # The same clock, told to a millisecond.
        assert before - 0.001 <= ack["wall"] <= time.time() + 0.001
        assert not any(line["t"] == "sample" for line in program.lines)


def test_rate(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.env(), interval=3600) as program:
        program.of("sample")
        program.send(5, "rate", interval=0.05)
        assert program.of("ack")["ok"]
        assert program.of("hello")["interval"] == 0.05
        for _ in range(3):
            program.of("sample")


@pytest.mark.parametrize("interval", [None, 0, 0.01, 3601, "1", True, [1]])
def test_a_wrong_rate_changes_nothing(
    fake_driver: FakeDriver, document: bytes, interval: object
) -> None:
    with Program(document, fake_driver.env(), interval=3600) as program:
        program.of("sample")
        program.send(5, "rate", interval=interval)
        answer = program.of("ack")
        assert not answer["ok"]
        assert answer["error"]
        program.send(6, "once")
        assert program.of("ack", id=6)["ok"]


@pytest.mark.parametrize("do", ["release", "bye"])
def test_the_end(fake_driver: FakeDriver, document: bytes, do: str) -> None:
    with Program(document, fake_driver.env(), interval=3600) as program:
        program.of("sample")
        program.send(5, do)
        assert program.of("ack")["ok"]
        assert program.of("bye")["reason"] == "done"
        assert program.status() == 0


def test_the_unknown_is_an_error_and_no_silence(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.env(), interval=3600) as program:
        program.of("sample")
        program.send(5, "dance" * 100)
        answer = program.of("ack")
        assert (answer["id"], answer["ok"]) == (5, False)
        assert "dance" in answer["error"]
        assert len(answer["error"]) < 100


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"x",
        b"[]",
        b'{"id":1}',
        b'{"id":true,"do":"bye"}',
        b'{"id":-1,"do":"bye"}',
        b'{"id":1,"do":5}',
        b"\xff\xfe",
        b"[" * 60000,
    ],
    ids=lambda line: repr(line[:12]),
)
def test_what_is_no_command(fake_driver: FakeDriver, document: bytes, line: bytes) -> None:
    with Program(document, fake_driver.env(), interval=3600) as program:
        program.of("sample")
        program.child.write(line + b"\n")
        assert program.of("ack") == {"t": "ack", "id": 0, "ok": False, "error": "not a command"}
        program.send(5, "bye")
        assert program.of("ack", id=5)["ok"]
        assert program.status() == 0


# -- pipes -------------------------------------------------------------------------------------


def test_it_ends_with_stdin(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.env(), interval=3600) as program:
        program.of("sample")
        program.child.close_stdin()
        assert program.status() == 0


def test_it_ends_with_its_reader(fake_driver: FakeDriver, document: bytes) -> None:
    with Program(document, fake_driver.env(), interval=0.05) as program:
        program.of("sample")
        program.child._close(program.child.stdout)
        assert reaped(program.child) == 0


def test_stray_prints_do_not_meet_the_wire(fake_driver: FakeDriver) -> None:
    """A library that prints, from C or Python, writes to stderr."""
    noisy = cutting.cut_binding(whole_binding(), shipping.BINDING_FUNCTIONS) + (
        "\n_quiet = nvmlInit\n"
        "def nvmlInit():\n"
        "    import os\n"
        "    print('stray', flush=True)\n"
        "    os.write(1, b'raw stray\\n')\n"
        "    _quiet()\n"
    )
    document = sampler_with(noisy)
    with Program(document, fake_driver.env(), once=True) as program:
        program.to_end()
        assert program.child.errors().split("\n") == ["stray", "raw stray"]
    assert [type(event).__name__ for event in program.events] == ["Hello", "Sample", "Bye"]


def test_a_program_that_fails_says_why(fake_driver: FakeDriver) -> None:
    document = json.dumps({"bootstrap": "def start(d):\n    raise SystemExit(99)", "modules": []})
    with Program(document.encode(), fake_driver.env()) as program:
        program.to_end()
        assert program.status() == 99


def test_nothing_at_all_is_exit_98() -> None:
    from gpudash.sources.oneshot import python_argv
    from gpudash.sources.process import Child

    child = Child(python_argv())
    assert child.end(patience_s=20.0) == 98


def test_an_error_in_the_probe_is_exit_99(fake_driver: FakeDriver) -> None:
    modules = [("gpudash.probe.broken", "def main(options):\n    raise KeyError('so')\n")]
    with Program(shipping._document(modules, "gpudash.probe.broken"), fake_driver.env()) as program:
        program.to_end()
        assert program.status() == 99
        assert "KeyError: 'so'" in program.child.errors()
