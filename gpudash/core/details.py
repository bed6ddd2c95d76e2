"""What the details of a host or GPU say beside its charts: facts in words, each with its tone."""

from __future__ import annotations

from gpudash.core import nvml
from gpudash.core.detailwords import (
    ABSENT,
    FAILED,
    MUTED,
    WAITING,
    WARN,
    Detailed,
    FactLine,
    at,
    bar1,
    coders,
    ecc,
    mode,
    nvlinks,
    pages,
    pcie,
    told,
    traffic,
)
from gpudash.core.model import Gpu, Host
from gpudash.core.throttling import is_slowed, reasons
from gpudash.core.units import format_duration, format_memory, gib, plural


def gpu_facts(host: Host, gpu: Gpu, detail: Detailed, now_s: float) -> tuple[FactLine, ...]:
    """Return everything that is known of a GPU, the most asked for first."""
    return (
        FactLine("id", gpu.info.uuid or FAILED, "" if gpu.info.uuid else WARN),
        FactLine("bus", gpu.info.bus_id or FAILED),
        pcie(detail),
        FactLine("traffic", *traffic(detail)),
        _memory(gpu),
        _temperature(gpu, detail),
        _clock(gpu, detail),
        FactLine("bandwidth", *told(detail, "memory_busy", lambda of: f"memory busy {of[0]}%")),
        FactLine("held back", *_held_back(gpu)),
        _power(gpu, detail),
        FactLine("fan", *told(detail, "fan", lambda of: f"{of[0]}%")),
        ecc(detail),
        _rows(gpu, detail),
        FactLine("pages", *pages(detail)),
        _recovery(gpu),
        FactLine("MIG", *_mig(gpu, detail)),
        FactLine("mode", *mode(detail)),
        FactLine("BAR1", *told(detail, "bar1", bar1)),
        FactLine("coders", *coders(detail)),
        FactLine("NVLink", *nvlinks(detail)),
        FactLine("serial", *told(detail, "serial", str)),
        FactLine("VBIOS", *told(detail, "vbios", str)),
        link_fact(host, now_s),
    )


def host_facts(host: Host, now_s: float) -> tuple[FactLine, ...]:
    """Return what is known of a host."""
    facts = host.facts
    names = sorted({gpu.info.name or "a GPU" for gpu in host.gpus})
    lines = [
        FactLine("GPUs", f"{len(host.gpus)} {', '.join(names)}" if names else "none known"),
        FactLine("driver", (facts.driver if facts else None) or FAILED),
        FactLine("NVML", (facts.nvml if facts else None) or FAILED),
        FactLine("read by", _source(host)),
        FactLine("boot", (facts.boot_id if facts else None) or FAILED),
        link_fact(host, now_s),
    ]
    if host.problem is not None:
        said = (host.problem.sentence, host.problem.advice)
        lines[0:0] = [FactLine("problem", words, WARN) for words in said if words]
    if host.scan is not None:
        seen = plural(host.scan.seen, "process", "processes")
        hidden = f", {host.scan.unreadable} not readable" if host.scan.unreadable else ""
        lines.append(FactLine("seen", f"{seen}{hidden}"))
        lines += [FactLine("note", note, WARN) for note in host.scan.notes]
    lines += [FactLine("note", note, WARN) for note in host.link_notes]
    if facts is not None:
        lines += [FactLine("lacks", words, MUTED) for words in facts.unsupported]
    return tuple(lines)


def link_fact(host: Host, now_s: float) -> FactLine:
    """Say how far away the host is and how old what is shown."""
    way = host.transport or "this machine"
    if host.is_simulated:
        way = "simulated"
    if host.round_trip_s is not None:
        way = f"{way}, {max(1, round(host.round_trip_s * 1000))} ms"
    if host.received_s is None:
        return FactLine("link", f"{way}, not read yet", MUTED)
    age_s = max(0.0, now_s - host.received_s)
    is_old = age_s > 3 * host.interval_s
    return FactLine("link", f"{way}, read {format_duration(age_s, tenths=True)} ago", WARN * is_old)


def _source(host: Host) -> str:
    if host.facts is None:
        return WAITING
    python = f", Python {host.facts.python}" if host.facts.python else ""
    return f"{host.facts.source}{python}"


