"""Short ways to make core values, and hypothesis strategies over them."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from gpudash.core.events import (
    Ack,
    Bye,
    Event,
    Fault,
    Garbled,
    Hello,
    LinkConnecting,
    LinkDown,
    LinkPaused,
    LinkStale,
    Sample,
)
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import (
    Ancestor,
    Fleet,
    Gpu,
    GpuInfo,
    GpuProcess,
    GpuReading,
    GpuState,
    Host,
    HostFacts,
    Kind,
    MigReading,
    Problem,
    ProcessInfo,
)

HOST = "gpu-a"
GIB = 1 << 30
TOKEN = "gpudash-0123456789abcdef"


def facts(**changes: Any) -> HostFacts:
    values: dict[str, Any] = {
        "protocol": 1,
        "source": "nvml",
        "python": "3.11.7",
        "driver": "580.159.04",
        "nvml": "13.580.159.04",
        "boot_id": "boot-1",
        "uid": 1000,
        "pid_namespace": None,
    }
    return HostFacts(**(values | changes))


def gpu_info(index: int, uuid: str | None = "", **changes: Any) -> GpuInfo:
    known = f"GPU-{index}" if uuid == "" else uuid
    values: dict[str, Any] = {"bus_id": f"00000000:{index:02x}:00.0", "total_bytes": 140 * GIB}
    return GpuInfo(index=index, uuid=known, **(values | changes))


def roster(count: int) -> tuple[GpuInfo, ...]:
    return tuple(gpu_info(index) for index in range(count))


def hello(*infos: GpuInfo, seq: int = 0, interval_s: float = 1.0, **changes: Any) -> Hello:
    return Hello(
        seq=seq,
        host_monotonic_s=1.0,
        facts=facts(**changes),
        roster=infos,
        interval_s=interval_s,
    )


def reading(used: int | None = 0, *processes: GpuProcess, **changes: Any) -> GpuReading:
    values: dict[str, Any] = {"used_bytes": used, "processes": processes}
    return GpuReading(**(values | changes))


def failed(code: int) -> GpuReading:
    return GpuReading(memory_code=code, processes_code=code, codes=frozenset({code}))


def sample(seq: int, *readings: GpuReading) -> Sample:
    return Sample(seq=seq, host_monotonic_s=float(seq), readings=readings)


def process(pid: int, used: int | None = GIB, kind: Kind = Kind.COMPUTE) -> GpuProcess:
    return GpuProcess(pid=pid, used_bytes=used, kinds=frozenset({kind}))


def info(pid: int, comm: str = "python", **changes: Any) -> ProcessInfo:
    values: dict[str, Any] = {
        "start_ticks": pid * 10,
        "uid": 1000,
        "user": "ana",
        "argv": ("python", "train.py"),
        "state": "S",
        "age_s": 60.0,
    }
    return ProcessInfo(pid=pid, comm=comm, **(values | changes))


def ancestor(pid: int, comm: str = "python", uid: int = 1000, *argv: str) -> Ancestor:
    return Ancestor(pid=pid, start_ticks=pid * 10, uid=uid, comm=comm, argv=argv)


def ack(*processes: ProcessInfo, gone: tuple[int, ...] = ()) -> Ack:
    return Ack(id=1, is_ok=True, processes=processes, gone=frozenset(gone))


def told(*events: Event, name: str = HOST, fleet: Fleet | None = None) -> Fleet:
    """Return a fleet of one host after these events, a second apart."""
    fleet = fleet or new_fleet((name,), 0.0)
    for at_s, event in enumerate(events, start=1):
        fleet = apply(fleet, name, event, float(at_s))
    return fleet


def host_of(fleet: Fleet) -> Host:
    return fleet.hosts[0]


def read(*used: int | None) -> Fleet:
    """Return a fleet whose GPUs were read once."""
    return told(hello(*roster(len(used))), sample(1, *(reading(value) for value in used)))


def gpu(state: GpuState = GpuState.READ, got: GpuReading | None = None, index: int = 0) -> Gpu:
    return Gpu(info=gpu_info(index), reading=got, state=state)


# -- the wire as text --------------------------------------------------------------------------


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def hello_fields(**changes: object) -> dict[str, object]:
    fields: dict[str, object] = {
        "t": "hello",
        "v": 1,
        "seq": 0,
        "mono": 1.5,
        "interval": 1.0,
        "source": "nvml",
        "python": "3.6.15",
        "driver": "580.159.04",
        "nvml": "13",
        "boot": "b",
        "uid": 0,
        "pidns": 1,
        "simulated": False,
        "unsupported": [],
        "roster": [gpu_fields()],
    }
    return fields | changes


def gpu_fields(**changes: object) -> dict[str, object]:
    fields: dict[str, object] = {
        "index": 0,
        "uuid": "GPU-0",
        "bus": "00000000:19:00.0",
        "name": "NVIDIA H200",
        "total": 150754820096,
        "reserved": 644939776,
        "limit": 700000,
        "mig": False,
    }
    return fields | changes


def sample_fields(*gpus: object, **changes: object) -> dict[str, object]:
    return {"t": "sample", "seq": 1, "mono": 2.5, "gpus": list(gpus)} | changes


IDLE = [0, 0, 75000, 30, 345, 1, 0, 0, []]


# -- strategies --------------------------------------------------------------------------------

codes = st.sampled_from([1, 3, 4, 7, 9, 14, 15, 16, 17, 18, 28, 999])
amounts = st.sampled_from([0, 0, 0, 1, GIB, 141 * GIB])
maybe_amounts = st.none() | amounts
gpu_processes = st.builds(
    GpuProcess,
    pid=st.integers(1, 5),
    used_bytes=maybe_amounts,
    kinds=st.just(frozenset({Kind.COMPUTE})),
)
process_lists = st.none() | st.lists(gpu_processes, max_size=2).map(tuple)
migs = st.builds(
    MigReading,
    gpu_instance=st.integers(0, 2),
    compute_instance=st.just(0),
    uuid=st.none(),
    profile=st.none(),
    used_bytes=maybe_amounts,
    total_bytes=st.none(),
    fault_code=st.none() | codes,
    processes=process_lists,
)
readings = st.one_of(
    st.builds(failed, codes),
    st.just(reading(0)),
    st.builds(
        GpuReading,
        used_bytes=maybe_amounts,
        utilisation_pct=st.sampled_from([None, 0, 100]),
        recovery_action=st.sampled_from([None, 0, 0, 0, 1, 3, 9]),
        processes=process_lists,
        mig=st.just(()) | st.lists(migs, max_size=2).map(tuple),
        memory_code=st.none() | codes,
        codes=st.just(frozenset()) | st.frozensets(codes, max_size=2),
    ),
)
infos = st.builds(
    gpu_info,
    index=st.integers(0, 3),
    uuid=st.sampled_from(["", "", "", None]),
    bus_id=st.sampled_from([None, "00000000:01:00.0", "00000000:02:00.0"]),
    total_bytes=st.sampled_from([140 * GIB, 140 * GIB, None, 0]),
)
rosters = st.lists(infos, max_size=3, unique_by=lambda info: info.key).map(tuple)
hellos = st.builds(
    Hello,
    seq=st.sampled_from([0, 0, 3]),
    host_monotonic_s=st.just(1.0),
    facts=st.builds(facts, boot_id=st.sampled_from(["boot-1", "boot-1", "boot-2"])),
    roster=rosters,
    interval_s=st.just(1.0),
)
samples = st.builds(
    Sample,
    seq=st.integers(0, 9),
    host_monotonic_s=st.just(1.0),
    readings=st.lists(readings, max_size=3).map(tuple),
)
acks = st.builds(
    ack,
    st.builds(info, st.integers(1, 5)),
    gone=st.lists(st.integers(1, 5), max_size=2).map(tuple),
)
faults = st.builds(
    Fault,
    call=st.just("nvmlDeviceGetCount"),
    code=st.none() | codes,
    gpu_index=st.none() | st.integers(0, 3),
    is_fatal=st.booleans(),
)
problems = st.just(Problem(title="down", sentence="The link is down."))
events = st.one_of(
    hellos,
    samples,
    samples,
    acks,
    faults,
    st.builds(LinkDown, problem=problems),
    st.sampled_from(
        [
            Bye(reason="done"),
            Garbled(reason="noise", excerpt="x"),
            LinkConnecting(),
            LinkPaused(is_released=False),
            LinkPaused(is_released=True),
            LinkStale(),
        ]
    ),
)
