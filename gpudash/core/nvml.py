"""What NVML's return codes and recovery actions mean for a person.

Codes are compared by number: their texts differ between libnvidia-ml and its bindings.
Source: nvml.h (nvmlReturn_t, NVML_FI_DEV_GET_GPU_RECOVERY_ACTION).
"""

from __future__ import annotations

from dataclasses import dataclass

NOT_SUPPORTED = 3
NO_PERMISSION = 4
INSUFFICIENT_SIZE = 7
DRIVER_NOT_LOADED = 9
LIBRARY_NOT_FOUND = 12
FUNCTION_NOT_FOUND = 13
GPU_IS_LOST = 15
RESET_REQUIRED = 16
OPERATING_SYSTEM = 17
VERSION_MISMATCH = 18
GPU_NOT_FOUND = 28

NOT_AVAILABLE_U64 = 0xFFFF_FFFF_FFFF_FFFF
"""NVML_VALUE_NOT_AVAILABLE as an unsigned 64-bit number: unknown, never a size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """One NVML code in plain words."""

    name: str
    """NVML's own name without its prefix."""
    words: str
    """What it means, as the end of a sentence."""
    advice: str = ""
    """What a person can do about it; empty when there is nothing particular."""


_REBOOT = "Reboot, or unload and load the nvidia modules once nothing uses the GPUs."

_MEANINGS = {
    1: Meaning(name="UNINITIALIZED", words="the driver session was not open"),
    2: Meaning(name="INVALID_ARGUMENT", words="the driver refused the question"),
    3: Meaning(name="NOT_SUPPORTED", words="this GPU does not report it"),
    4: Meaning(
        name="NO_PERMISSION",
        words="not allowed to read it here",
        advice="Ask as root, or from outside the container.",
    ),
    6: Meaning(name="NOT_FOUND", words="the driver found nothing"),
    7: Meaning(name="INSUFFICIENT_SIZE", words="the list grew while it was read"),
    8: Meaning(
        name="INSUFFICIENT_POWER",
        words="a power cable is missing",
        advice="Check the external power cables of the GPU.",
    ),
    9: Meaning(
        name="DRIVER_NOT_LOADED",
        words="the NVIDIA driver is not loaded",
        advice="Load it with: modprobe nvidia. If that fails, see: dmesg | grep -i nvidia",
    ),
    10: Meaning(name="TIMEOUT", words="the driver took too long"),
    11: Meaning(name="IRQ_ISSUE", words="the driver reports an interrupt problem"),
    12: Meaning(
        name="LIBRARY_NOT_FOUND",
        words="no NVIDIA driver is installed here: libnvidia-ml.so.1 was not found",
        advice="Install the NVIDIA driver; in a container, start it with --gpus all.",
    ),
    13: Meaning(
        name="FUNCTION_NOT_FOUND", words="the driver's library is too old for this question"
    ),
    14: Meaning(name="CORRUPTED_INFOROM", words="the GPU's infoROM is corrupted"),
    15: Meaning(
        name="GPU_IS_LOST",
        words="the GPU is lost: it fell off the bus",
        advice="Look for Xid 79 in: dmesg | grep -i xid. A reboot brings it back, or not.",
    ),
    16: Meaning(
        name="RESET_REQUIRED",
        words="the GPU needs a reset",
        advice="Pause gpudash here, stop what uses the GPU, then: nvidia-smi --gpu-reset -i N",
    ),
    17: Meaning(
        name="OPERATING_SYSTEM",
        words="the operating system blocks access to the GPU",
        advice="Check the container's device rules (cgroup) and the sandbox.",
    ),
    18: Meaning(
        name="LIB_RM_VERSION_MISMATCH",
        words="driver and library versions differ: the driver was upgraded underneath",
        advice=_REBOOT,
    ),
    19: Meaning(name="IN_USE", words="the GPU is in use"),
    20: Meaning(name="MEMORY", words="the host ran out of memory"),
    23: Meaning(name="INSUFFICIENT_RESOURCES", words="the driver is out of resources"),
    25: Meaning(
        name="ARGUMENT_VERSION_MISMATCH", words="this NVML library does not fit the driver"
    ),
    26: Meaning(name="DEPRECATED", words="the driver dropped this question"),
    27: Meaning(name="NOT_READY", words="the driver is not ready yet"),
    28: Meaning(name="GPU_NOT_FOUND", words="the GPU is gone"),
    29: Meaning(name="INVALID_STATE", words="the GPU is in no state to answer"),
    999: Meaning(
        name="UNKNOWN",
        words="the driver reports an unknown error",
        advice="In a container this is often lost access to the GPU: start the container anew.",
    ),
}


def meaning(code: int) -> Meaning:
    """Return the meaning of an NVML return code; an unheard-of one is named by its number."""
    known = _MEANINGS.get(code)
    return known or Meaning(name=f"CODE_{code}", words=f"the driver answered with code {code}")


_RECOVERY = {
    0: "none",
    1: "reset",
    2: "reboot",
    3: "drain P2P",
    4: "drain and reset",
    5: "recover the IMEX domain",
    6: "bus reset",
    7: "system reboot",
}
REBOOTS = frozenset({2, 7})
"""Recovery actions that a reset of the GPU does not do."""
_RECOVERY_BY_RESET = frozenset({1, 2, 4, 6, 7})


def recovery_words(action: int) -> str:
    """Name a recovery action that the driver recommends (5 to 7: nvidia-ml-py 13.615)."""
    return _RECOVERY.get(action, f"recovery action {action}")


def recovery_needs_reset(action: int) -> bool:
    """Tell whether the recommended action resets the GPU or the machine."""
    return action in _RECOVERY_BY_RESET
