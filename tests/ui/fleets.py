"""Hand-made fleets for painters: what real machines look like, without one."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core import letters
from gpudash.core.model import (
    Ancestor,
    Fleet,
    Gpu,
    GpuInfo,
    GpuProcess,
    GpuReading,
    GpuState,
    Happening,
    Host,
    HostFacts,
    Kind,
    Link,
    MigReading,
    Owner,
    Problem,
    ProcessInfo,
)
from gpudash.ui.paint.view import Utilisation

GIB = 1 << 30
NOW = 10_000.0
NOON = 12 * 3600 + 6 * 60 + 23
"""Seconds of the day at NOW."""


def wall_of(at_s: float) -> str:
    second = int(NOON + at_s - NOW) % 86_400
    return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def facts(**changes: object) -> HostFacts:
    known = HostFacts(
        protocol=1,
        source="nvml",
        python="3.11",
        driver="575.57.08",
        nvml="12",
        boot_id="b",
        uid=0,
        pid_namespace=None,
    )
    return replace(known, **changes)  # type: ignore[arg-type]


def gpu(
    index: int,
    used: float | None = 0.0,
    *procs: tuple[int, float | None],
    total: float = 95.6,
    name: str = "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    util: int | None = 0,
    temp: int | None = 34,
    watts: int | None = 31,
    state: GpuState = GpuState.READ,
    mig: tuple[MigReading, ...] = (),
    listed: bool = True,
    action: int | None = None,
) -> Gpu:
    processes = tuple(
        GpuProcess(
            pid=pid,
            used_bytes=None if size is None else int(size * GIB),
            kinds=frozenset({Kind.COMPUTE}),
        )
        for pid, size in procs
    )
    reading = GpuReading(
        used_bytes=None if used is None else int(used * GIB),
        utilisation_pct=util,
        temperature_c=temp,
        power_mw=None if watts is None else watts * 1000,
        sm_clock_mhz=1980,
        processes=processes if listed else None,
        mig=mig,
        recovery_action=action,
    )
    info = GpuInfo(index=index, uuid=f"GPU-{index}", name=name, total_bytes=int(total * GIB))
    return Gpu(info=info, reading=reading, state=state)


def process(
    pid: int,
    argv: str,
    *,
    age: float,
    user: str = "root",
    uid: int = 0,
    root: tuple[int, str] | None = None,
    state: str = "S",
) -> ProcessInfo:
    words = tuple(argv.split(" "))
    up = ()
    if root is not None:
        up = (
            Ancestor(
                pid=root[0],
                start_ticks=root[0],
                uid=uid,
                comm="python",
                argv=tuple(root[1].split(" ")),
            ),
        )
    return ProcessInfo(
        pid=pid,
        start_ticks=pid,
        uid=uid,
        user=user,
        comm=words[0][:15],
        argv=words,
        state=state,
        age_s=age,
        known_at_s=NOW,
        ancestors=up,
    )


def host(name: str, gpus: tuple[Gpu, ...], **changes: object) -> Host:
    known = Host(
        name=name,
        link=Link.LIVE,
        link_since_s=NOW - 3000,
        facts=facts(),
        gpus=gpus,
        seq=10,
        received_s=NOW - 0.3,
        samples=100,
    )
    return replace(known, **changes)  # type: ignore[arg-type]


def lettered(*hosts: Host, happenings: tuple[Happening, ...] = ()) -> Fleet:
    fleet = Fleet(hosts=hosts, happenings=happenings)
    for one in hosts:
        fleet = replace(fleet, letters=letters.relettered(fleet, one))
    return fleet


SERVER = (
    48100,
    "python -m sglang.launch_server --model-path Qwen/Qwen3-235B-A22B --tp 8 --port 30000",
)
UTIL = (98, 97, 98, 96, 98, 97, 95, 98)
TEMP = (61, 60, 63, 62, 59, 61, 60, 64)
WATT = (402, 398, 411, 405, 396, 400, 409, 415)


def happened(ago: float, words: str, **rest: object) -> Happening:
    return Happening(at_s=NOW - ago, words=words, **{"host": "root@gpu-a", **rest})  # type: ignore[arg-type]


def busy_host(name: str = "root@gpu-a") -> Host:
    gpus = []
    infos = []
    for i in range(8):
        pid = 48213 + i
        infos.append(process(pid, f"sglang::scheduler_TP{i}", age=41 * 60, root=SERVER))
        procs: list[tuple[int, float | None]] = [(pid, 71.17)]
        used = 71.2
        if i == 5:
            procs.append((5050, 3.4))
            used = 74.6
        if i == 6:
            procs.append((6060, 4.1))
            used = 75.3
        gpus.append(gpu(i, used, *procs, util=UTIL[i], temp=TEMP[i], watts=WATT[i]))
    infos.append(
        process(
            5050,
            "python -m ipykernel_launcher -f x.json",
            age=4 * 3600 + 56 * 60,
            user="ana",
            uid=1001,
        )
    )
    infos.append(
        process(6060, "python -m vllm.entrypoints.openai --model BAAI/bge-m3 --port 8001", age=7440)
    )
    infos.sort(key=lambda info: info.pid)
    return host(name, tuple(gpus), processes=tuple(infos))


EVENTS = (
    happened(223, "GPU 7  slowed by heat, now at 1755 MHz", tone="warn"),
    happened(2119, "sglang is on GPUs 0–7", letter="A", owner=Owner.MINE),
    happened(2471, "trainer is gone, GPUs 0–7 given back", owner=Owner.MINE),
    happened(7468, "vllm is on GPU 6", letter="C", owner=Owner.MINE),
    happened(17753, "ana's notebook is on GPU 5", letter="B", owner=Owner.FOREIGN),
)


def busy() -> Fleet:
    return lettered(busy_host(), happenings=EVENTS)


def idle() -> Fleet:
    gpus = tuple(gpu(i, 0.0, temp=33 + i % 3, watts=30 + i % 4) for i in range(8))
    news = (happened(312, "sglang is gone, GPUs 0–7 given back", owner=Owner.MINE),)
    return lettered(host("root@gpu-a", gpus), happenings=news)


def mig_slice(
    number: int, used: float, total: float, profile: str, *procs: tuple[int, float]
) -> MigReading:
    return MigReading(
        gpu_instance=number,
        compute_instance=0,
        uuid=f"MIG-{number}",
        profile=profile,
        used_bytes=int(used * GIB),
        total_bytes=int(total * GIB),
        processes=tuple(
            GpuProcess(pid=pid, used_bytes=int(size * GIB), kinds=frozenset({Kind.COMPUTE}))
            for pid, size in procs
        ),
    )


def silent_host() -> Host:
    gpus = []
    infos = []
    root = (7000, "torchrun --nproc-per-node 8 train.py")
    for i in range(8):
        pid = 7001 + i
        infos.append(process(pid, "python train.py", age=72 * 60, user="ana", uid=1001, root=root))
        gpus.append(gpu(i, 71.2, (pid, 71.17), util=UTIL[i], temp=TEMP[i], watts=WATT[i]))
    return host(
        "root@gpu-b",
        tuple(gpus),
        processes=tuple(infos),
        link=Link.STALE,
        received_s=NOW - 14,
        link_since_s=NOW - 11,
    )


def broken_host() -> Host:
    h200 = {"total": 139.8, "name": "NVIDIA H200"}
    root = (8000, "vllm serve meta/Llama-3.3-70B --tensor-parallel-size 2 --port 8000")
    mig = (
        mig_slice(1, 30.1, 69.5, "3g.71gb", (9001, 30.08)),
        mig_slice(2, 11.1, 34.6, "2g.35gb", (9002, 11.08)),
        mig_slice(3, 0.0, 34.6, "2g.35gb"),
    )
    gpus = (
        gpu(0, 118.4, (8001, 118.37), util=96, temp=62, watts=640, **h200),  # type: ignore[arg-type]
        gpu(1, 118.4, (8002, 118.37), util=97, temp=63, watts=651, **h200),  # type: ignore[arg-type]
        gpu(2, 41.2, util=None, temp=41, watts=190, mig=mig, **h200),  # type: ignore[arg-type]
        gpu(3, 0.0, watts=72, **h200),  # type: ignore[arg-type]
        gpu(4, 0.0, watts=72, **h200),  # type: ignore[arg-type]
        gpu(5, None, state=GpuState.LOST, **h200),  # type: ignore[arg-type]
        gpu(6, 0.0, watts=74, **h200),  # type: ignore[arg-type]
        gpu(7, 0.5, watts=74, **h200),  # type: ignore[arg-type]
    )
    infos = (
        process(8001, "VLLM::Worker_TP0", age=12000, root=root),
        process(8002, "VLLM::Worker_TP1", age=12000, root=root),
        process(9001, "python -m ipykernel_launcher", age=7320, user="ana", uid=1001),
        process(9002, "python eval.py", age=1080, user="ben", uid=1002),
    )
    return host("root@gpu-c", gpus, processes=infos, facts=facts(driver="580.159.04"))


def three_hosts() -> Fleet:
    news = (
        happened(4, "is silent: no line for three intervals", host="root@gpu-b", tone="warn"),
        happened(290, "GPU 7  0.5 GiB and no process", host="root@gpu-c", tone="warn"),
        happened(
            306, "GPU 5  lost: the driver says it fell off the bus", host="root@gpu-c", tone="bad"
        ),
        happened(
            1080, "ben's eval.py is on GPU 2", host="root@gpu-c", letter="G", owner=Owner.FOREIGN
        ),
        *EVENTS[1:],
    )
    return lettered(busy_host(), silent_host(), broken_host(), happenings=news)


def odd_host() -> Host:
    """One GPU of every kind of trouble."""
    gpus = (
        gpu(0, 71.2, (48220, 71.17), util=0),
        gpu(1, 20.0, (48500, 19.9), state=GpuState.NEEDS_RESET, action=1),
        gpu(2, None, state=GpuState.UNREADABLE),
        gpu(3, None, state=GpuState.UNIFIED),
        gpu(4, None, state=GpuState.MISSING),
        gpu(5, None, state=GpuState.NO_PERMISSION),
        gpu(6, 12.3, listed=False, util=3),
        gpu(7, 30.0, (48600, None), (48601, None), util=None, temp=None, watts=None),
    )
    infos = (process(48500, "python train.py", age=300, state="T"),)
    return host("odd", gpus, processes=infos, gone_pids=frozenset({48220}))


def errors() -> Fleet:
    advice = "Check it with whoever runs gpu-f, then: ssh-keygen -R gpu-f and ssh gpu-f"
    hosts = (
        Host(name="gpu-d", link_since_s=NOW - 0.8),
        host(
            "gpu-e",
            (),
            problem=Problem(
                title="no GPUs found",
                sentence="The driver answers and lists 0 GPUs. That is a fault, not zero.",
                advice="Is this the right machine? Inside a container, start it with --gpus all.",
            ),
        ),
        Host(
            name="gpu-f",
            link=Link.DOWN,
            link_since_s=NOW - 14,
            problem=Problem(
                title="not trusted",
                sentence="The host key is not the one in ~/.ssh/known_hosts.",
                advice=advice,
                detail="known SHA256:3vT0 now SHA256:Zb71",
            ),
        ),
        Host(
            name="gpu-g",
            link=Link.HUNG,
            link_since_s=NOW - 21,
            facts=facts(),
            problem=Problem(
                title="driver hangs",
                sentence="The driver does not answer when asked for memory info of GPU 2. "
                "Other hosts are not affected.",
                advice="Often a driver fault: look for Xid lines in the kernel log (dmesg).",
                detail="nvmlDeviceGetMemoryInfo of GPU 2 did not return",
            ),
        ),
        replace(busy_host("gpu-sim"), facts=facts(is_simulated=True)),
    )
    news = (
        happened(0, "driver hangs", host="gpu-g", tone="bad"),
        happened(14, "not trusted", host="gpu-f", tone="bad"),
        happened(15, "no GPUs found", host="gpu-e", tone="warn"),
    )
    return lettered(*hosts, happenings=news)


def paused() -> Fleet:
    one = replace(
        busy_host(), link=Link.PAUSED, link_since_s=NOW - 12, received_s=NOW - 12, problem=None
    )
    return lettered(one, happenings=(happened(12, "paused, driver released", tone="warn"),))


def down() -> Fleet:
    """A host that was read and can't be reached any more, and one whose driver hangs."""
    gone = replace(
        busy_host(),
        link=Link.DOWN,
        link_since_s=NOW - 95,
        received_s=NOW - 95,
        retry=4,
        problem=Problem(title="connection lost", sentence="The connection was closed."),
    )
    hung = replace(
        silent_host(),
        link=Link.HUNG,
        link_since_s=NOW - 21,
        problem=Problem(
            title="driver hangs", sentence="The driver does not answer when asked for memory info."
        ),
    )
    return lettered(gone, hung)


