"""The fake nvidia-smi's XML: as much of it as a reader of memory, processes and MIG needs.

Three answers about processes differ: an empty element is nobody, N/A is unsupported.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any
from xml.sax.saxutils import escape

from smi_fields import GPU_FIELDS, NOT_AVAILABLE, Gpu, Nvml, NvmlError, token

XML_HEAD = '<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'


def document(nvml: Nvml, found: list[Gpu]) -> str:
    """Return one whole document, prolog included."""
    head = f"\t<timestamp>{time.strftime('%a %b %e %H:%M:%S %Y')}</timestamp>\n"
    head += f"\t<driver_version>{nvml.driver}</driver_version>\n"
    head += f"\t<attached_gpus>{len(found)}</attached_gpus>\n"
    body = "".join(map(gpu_element, found))
    return f"{XML_HEAD}<nvidia_smi_log>\n{head}{body}</nvidia_smi_log>\n"


def gpu_element(gpu: Gpu) -> str:
    lines = [f'<gpu id="{plain(lambda: gpu.nvml.bus(gpu.handle))}">']
    names = (("product_name", "name"), ("uuid", "uuid"), ("persistence_mode", "persistence_mode"))
    lines += [f"\t{element(tag, gpu_value(gpu, field))}" for tag, field in names]
    modes = [element(f"{m}_mig", gpu_value(gpu, f"mig.mode.{m}")) for m in ("current", "pending")]
    lines += ["\t<mig_mode>", *(f"\t\t{mode}" for mode in modes), "\t</mig_mode>"]
    lines += [f"\t{line}" for line in mig_elements(gpu)]
    if gpu.nvml.major >= 570:
        lines.append("\t" + element("gpu_recovery_action", gpu_value(gpu, "gpu_recovery_action")))
    lines += [f"\t{line}" for line in (*memory_elements(gpu), *process_elements(gpu))]
    return "".join(f"\t{line}\n" for line in (*lines, "</gpu>"))


def mig_elements(gpu: Gpu) -> Iterator[str]:
    instances = gpu.instances()
    if not instances:
        yield "<mig_devices>None</mig_devices>"
        return
    yield "<mig_devices>"
    for number, mig in enumerate(instances):
        yield "\t<mig_device>"
        yield "\t\t" + element("index", str(number))
        yield "\t\t" + element("gpu_instance_id", str(mig.number("GpuInstanceId")))
        yield "\t\t" + element("compute_instance_id", str(mig.number("ComputeInstanceId")))
        yield from (f"\t\t{line}" for line in memory_elements(mig))
        yield "\t</mig_device>"
    yield "</mig_devices>"


def memory_elements(gpu: Gpu) -> Iterator[str]:
    yield "<fb_memory_usage>"
    for part in ("total", "reserved", "used", "free"):
        value = gpu_value(gpu, f"memory.{part}")
        yield "\t" + element(part, value if value == "N/A" else f"{value} MiB")
    yield "</fb_memory_usage>"


def process_elements(gpu: Gpu) -> Iterator[str]:
    """An empty element = nobody; N/A = the driver cannot list; two different answers."""
    try:
        rows = {row.pid: (row, "C") for row in gpu.nvml.processes(gpu.handle, "Compute")}
        for row in gpu.nvml.processes(gpu.handle, "Graphics"):
            rows[row.pid] = (row, "C+G" if row.pid in rows else "G")
    except NvmlError:
        yield "<processes>N/A</processes>"
        return
    yield "<processes>"
    for row, kind in rows.values():
        yield from ("\t<process_info>", *process_lines(gpu, row, kind), "\t</process_info>")
    yield "</processes>"


def process_lines(gpu: Gpu, row: Any, kind: str) -> Iterator[str]:
    yield "\t\t" + element("pid", str(row.pid))
    yield "\t\t" + element("type", kind)
    yield "\t\t" + element("process_name", gpu.nvml.process_name(row.pid).strip("[]"))
    used = "N/A" if row.used == NOT_AVAILABLE else f"{gpu.nvml.mib(row.used)} MiB"
    yield "\t\t" + element("used_memory", used)


def element(tag: str, value: str) -> str:
    return f"<{tag}>{escape(value)}</{tag}>"


def gpu_value(gpu: Gpu, name: str) -> str:
    return plain(lambda: GPU_FIELDS[name][2](gpu))


def plain(read: Callable[[], Any]) -> str:
    """Return a value or its token; XML has no brackets round tokens."""
    try:
        return str(read())
    except NvmlError as error:
        return token(error).strip("[]")
