"""One line of the wire, from JSON to an event: a wrong type is an error, never a default."""

from __future__ import annotations

from gpudash.core import nvml
from gpudash.core.checked import InvalidLine as InvalidLine
from gpudash.core.checked import a_count as _int
from gpudash.core.checked import a_list as _list
from gpudash.core.checked import a_number as _number
from gpudash.core.checked import a_text as _text
from gpudash.core.checked import an_object as _object
from gpudash.core.checked import maybe_bytes as _maybe_bytes
from gpudash.core.checked import maybe_count as _maybe_int
from gpudash.core.checked import maybe_number as _maybe_number
from gpudash.core.checked import maybe_text as _maybe_text
from gpudash.core.events import Ack, Bye, Fault, Hello, ProbeEvent, Sample
from gpudash.core.model import (
    Ancestor,
    GpuInfo,
    GpuProcess,
    GpuReading,
    HostFacts,
    Kind,
    MigReading,
    ProcessInfo,
)
from gpudash.core.readings import doubt_of, doubt_of_health, merge_processes

TYPE_CHECKING = False  # typing takes 5 ms to import, and `check` needs nothing else of it
if TYPE_CHECKING:
    from typing import Any

PROTOCOL = 1
MAX_INTERVAL_S = 3600.0
"""A longer one would hide for hours that a stream went silent."""

READING_FIELDS = (
    "used",
    "utilisation",
    "power",
    "temperature",
    "sm_clock",
    "throttle",
    "pstate",
    "recovery",
    "processes",
)
"""Order of one GPU's array in a sample; a MIG GPU adds a tenth item. The probe has the same."""


def event_of(value: object) -> ProbeEvent:
    """Return the event that a line tells. Raises InvalidLine."""
    line = _object(value)
    match line.get("t"):
        case "sample":
            return _sample(line)
        case "hello":
            return _hello(line)
        case "ack":
            return _ack(line)
        case "fault":
            return _fault(line)
        case "bye":
            return Bye(reason=_text(line.get("reason", ""), "reason"))
        case other:
            raise InvalidLine(f"unknown type {str(other)[:40]!r}")


# -- sample ------------------------------------------------------------------------------------


def _sample(line: dict[str, Any]) -> Sample:
    return Sample(
        seq=_int(line.get("seq"), "seq"),
        host_monotonic_s=_number(line.get("mono"), "mono"),
        readings=tuple(_reading(item) for item in _list(line.get("gpus"), "gpus")),
    )


def _code_of(value: object) -> int | None:
    """Return the NVML code where `{"e": code}` stands in place of a value."""
    if not isinstance(value, dict):
        return None
    if set(value) != {"e"}:
        raise InvalidLine("not a value")
    return _int(value["e"], "code", least=1)


def _reading(item: object) -> GpuReading:
    code = _code_of(item)
    if code is not None:
        return GpuReading(memory_code=code, processes_code=code, codes=frozenset({code}))
    values = _list(item, "a reading")
    if not len(READING_FIELDS) <= len(values) <= len(READING_FIELDS) + 1:
        raise InvalidLine(f"a reading has {len(values)} items")
    codes = {found for value in values if (found := _code_of(value)) is not None}
    numbers = [_value(value, name) for value, name in zip(values[:8], READING_FIELDS, strict=False)]
    used, utilisation, power, temperature, clock, throttle, pstate, recovery = numbers
    return GpuReading(
        used_bytes=used,
        utilisation_pct=utilisation if utilisation is None or utilisation <= 100 else None,
        power_mw=power,
        temperature_c=temperature,
        sm_clock_mhz=clock,
        throttle_bits=throttle,
        pstate=pstate,
        recovery_action=recovery,
        processes=_processes(values[8]),
        mig=tuple(_mig(entry) for entry in _list(values[9], "mig")) if len(values) > 9 else (),
        memory_code=_code_of(values[0]),
        processes_code=_code_of(values[8]),
        codes=frozenset(codes),
        doubt=doubt_of(_code_of(values[7]), _code_of(values[8])),
    )


def _value(value: object, what: str) -> int | None:
    if _code_of(value) is not None:
        return None
    number = _int(value, what)
    return None if number == nvml.NOT_AVAILABLE_U64 else number


def _processes(value: object) -> tuple[GpuProcess, ...] | None:
    if value is None or _code_of(value) is not None:
        return None
    rows: list[tuple[int, int | None, Kind]] = []
    for row in _list(value, "processes"):
        pid, used, kinds = _row(row)
        rows.extend((pid, used, kind) for kind in kinds)
    return merge_processes(rows)


def _row(row: object) -> tuple[int, int | None, list[Kind]]:
    items = _list(row, "a process")
    if len(items) != 3:
        raise InvalidLine("a process has not 3 items")
    used = None if items[1] is None else _value(items[1], "process memory")
    letters = _text(items[2], "process kind")
    if not letters or set(letters) - set("CGM"):
        raise InvalidLine("unknown process kind")
    return _int(items[0], "pid"), used, [Kind(letter) for letter in letters]


def _mig(value: object) -> MigReading:
    entry = _object(value)
    used = entry.get("used")
    return MigReading(
        gpu_instance=_int(entry.get("gi"), "gi"),
        compute_instance=_int(entry.get("ci"), "ci"),
        uuid=_maybe_text(entry.get("uuid"), "uuid"),
        profile=_maybe_text(entry.get("profile"), "profile"),
        used_bytes=_value(used, "used"),
        total_bytes=_maybe_bytes(entry.get("total"), "total"),
        fault_code=_code_of(used),
        processes=_processes(entry.get("procs")),
    )


