"""One host read through nvidia-smi: several commands, one stream of events.

The memory query runs as a loop and makes the ticks; slower commands may each fail alone. Here is
no I/O: texts and times come in, events go out, and `wants_…` says what ought to run next.
"""

from __future__ import annotations

from dataclasses import replace

from gpudash.core import nvml
from gpudash.core.events import Event, Hello, Sample
from gpudash.core.model import GpuInfo, HostFacts, Problem
from gpudash.core.smi import endings
from gpudash.core.smi.commands import (
    HEALTH_FIELDS,
    LIVE_FIELDS,
    PROCESS_QUERY,
    health_query,
    live_query,
)
from gpudash.core.smi.documents import IllFormedError
from gpudash.core.smi.fields import parse_fields
from gpudash.core.smi.inventory import newest_document
from gpudash.core.smi.named import parse_names
from gpudash.core.smi.overlay import Overlay
from gpudash.core.smi.processes import place_processes
from gpudash.core.smi.roster import Expected, find_roster, info_of, joined, with_name
from gpudash.core.smi.rows import FatalLine, GpuRow, Noise, parse_gpu_line
from gpudash.core.smi.table import unsupported_words
from gpudash.core.smi.text import gpu_lines, process_rows
from gpudash.core.smi.ticks import Tick, TickReader

_MOST_NOISE = 50
"""So many foreign lines in a row make a loop unusable."""
_FAULTS = frozenset({nvml.GPU_IS_LOST, nvml.RESET_REQUIRED, nvml.GPU_NOT_FOUND})
_FIELD_WORDS = {
    "gpu_recovery_action": "whether the driver recommends a reset",
    "mig.mode.current": "whether a GPU is divided (MIG)",
    "memory.reserved": "the driver's own reserve",
    "power.limit": "power limits",
    "power.draw": "power",
    "utilization.gpu": "utilisation",
    "temperature.gpu": "temperature",
    "clocks.sm": "clocks",
    "clocks_throttle_reasons.active": "why clocks are slowed",
}


