"""Why a host can't be read, in plain words: one place for the driver's failures."""

from __future__ import annotations

import re

from gpudash.core import nvml
from gpudash.core.events import Fault, Garbled
from gpudash.core.model import Problem

RELEASED = "paused, driver released"

_TITLES = {
    nvml.DRIVER_NOT_LOADED: "driver not loaded",
    nvml.LIBRARY_NOT_FOUND: "no NVIDIA driver",
    nvml.VERSION_MISMATCH: "driver was upgraded",
    nvml.OPERATING_SYSTEM: "access blocked",
    nvml.NO_PERMISSION: "not allowed",
    nvml.GPU_IS_LOST: "GPU lost",
}


def driver_problem(code: int, detail: str) -> Problem:
    """Say what an NVML code means for a host as a whole."""
    known = nvml.meaning(code)
    return Problem(
        title=_TITLES.get(code, "driver fault"),
        sentence=f"{known.words[0].upper()}{known.words[1:]}.",
        advice=known.advice,
        detail=detail,
        code=code,
        is_no_driver=code == nvml.LIBRARY_NOT_FOUND,
    )


def problem_of(fault: Fault) -> Problem:
    """Say in plain words what an NVML failure of the whole host means."""
    code = fault.code if fault.code is not None else 999
    name = nvml.meaning(code).name
    detail = f"{fault.call} returned {name} ({code}). {fault.text}".strip()
    return driver_problem(code, detail)


def hangs(fault: Fault) -> Problem:
    """Say which call does not return."""
    what = fault.call.removeprefix("nvmlDeviceGet").removeprefix("nvml")
    what = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", what).lower()
    where = f" of GPU {fault.gpu_index}" if fault.gpu_index is not None else ""
    return Problem(
        title="driver hangs",
        sentence=f"The driver does not answer when asked for {what}{where}.",
        advice="Often a driver fault: look for Xid lines in the kernel log (dmesg).",
        detail=f"{fault.call}{where} did not return",
    )


def no_gpus() -> Problem:
    """Say that an empty roster is a fault."""
    return Problem(
        title="no GPUs found",
        sentence="The driver answers and lists 0 GPUs. That is a fault, not zero.",
        advice="Is this the right machine? Inside a container, start it with --gpus all.",
    )


def nonsense(garbled: Garbled) -> Problem:
    """Say that a line was none of the wire's."""
    return Problem(
        title="garbled answer",
        sentence=f"The probe said something that is no reading: {garbled.reason}.",
        advice="If it stays so, run: gpudash doctor",
        detail=garbled.excerpt,
    )


def paused(*, is_released: bool) -> Problem:
    """Say that the user paused a host."""
    if is_released:
        sentence = "gpudash holds no driver handle on this host."
        return Problem(title=RELEASED, sentence=sentence, advice="p goes on.")
    sentence = "Values stand still; in a moment the driver is released."
    return Problem(title="paused", sentence=sentence, advice="p goes on.")
