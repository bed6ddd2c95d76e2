"""The way back: readings printed as nvidia-smi prints them."""

from __future__ import annotations

from collections.abc import Iterable

from gpudash.core import nvml
from gpudash.core.model import Gpu, GpuState
from gpudash.core.readings import driver_version
from gpudash.core.units import MIB, ceil_mib

_TOKENS = {
    nvml.NOT_SUPPORTED: "[N/A]",
    nvml.NO_PERMISSION: "[Insufficient Permissions]",
    nvml.FUNCTION_NOT_FOUND: "[Function Not Found]",
    nvml.GPU_IS_LOST: "[GPU is lost]",
    nvml.RESET_REQUIRED: "[GPU requires reset]",
    26: "[Requested functionality has been deprecated]",
}
_UNKNOWN = "[Unknown Error]"
_LAST_FLOORING = 545
"""Major version; 550 was not verified and counts as rounding up, as 565 and later do."""


def rounds_down(driver: str | None) -> bool:
    """Tell whether a driver's nvidia-smi floors MiB: up to 545 it does, so 0 MiB is `< 1 MiB`.

    Seen as sums of cells below the total on 510 to 545 and above it on 565 to 595.
    """
    version = driver_version(driver)
    return version is not None and version[0] <= _LAST_FLOORING


def may_round_down(driver: str | None) -> bool:
    """Tell whether `0 MiB` from this driver may be less than 1 MiB instead of 0 bytes."""
    version = driver_version(driver)
    return version is None or version[0] < 565


def unsupported_words(driver: str | None) -> tuple[str, ...]:
    """Return what MiB can't tell, for `HostFacts.unsupported`.

    A floored 0 is still called zero: the smallest piece that a process can hold, a context, is
    far above 1 MiB. It is said nevertheless, because NVML's bytes would know.
    """
    if not may_round_down(driver):
        return ()
    who = f"driver {driver}" if driver else "an unknown driver"
    return (f"memory below 1 MiB: {who} may round it down to 0 MiB",)


def smi_format(gpus: Iterable[Gpu], driver: str | None = None) -> str:
    """Return what `--query-gpu=index,memory.used,memory.total --format=csv,noheader` prints.

    Every line ends with a newline. A GPU that is missing has no line, as with nvidia-smi: who
    reads this must look at the exit code too.
    """
    down = rounds_down(driver)
    return "".join(_line(gpu, is_floored=down) for gpu in gpus if gpu.state is not GpuState.MISSING)


def _line(gpu: Gpu, *, is_floored: bool) -> str:
    used, total = _memory(gpu, is_floored=is_floored)
    return f"{gpu.info.index}, {used}, {total}\n"


def _memory(gpu: Gpu, *, is_floored: bool) -> tuple[str, str]:
    """Return both cells; they come from one driver call, so both fail with the same token."""
    reading = gpu.reading
    code = reading.memory_code if reading else None
    used, total = (reading.used_bytes if reading else None), gpu.info.total_bytes
    if code is None and used is not None and total:
        return _mib(used, is_floored=is_floored), _mib(total, is_floored=is_floored)
    token = _TOKENS.get(code, _UNKNOWN) if code is not None else _token_of(gpu.state)
    return token, token


def _token_of(state: GpuState) -> str:
    return {
        GpuState.LOST: _TOKENS[nvml.GPU_IS_LOST],
        GpuState.NEEDS_RESET: _TOKENS[nvml.RESET_REQUIRED],
        GpuState.NO_PERMISSION: _TOKENS[nvml.NO_PERMISSION],
        GpuState.UNIFIED: _TOKENS[nvml.NOT_SUPPORTED],
    }.get(state, _UNKNOWN)


def _mib(value_bytes: int, *, is_floored: bool) -> str:
    return f"{value_bytes // MIB if is_floored else ceil_mib(value_bytes)} MiB"