class Session:
    """All that is known of one host through nvidia-smi; one session for one stream."""

    def __init__(self, interval_s: float, live: tuple[str, ...] = live_query()) -> None:
        """`live` are the fields of the memory query; one that can be left out may be refused."""
        self.interval_s = interval_s
        self._live = live
        self.boot_id: str | None = None
        """Of the host, where it could be read."""
        self.wants_restart = False
        """The loop should end and begin anew, with a single query between."""
        self.wants_slow = False
        """Processes and health should be asked now."""
        self._has_no_loop = False
        self._driver: str | None = None
        self._roster: tuple[GpuInfo, ...] = ()
        self._reader = TickReader(())
        self._overlay = Overlay()
        self._tick: Tick = ()
        self._left_out: frozenset[str] = frozenset()
        self._seq = 0
        self._noise = 0
        self._owes_hello = True
        self._is_new = True

    @property
    def live_fields(self) -> tuple[str, ...]:
        """Fields of the memory query that this driver knows."""
        return tuple(field for field in self._live if field not in self._left_out)

    @property
    def health_fields(self) -> tuple[str, ...]:
        """Fields of the health query that this driver knows."""
        return health_query(self._left_out)

    @property
    def has_slices(self) -> bool:
        """Tell whether a GPU is divided, so that the document is needed."""
        return any(info.is_mig for info in self._roster)

    @property
    def needs_document(self) -> bool:
        """Tell whether the short queries leave something open: slices, who draws, recovery."""
        is_held = any(reading.used_bytes for reading in self._tick)
        return self.has_slices or is_held or "gpu_recovery_action" in self._left_out

    @property
    def has_faults(self) -> bool:
        """Tell whether a GPU is in trouble: a loop does not show one that was reset meanwhile."""
        return any(reading.codes & _FAULTS for reading in self._tick)

    def refuse(self, text: str) -> bool:
        """Leave out the field that a driver does not know; False when none can be left out."""
        field = endings.refused_field(text)
        known = {*LIVE_FIELDS, *HEALTH_FIELDS} - self._left_out
        if field is None or field not in known:
            return False
        self._left_out |= {field}
        self._owes_hello = True
        return True

    def pace(self, interval_s: float) -> None:
        """Take another interval, in seconds; it holds from the next loop on."""
        self.interval_s = interval_s
        self._owes_hello = True

    def give_up_loop(self) -> None:
        """Note that ticks come from single queries, because the loop fails on this host."""
        self._has_no_loop = True
        self._owes_hello = True

    # -- the memory query ------------------------------------------------------------------

    def shot(
        self, stdout: str, stderr: str, exit_code: int | None, now_s: float
    ) -> list[Event] | Problem:
        """Take the answer of a single query; its roster is the host's from now on."""
        lines = gpu_lines(stdout, parse_fields(",".join(self.live_fields)), None)
        roster = find_roster(lines, (), Expected())
        is_fatal = any(isinstance(line, FatalLine) for line in lines)
        if not roster.present or is_fatal:
            return endings.problem_of(exit_code, stdout, stderr)
        self._driver = roster.driver or self._driver
        self.adopt(roster.present)
        ticks = [tick for line in lines for tick in self._reader.feed(line)]
        last = self._reader.finish() or ticks[-1]
        if endings.is_unsound(exit_code):
            doubt = f"nvidia-smi ended with exit code {exit_code}"
            last = tuple(replace(reading, doubt=reading.doubt or doubt) for reading in last)
        self.wants_restart = False
        return self._events([last], now_s)

    def greet(self, now_s: float) -> list[Event]:
        """Return the session's first hello and its newest tick, with all that was learned since."""
        self._owes_hello = self._is_new = True
        return self._events([self._tick], now_s)

    def line(self, line: str, now_s: float) -> list[Event]:
        """Take one whole line of the loop."""
        parsed = parse_gpu_line(line.rstrip("\r"), parse_fields(",".join(self.live_fields)))
        ticks = self._reader.feed(parsed)
        is_noise = isinstance(parsed, Noise) and bool(line.strip())
        self._noise = 0 if ticks else self._noise + is_noise
        self.wants_slow |= bool(self._reader.doubts)
        self.wants_restart |= (
            isinstance(parsed, FatalLine)
            or self._reader.has_strangers
            or self._reader.incomplete_in_a_row >= 2
            or self._noise > _MOST_NOISE
        )
        return self._events(ticks, now_s)

    def cut(self, now_s: float, *, is_torn: bool) -> list[Event]:
        """Take the end of the loop: a tick that was under way says what it held, never a zero.

        `is_torn` tells that a line was under way: it stands for a GPU that can't be read.
        """
        ticks = self._reader.feed(GpuRow(is_identified=False)) if is_torn else []
        last = self._reader.finish()
        return self._events([*ticks, *([] if last is None else [last])], now_s)

    def adopt(self, roster: tuple[GpuInfo, ...]) -> None:
        """Take a roster; what was learned about the same GPUs is kept."""
        known = {info.key: info for info in self._roster}
        merged = tuple(joined(info, known.get(info.key)) for info in roster)
        doubts = {merged[place].key: text for place, text in self._doubts(merged)}
        self._owes_hello |= merged != self._roster
        self._roster, self._noise = merged, 0
        self._reader = TickReader(merged)
        self._tick = self._reader.empty()
        places = {info.key: place for place, info in enumerate(merged)}
        self._reader.inherit({places[key]: text for key, text in doubts.items()})

    def _doubts(self, roster: tuple[GpuInfo, ...]) -> list[tuple[int, str]]:
        """Return the open doubts by place in a new roster."""
        open_ = {self._roster[place].key: text for place, text in self._reader.doubts.items()}
        return [(place, open_[info.key]) for place, info in enumerate(roster) if info.key in open_]

    def _events(self, ticks: list[Tick], now_s: float) -> list[Event]:
        events: list[Event] = []
        for tick in ticks:
            self._tick = tick
            self._seq += 1
            if self._owes_hello:
                events.append(self._hello(now_s))
            laid = self._overlay.lay(tick, self._roster, now_s)
            self.wants_slow |= self._overlay.has_outdated
            events.append(Sample(seq=self._seq, host_monotonic_s=now_s, readings=laid))
        return events

    def _hello(self, now_s: float) -> Hello:
        self._owes_hello = False
        seq, self._is_new = 0 if self._is_new else self._seq, False
        facts = HostFacts(
            protocol=1,
            source="nvidia-smi",
            python=None,
            driver=self._driver,
            nvml=None,
            boot_id=self.boot_id,
            uid=None,
            pid_namespace=None,
            unsupported=self._unsupported(),
        )
        return Hello(
            seq=seq,
            host_monotonic_s=now_s,
            facts=facts,
            roster=self._roster,
            interval_s=self.interval_s,
        )

    def _unsupported(self) -> tuple[str, ...]:
        words = [
            "graphics processes, unless a GPU is divided",
            *unsupported_words(self._driver),
        ]
        if self._has_no_loop:
            words.append("more than one reading a second: nvidia-smi's loop fails here")
        words += [_FIELD_WORDS[field] for field in sorted(self._left_out) if field in _FIELD_WORDS]
        return tuple(words)

    # -- the slower queries ----------------------------------------------------------------

    def names(self, stdout: str) -> None:
        """Take the answer to the query of names; it may be empty."""
        named = parse_names(stdout)
        self._driver = named.driver or self._driver
        self._renew(tuple(with_name(info, named.names) for info in self._roster))

    def processes(
        self,
        stdout: str,
        exit_code: int | None,
        now_s: float,
        asked: tuple[str, ...] = PROCESS_QUERY,
    ) -> None:
        """Take the answer to the process query; an exit code of None is not known."""
        listed = None
        if not endings.is_unsound(exit_code):
            rows = process_rows(stdout, parse_fields(",".join(asked), of_processes=True), None)
            listed = place_processes(rows, self._roster)
        self._overlay.list_processes(listed, self._roster, self._tick, now_s)

    def health(self, stdout: str, now_s: float) -> None:
        """Take the answer to the health query; a GPU that is well again loses its doubt."""
        rows = {
            line.uuid: line
            for line in gpu_lines(stdout, parse_fields(",".join(self.health_fields)))
            if isinstance(line, GpuRow) and line.uuid is not None and line.key is not None
        }
        renewed: list[GpuInfo] = []
        for place, info in enumerate(self._roster):
            row = rows.get(info.uuid or "")
            renewed.append(info_of(row, info.index, info) if row else info)
            if row is None or info.uuid is None:
                continue
            self._overlay.recovery(info.uuid, row.reading.recovery_action, now_s)
            if not row.reading.codes & _FAULTS and not row.reading.recovery_action:
                self._reader.settle(place)
        self._renew(tuple(renewed))

    def document(self, stdout: str, now_s: float) -> None:
        """Take the newest whole document of `-q -x`; one that is none changes nothing."""
        try:
            document, _ = newest_document(stdout)
        except IllFormedError:
            return
        for gpu in document.gpus if document else ():
            if gpu.info.uuid is not None:
                self._overlay.slices(gpu.info.uuid, gpu.reading.mig, now_s)
                self._overlay.kinds(gpu.info.uuid, gpu.reading.processes or (), now_s)
                if gpu.reading.recovery_action is not None:
                    self._overlay.recovery(gpu.info.uuid, gpu.reading.recovery_action, now_s)

    def _renew(self, roster: tuple[GpuInfo, ...]) -> None:
        """Keep what was learned about the same GPUs; it is told with the next tick."""
        if roster != self._roster:
            self._roster = roster
            self._owes_hello = True