# -- hello, fault, ack -------------------------------------------------------------------------


def _hello(line: dict[str, Any]) -> Hello:
    protocol = _int(line.get("v"), "v")
    if protocol != PROTOCOL:
        raise InvalidLine(f"protocol {protocol} instead of {PROTOCOL}")
    unsupported = _list(line.get("unsupported", []), "unsupported")
    return Hello(
        seq=_int(line.get("seq"), "seq"),
        host_monotonic_s=_number(line.get("mono"), "mono"),
        interval_s=_number(line.get("interval"), "interval", most=MAX_INTERVAL_S),
        roster=tuple(_info(entry) for entry in _list(line.get("roster"), "roster")),
        facts=HostFacts(
            protocol=protocol,
            source=_text(line.get("source"), "source"),
            python=_maybe_text(line.get("python"), "python"),
            driver=_maybe_text(line.get("driver"), "driver"),
            nvml=_maybe_text(line.get("nvml"), "nvml"),
            boot_id=_maybe_text(line.get("boot"), "boot"),
            uid=_maybe_int(line.get("uid"), "uid"),
            pid_namespace=_maybe_int(line.get("pidns"), "pidns"),
            is_simulated=line.get("simulated") is True,
            lists_host_pids=line.get("hostpids") is True,
            unsupported=tuple(_text(word, "unsupported") for word in unsupported),
        ),
    )


def _info(value: object) -> GpuInfo:
    entry = _object(value)
    mig, remap = entry.get("mig"), entry.get("remap")
    pending, failed = _remap(remap)
    return GpuInfo(
        index=_int(entry.get("index"), "index"),
        uuid=_maybe_text(entry.get("uuid"), "uuid"),
        bus_id=_maybe_text(entry.get("bus"), "bus"),
        name=_maybe_text(entry.get("name"), "name"),
        total_bytes=_maybe_bytes(entry.get("total"), "total"),
        reserved_bytes=_maybe_bytes(entry.get("reserved"), "reserved"),
        power_limit_mw=_maybe_bytes(entry.get("limit"), "limit"),
        is_mig=mig is True,
        is_remap_pending=pending,
        has_remap_failed=failed,
        doubt=doubt_of_health(_code_of(mig), _code_of(remap)),
    )


def _remap(value: object) -> tuple[bool, bool]:
    """Return whether a row remap is pending, and whether one failed; older probes don't say."""
    if value is None or _code_of(value) is not None:
        return False, False
    flags = _list(value, "remap")
    if len(flags) != 2:
        raise InvalidLine("remap has not 2 items")
    return bool(_int(flags[0], "remap")), bool(_int(flags[1], "remap"))


def _fault(line: dict[str, Any]) -> Fault:
    return Fault(
        call=_text(line.get("call"), "call"),
        code=_maybe_int(line.get("code"), "code"),
        gpu_index=_maybe_int(line.get("gpu"), "gpu"),
        hung_s=_maybe_number(line.get("hung"), "hung"),
        text=_text(line.get("text", ""), "text"),
        is_fatal=line.get("fatal") is True,
    )


def _ack(line: dict[str, Any]) -> Ack:
    return Ack(
        id=_int(line.get("id"), "id"),
        is_ok=line.get("ok") is True,
        error=_text(line.get("error", ""), "error"),
        processes=tuple(_process(row) for row in _list(line.get("processes", []), "processes")),
        gone=frozenset(_int(pid, "pid") for pid in _list(line.get("gone", []), "gone")),
        answers=tuple(_answer(row) for row in _list(line.get("answers", []), "answers")),
        variables=tuple(_variable(row) for row in _list(line.get("variables", []), "variables")),
        is_last=line.get("more") is not True,
        wall_s=_maybe_number(line.get("wall"), "wall"),
    )


def _answer(value: object) -> tuple[int, int | None, str]:
    row = _list(value, "an answer")
    if len(row) != 3:
        raise InvalidLine("an answer has not 3 items")
    code = None if row[1] is None else _int(row[1], "code")
    lines = [_text(line, "a line") for line in _list(row[2], "lines")]
    return _int(row[0], "place"), code, "\n".join(lines)


def _variable(value: object) -> tuple[str, str]:
    row = _list(value, "a variable")
    if len(row) != 2:
        raise InvalidLine("a variable has not 2 items")
    return _text(row[0], "name"), _text(row[1], "value")


def _process(value: object) -> ProcessInfo:
    row = _object(value)
    return ProcessInfo(
        pid=_int(row.get("pid"), "pid"),
        start_ticks=_int(row.get("start"), "start"),
        uid=_int(row.get("uid"), "uid"),
        user=_text(row.get("user"), "user"),
        comm=_text(row.get("comm"), "comm"),
        argv=tuple(_text(word, "argv") for word in _list(row.get("argv"), "argv")),
        state=_text(row.get("state"), "state"),
        age_s=_number(row.get("age"), "age"),
        ancestors=tuple(_ancestor(step) for step in _list(row.get("up", []), "up")),
    )


def _ancestor(value: object) -> Ancestor:
    step = _list(value, "an ancestor")
    if len(step) != 5:
        raise InvalidLine("an ancestor has not 5 items")
    return Ancestor(
        pid=_int(step[0], "pid"),
        start_ticks=_int(step[1], "start"),
        uid=_int(step[2], "uid"),
        comm=_text(step[3], "comm"),
        argv=tuple(_text(word, "argv") for word in _list(step[4], "argv")),
    )
