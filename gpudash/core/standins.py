"""Stand-in devices: everyday device numbers that count as GPUs, for tests without any.

`GPUDASH_DEVICE_MAP="1:7=0,1:5=1"` lets /dev/full be GPU 0 and /dev/zero GPU 1. `1:8=control`,
`uvm` and `modeset` stand for the driver's other nodes. A last `pids=host` says that the driver's
pids are not those of the sampler's own pid namespace. Whatever is seen so is simulated.
"""

from __future__ import annotations

import re

from gpudash.core.errors import UsageError

VARIABLE = "GPUDASH_DEVICE_MAP"
KINDS = ("control", "uvm", "modeset", "other")
_ENTRY = re.compile(r"(\d{1,4}):(\d{1,7})=(\d{1,3}|[a-z]+)")


def standin_options(text: str) -> dict[str, object]:
    """Return the members of a probe's options that a map means. Raises UsageError."""
    devices: list[tuple[int, int, str, int]] = []
    pids = "own"
    words = [word.strip() for word in text.split(",")]
    if words[-1] == "pids=host":
        pids = "host"
        del words[-1]
    for word in words:
        match = _ENTRY.fullmatch(word)
        if match is None or not (match[3].isdigit() or match[3] in KINDS):
            raise UsageError(
                f"{VARIABLE}: {word[:40]!r} is no stand-in device",
                hint=f'Example: {VARIABLE}="1:7=0,1:5=1" (MAJOR:MINOR=GPU), then ",pids=host"',
            )
        is_gpu = match[3].isdigit()
        kind, index = ("gpu", int(match[3])) if is_gpu else (match[3], 0)
        devices.append((int(match[1]), int(match[2]), kind, index))
    if not devices:
        raise UsageError(f"{VARIABLE} names no device", hint=f'Example: {VARIABLE}="1:7=0"')
    return {"devices": devices, "pids": pids}
