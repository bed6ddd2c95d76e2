"""Drives a proof over one or several hosts, as the monitor would, with a time of its own."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.events import Event
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.holding import Device, Handle, Identity, Process, Scan
from gpudash.core.model import Fleet, GpuReading
from gpudash.core.proof import (
    Break,
    Effect,
    HostProof,
    Moment,
    Observed,
    Policy,
    Proof,
    RequestScan,
    Scanned,
    SetRate,
    Tell,
    begin,
    step,
)
from tests.core.making import HOST, hello, reading, roster
from tests.core.making import sample as made_sample

BOOT_S = 1000.0
"""What the host's clock says when the viewer's is at 0."""


class Driver:
    """A fleet and a proof over it; `at_s` is the viewer's clock."""

    def __init__(
        self,
        *,
        gpus: int = 2,
        names: tuple[str, ...] = (HOST,),
        hold_s: float = 1.0,
        pid_namespace: int | None = None,
        **policy: object,
    ) -> None:
        self.gpus = gpus
        self.facts = {"pid_namespace": pid_namespace}
        self.at_s = 0.0
        self.fleet: Fleet = new_fleet(names, 0.0)
        self.policy = Policy(hold_s=hold_s, **policy)  # type: ignore[arg-type]
        self.proof: Proof = begin(self.fleet, self.policy, 0.0)
        self.effects: list[Effect] = []
        self.seq = dict.fromkeys(names, 0)
        for name in names:
            self.reconnect(name)

    @property
    def host(self) -> HostProof:
        return self.proof.hosts[0]

    def tell(self, event: Event, name: str = HOST) -> None:
        """Let one event of a host come now."""
        self.fleet = apply(self.fleet, name, event, self.at_s)
        self._step(Observed(event=event, host=self.fleet.host(name)))

    def told(self, what: object) -> None:
        self._step(what)

    def reconnect(self, name: str = HOST) -> None:
        self.seq[name] = 0
        self.tell(hello(*roster(self.gpus), interval_s=0.25, **self.facts), name=name)

    def _step(self, told: object) -> None:
        self.proof, effects = step(self.proof, told, self.at_s)  # type: ignore[arg-type]
        self.effects += effects

    def scanned(self, scan: object, name: str = HOST) -> None:
        self._step(Scanned(host=name, scan=scan))  # type: ignore[arg-type]

    def tick(
        self,
        *used: int | GpuReading,
        after_s: float = 0.25,
        late_s: float = 0.0,
        skip: int = 0,
        name: str = HOST,
    ) -> None:
        """Let time pass and a sample come; `used` is bytes or a reading for each GPU."""
        self.at_s += after_s
        self.seq[name] += 1 + skip
        readings = tuple(reading(one) if isinstance(one, int) else one for one in used)
        self.say(self.seq[name], BOOT_S + self.at_s - late_s, *readings, name=name)

    def say(self, seq: int, host_s: float, *readings: GpuReading, name: str = HOST) -> None:
        self.tell(replace(made_sample(seq, *readings), host_monotonic_s=host_s), name=name)

    def ticks(self, count: int, *used: int | GpuReading, name: str = HOST) -> None:
        for _ in range(count):
            self.tick(*used, name=name)

    # -- what came of it -----------------------------------------------------------------------

    @property
    def moments(self) -> list[Moment]:
        return [effect.moment for effect in self.effects if isinstance(effect, Tell)]

    @property
    def rates(self) -> list[float | None]:
        return [effect.interval_s for effect in self.effects if isinstance(effect, SetRate)]

    @property
    def scans(self) -> list[str]:
        return [effect.moment for effect in self.effects if isinstance(effect, RequestScan)]

    @property
    def broken(self) -> Break:
        assert self.host.broken is not None
        return self.host.broken


def scan_of(*holders: tuple[int, str], at_s: float = BOOT_S + 1.0, unreadable: int = 0) -> Scan:
    """Return a scan in which these pids have these GPUs open, by bus id."""
    return Scan(
        host_monotonic_s=at_s,
        took_s=0.01,
        boot_id="boot-1",
        processes=tuple(_scanned(pid, bus_id) for pid, bus_id in holders),
        is_whole=False,
        seen=300,
        unreadable=unreadable,
        listed=(),
        own=(),
        pid_namespace=None,
        is_initial_namespace=True,
    )


def _scanned(pid: int, bus_id: str) -> Process:
    return Process(
        identity=Identity(pid=pid, start_ticks=1, uid=1000, exe=None),
        parent=1,
        group=pid,
        session=pid,
        terminal=0,
        user="ana",
        comm="python",
        argv=("python", "worker.py"),
        exe_path=None,
        cwd=None,
        state="S",
        threads=1,
        age_s=5.0,
        cpu_ticks=0,
        rss_bytes=None,
        cgroup="",
        pid_namespace=None,
        namespace_pids=(pid,),
        login_session=None,
        hints=(),
        ports=(),
        clients=0,
        handles=(Handle(device=Device.GPU, gpu=bus_id), Handle(device=Device.UVM, gpu=None)),
        is_readable=True,
    )
