"""One cell of nvidia-smi's CSV or XML: a value, an NVML code, or nothing.

Tokens are compared by NVML code. CSV brackets them (`[N/A]`), XML and a few fields don't.
Source of the texts: nvmlErrorString and captures of drivers 440 to 610.
"""

from __future__ import annotations

import re

from gpudash.core import nvml
from gpudash.core.names import clean_text
from gpudash.core.units import MIB

UNKNOWN_ERROR = 999

_CODES = {
    "uninitialized": 1,
    "invalid argument": 2,
    "n/a": nvml.NOT_SUPPORTED,
    "not supported": nvml.NOT_SUPPORTED,
    "not available": nvml.NOT_SUPPORTED,
    "insufficient permissions": nvml.NO_PERMISSION,
    "no permission": nvml.NO_PERMISSION,
    "not found": 6,
    "no data": 6,
    "insufficient size": 7,
    "insufficient external power": 8,
    "driver not loaded": nvml.DRIVER_NOT_LOADED,
    "timeout": 10,
    "interrupt request issue": 11,
    "library not found": nvml.LIBRARY_NOT_FOUND,
    "nvml shared library not found": nvml.LIBRARY_NOT_FOUND,
    "shared library not found": nvml.LIBRARY_NOT_FOUND,
    "function not found": nvml.FUNCTION_NOT_FOUND,
    "corrupted inforom": 14,
    "gpu is lost": nvml.GPU_IS_LOST,
    "gpu requires reset": nvml.RESET_REQUIRED,
    "gpu requires restart": nvml.RESET_REQUIRED,
    "reset required": nvml.RESET_REQUIRED,
    "gpu access blocked by the operating system": nvml.OPERATING_SYSTEM,
    "driver/library version mismatch": nvml.VERSION_MISMATCH,
    "in use by another client": 19,
    "insufficient memory": 20,
    "insufficient resources": 23,
    "argument version mismatch": 25,
    "requested functionality has been deprecated": 26,
    "deprecated": 26,
    "system is not in ready state": 27,
    "not ready": 27,
    "gpu not found": nvml.GPU_NOT_FOUND,
    "invalid state": 29,
    "unknown error": UNKNOWN_ERROR,
    "err!": UNKNOWN_ERROR,
    "error": UNKNOWN_ERROR,
}

_PROSE = (
    ("gpu is lost", nvml.GPU_IS_LOST),
    ("requires reset", nvml.RESET_REQUIRED),
    ("requires restart", nvml.RESET_REQUIRED),
    ("version mismatch", nvml.VERSION_MISMATCH),
    ("blocked by the operating system", nvml.OPERATING_SYSTEM),
    ("permission", nvml.NO_PERMISSION),
    ("not loaded", nvml.DRIVER_NOT_LOADED),
)

_NO_NAMES = frozenset({"", "-", "n/a"})
_COUNT = re.compile(r"0|[1-9][0-9]{0,17}")
_DECIMAL = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,6})?")
_UUID = re.compile(r"(?:GPU|MIG)-[0-9A-Za-z/-]{1,80}")
_BUS_ID = re.compile(r"[0-9A-Fa-f]{2,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-9A-Fa-f]{1,2})?")
_NO_MIB = (nvml.NOT_AVAILABLE_U64 + 1) // MIB - 1
"""NVML_VALUE_NOT_AVAILABLE as nvidia-smi prints it in MiB: 17592186044415."""


def code_of_text(text: str) -> int | None:
    """Return the NVML code that an error text stands for; None for a text that is none."""
    plain = " ".join(text.lower().split()).rstrip(".")
    if plain in _CODES:
        return _CODES[plain]
    return next((code for words, code in _PROSE if words in plain), None)


def code_of(cell: str) -> int | None:
    """Return the NVML code of a cell; None when it holds a value or nothing at all.

    Whatever stands in brackets is a token; one that nobody has heard of is an unknown error.
    """
    text = cell.strip()
    if text.startswith("[") and text.endswith("]"):
        found = code_of_text(text[1:-1])
        return UNKNOWN_ERROR if found is None else found
    return _CODES.get(text.lower())


def count(cell: str, *units: str) -> int | None:
    """Return a whole number above or equal to 0, with one of the units or without any."""
    text = _without_unit(cell, units)
    return int(text) if _COUNT.fullmatch(text) else None


MOST_GPUS = 1024
"""More than any host has: a larger index is some other number in the wrong place."""


def index(cell: str) -> int | None:
    """Return a GPU index, or None for what can't be one."""
    number = count(cell)
    return number if number is not None and number < MOST_GPUS else None


def decimal(cell: str, *units: str) -> float | None:
    """Return a decimal number, with one of the units or without any."""
    text = _without_unit(cell, units)
    return float(text) if _DECIMAL.fullmatch(text) else None


def _without_unit(cell: str, units: tuple[str, ...]) -> str:
    text = cell.strip()
    for unit in units:
        if text.endswith(unit):
            return text[: -len(unit)].rstrip()
    return text


def memory_bytes(cell: str) -> int | None:
    """Return an amount of memory in bytes; drivers before 2014 write MB and mean MiB."""
    mib = count(cell, "MiB", "MB")
    return None if mib is None or mib >= _NO_MIB else mib * MIB


def percent(cell: str) -> int | None:
    """Return a percentage from 0 to 100; drivers are known to print 101 and -1."""
    value = count(cell, "%")
    return value if value is not None and value <= 100 else None


def milliwatts(cell: str) -> int | None:
    """Return a power in mW from watts."""
    watts = decimal(cell, "W")
    return None if watts is None else round(watts * 1000)


def pstate(cell: str) -> int | None:
    """Return the number of a performance state, `P0` to `P15`."""
    text = cell.strip()
    return count(text[1:]) if text.startswith("P") else None


def bit_mask(cell: str) -> int | None:
    """Return a mask from its hexadecimal form, `0x0000000000000001`."""
    text = cell.strip()
    return int(text, 16) if re.fullmatch(r"0x[0-9A-Fa-f]{1,16}", text) else None


def uuid(cell: str) -> str | None:
    """Return a GPU's or MIG device's UUID."""
    text = cell.strip()
    return text if _UUID.fullmatch(text) else None


def bus_id(cell: str) -> str | None:
    """Return a PCI bus id as printed."""
    text = cell.strip()
    return text if _BUS_ID.fullmatch(text) else None


def name(cell: str) -> str | None:
    """Return a product's or process's name, cleaned; None where a token or nothing stands."""
    text = cell.strip()
    if text.lower() in _NO_NAMES or code_of(text) is not None:
        return None
    return clean_text(text) or None


_RECOVERY = {
    "none": 0,
    "reset": 1,
    "gpu reset": 1,
    "reboot": 2,
    "node reboot": 2,
    "drain p2p": 3,
    "drain and reset": 4,
    "recover imex domain": 5,
    "bus reset": 6,
    "system reboot": 7,
}
UNHEARD_OF_ACTION = 99


def recovery_action(cell: str) -> int | None:
    """Return the recovery action; `None` is the healthy word, a token means not known.

    Any word that nobody has heard of is an action too: it is never taken for healthy.
    """
    text = " ".join(cell.lower().replace("_", " ").split())
    if not text or code_of(cell) is not None:
        return None
    return _RECOVERY.get(text, UNHEARD_OF_ACTION)


def is_enabled(cell: str) -> bool | None:
    """Return a switch's state; None where it isn't told."""
    return {"enabled": True, "disabled": False}.get(cell.strip().lower())