def connecting() -> Fleet:
    return Fleet(
        hosts=(
            Host(name="gpu-a", link_since_s=NOW - 1.2),
            Host(name="gpu-b", link_since_s=NOW - 4.0, retry=2),
        )
    )


def container() -> Fleet:
    """Pids of another pid namespace: the driver lists them, nobody can name them."""
    gpus = tuple(gpu(i, 40.0, (900 + i, 39.96), util=50, temp=50, watts=300) for i in range(4))
    return lettered(host("pod-7", gpus, facts=facts(pid_namespace=4026532000)))


def many(number: int = 32) -> Fleet:
    hosts = []
    for n in range(number):
        if n % 5 == 1:
            one = busy_host(f"node{n:02d}")
        elif n == 7:
            one = replace(silent_host(), name=f"node{n:02d}")
        elif n == 9:
            one = replace(broken_host(), name=f"node{n:02d}")
        else:
            one = host(f"node{n:02d}", tuple(gpu(i) for i in range(8)))
        hosts.append(one)
    return lettered(*hosts)


def utilisation(one: Host, old_s: int = 0) -> Utilisation:
    """Return a made-up past: as busy as now, with dips; nothing for the last `old_s` seconds."""
    now = {gpu.info.key: gpu.reading.utilisation_pct if gpu.reading else None for gpu in one.gpus}

    def columns(key: str, count: int, width_s: int) -> tuple[int | None, ...]:
        seed = sum(map(ord, key + one.name))
        level = now.get(key)
        gaps = old_s // width_s
        values: list[int | None] = []
        for at in range(count):
            dip = 38 if (seed * 7 + at * 13) % 17 == 0 else at % 3
            is_gap = at >= count - gaps or level is None
            values.append(None if is_gap else max(0, (level or 0) - dip))
        return tuple(values)

    return columns
