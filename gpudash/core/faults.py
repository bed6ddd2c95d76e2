"""What a fault of a whole host means, in plain words."""

from __future__ import annotations

from gpudash.core import nvml
from gpudash.core.events import Fault
from gpudash.core.model import Problem


def hanging(fault: Fault) -> Problem:
    """Say which call of a driver does not return."""
    what = fault.call.removeprefix("nvmlDeviceGet").removeprefix("nvml")
    where = f" of GPU {fault.gpu_index}" if fault.gpu_index is not None else ""
    return Problem(
        title="driver hangs",
        sentence=f"Asked for {what}{where} and got no answer. Other hosts are not affected.",
        advice="Often a driver fault: look for Xid lines in the kernel log (dmesg).",
        detail=f"{fault.call}{where} did not return",
    )


def problem_of(fault: Fault) -> Problem:
    """Say in plain words what an NVML failure of the whole host means."""
    code = fault.code if fault.code is not None else 999
    known = nvml.meaning(code)
    words = known.words[0].upper() + known.words[1:]
    return Problem(
        title=_TITLES.get(code, "driver fault"),
        sentence=f"{words}.",
        advice=known.advice,
        detail=f"{fault.call} returned {known.name} ({code}). {fault.text}".strip(),
        code=code,
        is_no_driver=code == nvml.LIBRARY_NOT_FOUND,
    )


_TITLES = {
    nvml.DRIVER_NOT_LOADED: "driver not loaded",
    nvml.LIBRARY_NOT_FOUND: "no NVIDIA driver",
    nvml.VERSION_MISMATCH: "driver was upgraded",
    nvml.OPERATING_SYSTEM: "access blocked",
    nvml.NO_PERMISSION: "not allowed",
    nvml.GPU_IS_LOST: "GPU lost",
}