def _memory(gpu: Gpu) -> FactLine:
    reading, info = gpu.reading, gpu.info
    used = None if reading is None else reading.used_bytes
    if used is None:
        return FactLine("memory", FAILED, WARN)
    words = format_memory(used)
    if info.total_bytes:
        words = f"{words.removesuffix(' GiB')} of {gib(info.total_bytes)} GiB"
    apart = f", driver {gib(info.reserved_bytes)}" if info.reserved_bytes else ""
    return FactLine("memory", words + apart)


def _temperature(gpu: Gpu, detail: Detailed) -> FactLine:
    now = gpu.reading.temperature_c if gpu.reading else None
    words = [FAILED if now is None else f"{now}°C"]
    fact = detail.now.fact("thresholds") if detail.now else None
    slows, ends = at(fact, 1), at(fact, 0)
    words += [f"slows at {slows}°C"] if slows else []
    words += [f"off at {ends}°C"] if ends and not slows else []
    memory = at(detail.now.fact("memory_temperature") if detail.now else None, 0)
    words += [f"memory {memory}°C"] if memory else []
    is_hot = now is not None and slows is not None and now >= slows
    return FactLine("temperature", ", ".join(words), WARN * is_hot)


def _clock(gpu: Gpu, detail: Detailed) -> FactLine:
    now = gpu.reading.sm_clock_mhz if gpu.reading else None
    fact = detail.now.fact("max_clocks") if detail.now else None
    most, memory = at(fact, 1), at(detail.now.fact("clocks") if detail.now else None, 2)
    words = f"{FAILED if now is None else now} MHz" + (f" of {most}" if most else "")
    return FactLine("clock", words + (f", memory {memory}" if memory else ""))


def _held_back(gpu: Gpu) -> tuple[str, str]:
    bits = gpu.reading.throttle_bits if gpu.reading else None
    if bits is None:
        return FAILED, WARN
    found = reasons(bits)
    return (", ".join(found), WARN * is_slowed(bits)) if found else ("not slowed", "")


def _power(gpu: Gpu, detail: Detailed) -> FactLine:
    now = gpu.reading.power_mw if gpu.reading else None
    words = FAILED if now is None else f"{round(now / 1000)}"
    limit = gpu.info.power_limit_mw
    words += f" of {round(limit / 1000)} W" if limit else " W"
    fact = detail.now.fact("power_limits") if detail.now else None
    usual, most = at(fact, 1), at(fact, 3)
    is_lowered = None not in (usual, limit) and limit != usual
    words += f" (usually {round((usual or 0) / 1000)})" if is_lowered else ""
    words += f", at most {round(most / 1000)}" if most and most != limit else ""
    state = gpu.reading.pstate if gpu.reading else None
    return FactLine(
        "power", words + (f", P{state}" if state is not None else ""), WARN * is_lowered
    )


def _rows(gpu: Gpu, detail: Detailed) -> FactLine:
    def words(of: tuple[int | None, ...]) -> str:
        remapped = sum(value or 0 for value in of[:2])
        waits = "a remap waits for a reset" if of[2] else "none pending"
        return f"{remapped} remapped, {waits}" + (", one failed" if of[3] else "")

    found = told(detail, "remapped", lambda of: words(of) if len(of) == 4 else FAILED)
    is_bad = gpu.info.is_remap_pending or gpu.info.has_remap_failed
    return FactLine("rows", found[0], WARN if is_bad else found[1])


def _recovery(gpu: Gpu) -> FactLine:
    action = gpu.reading.recovery_action if gpu.reading else None
    if action is None:
        return FactLine("driver says", ABSENT, MUTED)
    words = nvml.recovery_words(action) if action else "nothing to do"
    return FactLine("driver says", words, WARN * bool(action))


def _mig(gpu: Gpu, detail: Detailed) -> tuple[str, str]:
    words, tone = told(detail, "mig", lambda of: "on" if of[0] else "off")
    fact = detail.now.fact("mig") if detail.now else None
    if gpu.info.is_mig:
        slices = gpu.reading.mig if gpu.reading else ()
        words, tone = f"on, {plural(len(slices), 'slice')}", ""
    if fact is not None and len(fact.numbers) == 2 and fact.numbers[0] != fact.numbers[1]:
        return f"{words}, {'on' if fact.numbers[1] else 'off'} after a reset", WARN
    return words, tone
