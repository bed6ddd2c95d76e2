"""A verdict as JSON and CSV. Keys are a contract: they are only ever added."""

from __future__ import annotations

from gpudash.cli.commands.holders import holder_documents, reach_document
from gpudash.core import nvml
from gpudash.core.families import family_key, heirs_of, info_of, is_dead, is_hidden, owner_of
from gpudash.core.model import (
    GpuInfo,
    GpuProcess,
    GpuReading,
    GpuState,
    Host,
    MigReading,
    ProcessInfo,
)
from gpudash.core.names import clean_text, process_label
from gpudash.core.verify import FleetVerdict, GpuVerdict, HostVerdict

CSV_HEADER = (
    "host",
    "index",
    "uuid",
    "name",
    "used_bytes",
    "total_bytes",
    "state",
    "verdict",
    "reason",
)


def host_document(verdict: HostVerdict) -> dict[str, object]:
    """Return one host's verdict with everything it stands on."""
    host = verdict.host
    facts = host.facts
    problem = host.problem
    return {
        "host": host.name,
        "simulated": host.is_simulated,
        "verdict": verdict.verdict.value,
        "clear": verdict.clear.value,
        "exit_code": int(verdict.exit_code),
        "reason": verdict.reason or None,
        "source": facts.source if facts else None,
        "driver": facts.driver if facts else None,
        "boot_id": facts.boot_id if facts else None,
        "unsupported": list(facts.unsupported) if facts else [],
        "transport": host.transport or None,
        "link_notes": list(host.link_notes),
        **distance_document(host),
        "problem": problem
        and {
            "title": problem.title,
            "sentence": problem.sentence,
            "advice": problem.advice or None,
            "nvml_code": problem.code,
        },
        "gpus": [gpu_document(host, gpu) for gpu in verdict.gpus],
        "reach": reach_document(host),
        "holders": holder_documents(host),
    }


def distance_document(host: Host) -> dict[str, object]:
    """Return how far away a host is; null where nothing was measured, as for this machine."""
    trip_s, offset_s = host.round_trip_s, host.clock_offset_s
    return {
        "round_trip_ms": None if trip_s is None else round(trip_s * 1000, 1),
        "clock_offset_s": None if offset_s is None else round(offset_s, 2),
    }


def gpu_document(host: Host, verdict: GpuVerdict) -> dict[str, object]:
    """Return one GPU's verdict and reading."""
    gpu = verdict.gpu
    return {
        **info_document(gpu.info),
        "state": gpu.state.value,
        "verdict": verdict.verdict.value,
        "reason": verdict.reason or None,
        "note": verdict.note or None,
        **reading_document(gpu.reading or GpuReading(), host),
    }


def info_document(info: GpuInfo) -> dict[str, object]:
    """Return what a GPU is."""
    return {
        "index": info.index,
        "uuid": info.uuid,
        "bus_id": info.bus_id,
        "name": info.name,
        "total_bytes": info.total_bytes,
        "reserved_bytes": info.reserved_bytes,
        "mig_enabled": info.is_mig,
    }


def reading_document(reading: GpuReading, host: Host) -> dict[str, object]:
    """Return one reading; null is what the driver didn't say."""
    return {
        "used_bytes": reading.used_bytes,
        "utilisation_pct": reading.utilisation_pct,
        "power_mw": reading.power_mw,
        "temperature_c": reading.temperature_c,
        "sm_clock_mhz": reading.sm_clock_mhz,
        "throttle_bits": reading.throttle_bits,
        "pstate": reading.pstate,
        "recovery_action": reading.recovery_action,
        "nvml_codes": sorted(reading.codes),
        "processes": _processes(reading.processes, host),
        "hidden_processes": reading.hidden_processes,
        "doubt": reading.doubt or None,
        "mig": [_mig(slice_, host) for slice_ in reading.mig],
    }


def _mig(slice_: MigReading, host: Host) -> dict[str, object]:
    return {
        "gpu_instance": slice_.gpu_instance,
        "compute_instance": slice_.compute_instance,
        "uuid": slice_.uuid,
        "profile": slice_.profile,
        "used_bytes": slice_.used_bytes,
        "total_bytes": slice_.total_bytes,
        "processes": _processes(slice_.processes, host),
    }


def _processes(
    processes: tuple[GpuProcess, ...] | None, host: Host
) -> list[dict[str, object]] | None:
    if processes is None:
        return None
    return [_process(process, info_of(host, process.pid), host) for process in processes]


def _process(process: GpuProcess, info: ProcessInfo | None, host: Host) -> dict[str, object]:
    label = process_label(info) if info else None
    return {
        "pid": process.pid,
        "used_bytes": process.used_bytes,
        "type": "+".join(sorted(kind.value for kind in process.kinds)),
        "name": label.name if label else None,
        "detail": (label.detail or None) if label else None,
        "user": info.user if info else None,
        "uid": info.uid if info else None,
        "age_s": round(info.age_s, 1) if info else None,
        "owner": "foreign" if is_hidden(host, process.pid) else owner_of(host, info).value,
        "root_pid": family_key(host, process.pid)[1] if info else None,
        "is_gone": is_dead(host, process.pid),
        "state": info.state if info else None,
        "is_hidden": is_hidden(host, process.pid),
        "kept_by": [heir.pid for heir in heirs_of(host, process.pid)],
    }


def csv_rows(verdict: FleetVerdict) -> list[tuple[object, ...]]:
    """Return one row a GPU; a host without GPUs gives one row that says why."""
    rows: list[tuple[object, ...]] = []
    for host in verdict.hosts:
        for gpu in host.gpus:
            info, reading = gpu.gpu.info, gpu.gpu.reading
            used = reading.used_bytes if reading else None
            rows.append(
                (
                    host.host.name,
                    info.index,
                    info.uuid and clean_text(info.uuid),
                    info.name and clean_text(info.name),
                    used,
                    info.total_bytes,
                    gpu.gpu.state.value,
                    gpu.verdict.value,
                    gpu.reason or None,
                )
            )
        if not host.gpus:
            blank = (None,) * 6
            rows.append((host.host.name, *blank, host.verdict.value, host.reason))
    return rows


def gpu_advice(verdict: GpuVerdict) -> str:
    """Return what to do about a GPU that can't be proven zero; empty where nothing is odd."""
    gpu = verdict.gpu
    if gpu.state in (GpuState.READ, GpuState.UNREAD):
        return ""
    codes = {
        GpuState.LOST: nvml.GPU_IS_LOST,
        GpuState.NEEDS_RESET: nvml.RESET_REQUIRED,
        GpuState.NO_PERMISSION: nvml.NO_PERMISSION,
    }
    code = codes.get(gpu.state)
    action = gpu.reading.recovery_action if gpu.reading else None
    if action in nvml.REBOOTS:
        return f"{verdict.reason}. Reboot the machine."
    advice = nvml.meaning(code).advice.replace("-i N", f"-i {gpu.info.index}") if code else ""
    return f"{verdict.reason}. {advice}".strip()
