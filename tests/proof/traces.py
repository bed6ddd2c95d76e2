"""Traces of one host: a clean run of samples into which a few things go wrong.

A trace is what a monitor could hear, with the viewer's time of each event. It is made from a
source of chances, so that a seed makes it again and hypothesis can shrink it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

from gpudash.core.baselines import Baseline, Baselines
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
    LinkSlept,
    LinkStale,
    LinkUp,
    Sample,
)
from gpudash.core.model import (
    GpuInfo,
    GpuProcess,
    GpuReading,
    HostFacts,
    Kind,
    MigReading,
    Problem,
)

MIB = 1 << 20
HOLD_S = 1.0
TICK_S = 0.25
BOOT_S = 5000.0
DRIVER = "580.159.04"
RESERVED = 614 * MIB
ACCEPTED = 5 * MIB
"""The baseline of GPU 1, where a trace has one."""

IDLE = GpuReading(used_bytes=0, utilisation_pct=0, processes=(), recovery_action=0)


@dataclass(slots=True)
class Trace:
    """What was heard, and what was to be proven."""

    events: list[tuple[float, Event]] = field(default_factory=list)
    scope: tuple[int, ...] | None = None
    """Indices of the GPUs to be proven; None for all."""
    baselines: Baselines = field(default_factory=Baselines)
    what: list[str] = field(default_factory=list)
    """What went wrong in it, in words."""


@dataclass(slots=True)
class _Stage:
    """A host while a trace of it is made."""

    chance: Random
    trace: Trace
    roster: tuple[GpuInfo, ...]
    at_s: float = 100.0
    host_s: float = BOOT_S
    seq: int = 0
    boot: str = "boot-1"
    driver: str = DRIVER
    has_baseline: bool = False

    def say(self, event: Event) -> None:
        self.trace.events.append((self.at_s, event))

    def hello(self, seq: int) -> None:
        self.say(
            Hello(
                seq=seq,
                host_monotonic_s=self.host_s,
                facts=_facts(self.boot, self.driver),
                roster=self.roster,
                interval_s=TICK_S,
            )
        )

    def tick(
        self,
        readings: tuple[GpuReading, ...] | None = None,
        *,
        host_s: float = TICK_S,
        at_s: float | None = None,
        skip: int = 0,
    ) -> None:
        """Let time pass on both clocks and a sample come."""
        self.host_s += host_s
        self.at_s += max(0.0, host_s if at_s is None else at_s)
        self.seq += 1 + skip
        self.say(
            Sample(
                seq=self.seq,
                host_monotonic_s=self.host_s,
                readings=self.idle() if readings is None else readings,
            )
        )

    def idle(self) -> tuple[GpuReading, ...]:
        if not self.has_baseline or self.chance.random() < 0.3:
            return (IDLE,) * len(self.roster)
        used = self.chance.choice((1, 3 * MIB, ACCEPTED))
        return tuple(
            replace(IDLE, used_bytes=used) if info.index == 1 else IDLE for info in self.roster
        )

    def spoiled(self, reading: GpuReading) -> None:
        """Let a tick come in which one GPU reads like this."""
        place = self.chance.randrange(len(self.roster))
        if self.has_baseline and self.chance.random() < 0.5:
            place = 1
        readings = self.idle()
        self.tick((*readings[:place], reading, *readings[place + 1 :]))


def _gpu(index: int) -> GpuInfo:
    return GpuInfo(
        index=index,
        uuid=f"GPU-{index}",
        bus_id=f"00000000:{index:02x}:00.0",
        total_bytes=140 * 1024 * MIB,
        reserved_bytes=RESERVED,
    )


def _facts(boot: str, driver: str) -> HostFacts:
    return HostFacts(
        protocol=1,
        source="nvml",
        python="3.11.7",
        driver=driver,
        nvml=None,
        boot_id=boot,
        uid=1000,
        pid_namespace=None,
    )


def _process(used: int | None, pid: int = 4711) -> GpuProcess:
    return GpuProcess(pid=pid, used_bytes=used, kinds=frozenset({Kind.COMPUTE}))


def _slice(used: int | None = 0, *processes: GpuProcess, code: int | None = None) -> MigReading:
    return MigReading(
        gpu_instance=1,
        compute_instance=0,
        uuid=None,
        profile=None,
        used_bytes=used,
        total_bytes=None,
        fault_code=code,
        processes=processes,
    )


def _failed(code: int) -> GpuReading:
    return GpuReading(memory_code=code, processes_code=code, codes=frozenset({code}))


READINGS: dict[str, GpuReading] = {
    "a byte": replace(IDLE, used_bytes=1),
    "512 MiB": replace(IDLE, used_bytes=512 * MIB),
    "a job": replace(IDLE, used_bytes=512 * MIB, processes=(_process(500 * MIB),)),
    "a context": replace(IDLE, processes=(_process(MIB),)),
    "a process without a size": replace(IDLE, processes=(_process(None),)),
    "a process without a name": replace(IDLE, processes=None, hidden_processes=1),
    "an impossible pid": replace(IDLE, processes=(_process(0, 5_000_000),)),
    "a listed process at the baseline": replace(
        IDLE, used_bytes=ACCEPTED, processes=(_process(0),)
    ),
    "a baseline whose list can't be read": replace(IDLE, used_bytes=ACCEPTED, processes=None),
    "a slice that fails at the baseline": replace(
        IDLE, used_bytes=ACCEPTED, mig=(_slice(None, code=999),)
    ),
    "a byte above the baseline": replace(IDLE, used_bytes=ACCEPTED + 1),
    "no memory": replace(IDLE, used_bytes=None, memory_code=999, codes=frozenset({999})),
    "nothing said": replace(IDLE, used_bytes=None),
    "more than there is": replace(IDLE, used_bytes=1 << 50),
    "not supported": _failed(3),
    "lost": _failed(15),
    "a lost GPU that reads": replace(IDLE, codes=frozenset({15})),
    "reset required": replace(IDLE, codes=frozenset({16})),
    "reset recommended": replace(IDLE, recovery_action=1),
    "drain recommended": replace(IDLE, recovery_action=3),
    "a doubt": replace(IDLE, doubt="its recovery action can't be read"),
    "a slice that holds": replace(IDLE, mig=(_slice(MIB),)),
    "a process in a slice": replace(IDLE, mig=(_slice(0, _process(MIB)),)),
    "a slice that fails": replace(IDLE, mig=(_slice(None, code=999),)),
    "a lost slice": replace(IDLE, mig=(_slice(0, code=15),)),
}
"""Readings that prove nothing, or hold something."""

HARMLESS: dict[str, GpuReading] = {
    "100 %": replace(IDLE, utilisation_pct=100),
    "no list": replace(IDLE, processes=None, processes_code=3, codes=frozenset({3})),
    "an observer": replace(IDLE, processes=(_process(0),)),
    "no recovery field": replace(IDLE, recovery_action=None, codes=frozenset({3})),
    "a clean slice": replace(IDLE, mig=(_slice(0),)),
}


def _bad_reading(stage: _Stage) -> None:
    names = tuple(READINGS)
    if stage.has_baseline:
        names += tuple(name for name in names if "baseline" in name) * 4
    name = stage.chance.choice(names)
    stage.trace.what.append(name)
    stage.spoiled(READINGS[name])


def _harmless(stage: _Stage) -> None:
    stage.spoiled(stage.chance.choice(tuple(HARMLESS.values())))


def _claim(stage: _Stage) -> None:
    for _ in range(stage.chance.randint(1, 3)):
        stage.spoiled(READINGS["a job"])


def _partial(stage: _Stage) -> None:
    stage.tick(stage.idle()[:-1])


def _too_many(stage: _Stage) -> None:
    stage.tick((*stage.idle(), IDLE))


def _lost_samples(stage: _Stage) -> None:
    stage.tick(host_s=TICK_S * 2, skip=stage.chance.choice((1, 1, 2)))


def _host_gap(stage: _Stage) -> None:
    stage.tick(host_s=stage.chance.choice((0.76, 0.8, 0.99, 1.01, 2.0)))


def _gap_at_the_edge(stage: _Stage) -> None:
    stage.tick(host_s=0.75)


def _slow_ticks(stage: _Stage) -> None:
    for _ in range(stage.chance.randint(2, 3)):
        stage.tick(host_s=0.6)


def _slow_host_clock(stage: _Stage) -> None:
    for _ in range(stage.chance.randint(4, 7)):
        stage.tick(host_s=0.02, at_s=TICK_S)


def _clock_back(stage: _Stage) -> None:
    stage.tick(host_s=-stage.chance.choice((0.1, 3.0)), at_s=TICK_S)


def _stall(stage: _Stage) -> None:
    """Silence, then every sample that is missing, or not every."""
    missed = stage.chance.randint(6, 12)
    stage.at_s += 1.5
    stage.say(LinkStale())
    stage.at_s += missed * TICK_S - 1.5
    late = stage.chance.choice(("all", "all", "some", "none", "bad", "gap"))
    stage.trace.what.append(f"a stall, then {late}")
    if late == "none":
        stage.tick(host_s=missed * TICK_S, at_s=0.0, skip=missed - 1)
        return
    for number in range(missed):
        if late == "some" and number == missed // 2:
            stage.host_s += TICK_S
            stage.seq += 1
        elif late == "bad" and number == missed // 2:
            stage.tick(_one_bad(stage), at_s=0.0)
        elif late == "gap" and number == 0:
            stage.tick(host_s=0.9, at_s=0.0)
        else:
            stage.tick(at_s=0.0)


def _one_bad(stage: _Stage) -> tuple[GpuReading, ...]:
    return (READINGS["512 MiB"], *stage.idle()[1:])


def _late_burst(stage: _Stage) -> None:
    """Samples come late without a word of the link, and stop before now."""
    stage.at_s += stage.chance.choice((3.0, 8.0))
    for _ in range(stage.chance.randint(2, 7)):
        stage.tick(at_s=0.0)


def _breather(stage: _Stage) -> None:
    """Old samples again: a reader that hears them twice learns nothing."""
    old = [event for _, event in stage.trace.events if isinstance(event, Sample)][-1:]
    for event in old:
        stage.say(event)


def _same_number_again(stage: _Stage) -> None:
    """A sample of a number that was there: whatever it says, it is no next one."""
    stage.seq -= 1
    stage.tick(at_s=0.0, host_s=0.01)


def _words(*events: Event) -> Callable[[_Stage], None]:
    def say(stage: _Stage) -> None:
        stage.say(stage.chance.choice(events))

    return say


_DOWN = LinkDown(problem=Problem(title="down", sentence="The link is down."))


def _new_probe(stage: _Stage) -> None:
    """Another probe greets; its numbers begin anew, or by chance go on."""
    if stage.chance.random() < 0.5:
        stage.seq = 0
    stage.hello(0)


def _reboot(stage: _Stage) -> None:
    stage.boot = "boot-2" if stage.boot == "boot-1" else "boot-1"
    stage.hello(stage.seq)


def _new_driver(stage: _Stage) -> None:
    stage.driver = "590.48.01"
    stage.hello(stage.seq)


def _another_hello(stage: _Stage) -> None:
    stage.hello(stage.seq)


def _other_roster(stage: _Stage) -> None:
    roster = stage.roster
    change = stage.chance.choice(("gone", "new", "another", "divided"))
    stage.trace.what.append(f"roster: {change}")
    if change == "gone" and len(roster) > 1:
        stage.roster = roster[:-1]
    elif change == "new":
        stage.roster = (*roster, _gpu(len(roster)))
    elif change == "divided":
        stage.roster = (replace(roster[0], is_mig=not roster[0].is_mig), *roster[1:])
    else:
        stage.roster = (*roster[:-1], replace(roster[-1], uuid="GPU-other", bus_id="other"))
    stage.hello(stage.seq)


DEFECTS: tuple[tuple[Callable[[_Stage], None], int], ...] = (
    (_bad_reading, 14),
    (_claim, 4),
    (_partial, 2),
    (_too_many, 1),
    (_lost_samples, 3),
    (_host_gap, 3),
    (_slow_ticks, 2),
    (_slow_host_clock, 2),
    (_clock_back, 1),
    (_stall, 4),
    (_late_burst, 2),
    (_breather, 1),
    (_same_number_again, 1),
    (_words(Garbled(reason="noise", excerpt="")), 2),
    (_words(Fault(call="nvmlDeviceGetMemoryInfo", code=None, hung_s=3.0)), 2),
    (_words(Fault(call="nvmlInit", code=9, is_fatal=True)), 1),
    (_words(_DOWN, LinkConnecting()), 2),
    (_words(LinkPaused(is_released=False), LinkPaused(is_released=True)), 1),
    (_words(LinkSlept()), 2),
    (_new_probe, 2),
    (_reboot, 2),
    (_new_driver, 2),
    (_other_roster, 4),
)
MILD: tuple[tuple[Callable[[_Stage], None], int], ...] = (
    (_harmless, 4),
    (_gap_at_the_edge, 1),
    (_another_hello, 1),
    (_words(LinkUp(transport="ssh"), Bye(reason="x"), Ack(id=1, is_ok=True)), 1),
    (_words(Fault(call="nvmlDeviceGetUUID", code=3)), 1),
)
"""What must not matter."""

_DEFECTS = [kind for kind, weight in DEFECTS for _ in range(weight)]
_MILD = [kind for kind, weight in MILD for _ in range(weight)]


def make_trace(chance: Random) -> Trace:
    """Return one trace: some clean ticks, and none to three defects among them."""
    gpus = chance.choice((1, 2, 2, 3))
    trace = Trace()
    if chance.random() < 0.2:
        trace.scope = tuple(sorted(chance.sample(range(gpus), chance.randint(1, gpus))))
    roster = tuple(_gpu(index) for index in range(gpus))
    stage = _Stage(chance=chance, trace=trace, roster=roster)
    if gpus > 1 and chance.random() < 0.35:
        stage.has_baseline = chance.random() < 0.7
        entries = (Baseline(uuid="GPU-1", driver=DRIVER, used_bytes=ACCEPTED),)
        trace.baselines = Baselines(entries=entries, is_strict=chance.random() < 0.1)
    stage.hello(0)
    if stage.has_baseline and chance.random() < 0.1:
        _new_driver(stage)
    for _ in range(chance.choice((1, 1, 2))):
        for _ in range(chance.randint(0, 6)):
            stage.tick()
        kind = chance.choice(_DEFECTS if chance.random() < 0.75 else _MILD)
        trace.what.append(getattr(kind, "__name__", ""))
        kind(stage)
    for _ in range(chance.randint(0, 6)):
        stage.tick()
    return trace


def clean_tail(trace: Trace) -> int:
    """Return how many clean, regular and prompt samples in a row end a trace."""
    count = 0
    whens = [
        at_s - event.host_monotonic_s
        for at_s, event in trace.events
        if isinstance(event, Sample | Hello)
    ]
    rosters = [{info.uuid for info in e.roster} for _, e in trace.events if isinstance(e, Hello)]
    is_one_gone = any(roster - rosters[-1] for roster in rosters)
    if is_one_gone or whens[-1] > min(whens) + 1.0:
        return 0
    after: tuple[float, Sample] | None = None
    for at_s, event in reversed(trace.events):
        if not isinstance(event, Sample):
            break
        if after is not None:
            is_next = after[1].seq == event.seq + 1
            host_s = after[1].host_monotonic_s - event.host_monotonic_s
            is_next = is_next and len(event.readings) == len(after[1].readings)
            if not is_next or abs(host_s - TICK_S) > 1e-6 or abs(after[0] - at_s - TICK_S) > 1e-6:
                break
        if any(reading is not IDLE for reading in event.readings):
            break
        count += 1
        after = (at_s, event)
    return count
