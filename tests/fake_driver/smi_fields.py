"""What the fake nvidia-smi can ask: NVML through ctypes, and the GPU fields it knows.

MiB are rounded up from driver 565 on and down before, cell by cell, as the real one does. Standard
library only: nvidia_smi.py imports this by its place in the folder.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Callable
from typing import Any

MIB = 1024 * 1024
NOT_AVAILABLE = 2**64 - 1
TOKENS = {
    3: "[N/A]",
    4: "[Insufficient Permissions]",
    13: "[Function Not Found]",
    15: "[GPU is lost]",
    16: "[GPU requires reset]",
    26: "[Requested functionality has been deprecated]",
}
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n\n"
)
NO_LIBRARY = (
    "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure that the "
    "NVIDIA Display Driver is properly installed and present in your system.\n"
    "Please also try adding directory that contains libnvidia-ml.so to your system PATH.\n"
)
RECOVERY = ("None", "Reset", "Reboot", "Drain P2P", "Drain and Reset")
Handle = ctypes.c_void_p
Uint, Ull = ctypes.c_uint, ctypes.c_ulonglong


class NvmlError(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def token(error: NvmlError) -> str:
    """Return what stands in a cell instead of a value."""
    return TOKENS.get(error.code, "[Unknown Error]")


class Exit(Exception):
    """Print a text and end with a code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code, self.text = code, text


def fields(*pairs: tuple[str, Any]) -> type[ctypes.Structure]:
    return type("Struct", (ctypes.Structure,), {"_fields_": list(pairs)})


Memory = fields(("version", Uint), *((n, Ull) for n in ("total", "reserved", "free", "used")))
OldMemory = fields(*((n, Ull) for n in ("total", "free", "used")))
Utilization = fields(("gpu", Uint), ("memory", Uint))
Proc = fields(("pid", Uint), ("used", Ull), ("gi", Uint), ("ci", Uint))
FieldValue = fields(
    *(("id", Uint), ("scope", Uint), ("time", Ull), ("latency", Ull)),
    *(("type", Uint), ("code", ctypes.c_int), ("value", Ull)),
)


class Nvml:
    """The fake library; every call answers a value or raises NvmlError."""

    def __init__(self) -> None:
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            raise Exit(12, NO_LIBRARY) from None
        self.library.nvmlErrorString.restype = ctypes.c_char_p
        code = self.library.nvmlInit_v2()
        if code:
            raise Exit(*self.init_failure(code))
        self.driver = self.text("nvmlSystemGetDriverVersion")
        self.major = int(re.match(r"\d*", self.driver)[0] or 0)  # type: ignore[index]

    def error(self, code: int) -> str:
        text: bytes = self.library.nvmlErrorString(code)
        return text.decode()

    def init_failure(self, code: int) -> tuple[int, str]:
        text = f"Failed to initialize NVML: {self.error(code)}\n"
        if code == 9:
            text = NO_DRIVER
        elif code == 17:
            text += f"Failed to properly shut down NVML: {self.error(code)}\n"
        return (code if code < 255 else 255), text

    def call(self, name: str, *arguments: Any) -> None:
        try:
            function = getattr(self.library, name)
        except AttributeError:
            raise NvmlError(13) from None
        code = function(*arguments)
        if code:
            raise NvmlError(code)

    def text(self, name: str, *arguments: Any) -> str:
        buffer = ctypes.create_string_buffer(128)
        self.call(name, *arguments, buffer, Uint(128))
        return buffer.value.decode()

    def number(self, name: str, *arguments: Any, kind: type[Any] = Uint) -> int:
        out = kind()
        self.call(name, *arguments, ctypes.byref(out))
        return int(out.value)

    def pair(self, name: str, handle: Handle) -> tuple[int, int]:
        first, second = Uint(), Uint()
        self.call(name, handle, ctypes.byref(first), ctypes.byref(second))
        return first.value, second.value

    def memory(self, handle: Handle) -> Any:
        memory = Memory(version=ctypes.sizeof(Memory) | 2 << 24)
        try:
            self.call("nvmlDeviceGetMemoryInfo_v2", handle, ctypes.byref(memory))
            return memory
        except NvmlError as error:
            if error.code != 13:
                raise
        old = OldMemory()
        self.call("nvmlDeviceGetMemoryInfo", handle, ctypes.byref(old))
        return Memory(total=old.total, free=old.free, used=old.used)

    def utilization(self, handle: Handle) -> Any:
        rates = Utilization()
        self.call("nvmlDeviceGetUtilizationRates", handle, ctypes.byref(rates))
        return rates

    def field(self, handle: Handle, number: int) -> int:
        value = FieldValue(id=number)
        self.call("nvmlDeviceGetFieldValues", handle, 1, ctypes.byref(value))
        if value.code:
            raise NvmlError(value.code)
        return int(value.value)

    def bus(self, handle: Handle) -> str:
        info = ctypes.create_string_buffer(68)
        self.call("nvmlDeviceGetPciInfo_v3", handle, info)
        return info.raw[36:].split(b"\0")[0].decode()

    def ecc(self, handle: Handle) -> int:
        return self.number("nvmlDeviceGetTotalEccErrors", handle, Uint(1), Uint(0), kind=Ull)

    def remapped(self, handle: Handle) -> list[int]:
        values = [Uint() for _ in range(4)]
        self.call("nvmlDeviceGetRemappedRows", handle, *map(ctypes.byref, values))
        return [value.value for value in values]

    def processes(self, handle: Handle, kind: str) -> list[Any]:
        rows, count = (Proc * 1024)(), Uint(1024)
        name = f"nvmlDeviceGet{kind}RunningProcesses_v3"
        self.call(name, handle, ctypes.byref(count), rows)
        return list(rows[: count.value])

    def process_name(self, pid: int) -> str:
        try:
            return self.text("nvmlSystemGetProcessName", Uint(pid)).replace(",", "?")
        except NvmlError as error:
            return "[Not Found]" if error.code == 6 else "[Unknown Error]"

    def handle_at(self, index: int) -> Handle:
        handle = Handle()
        self.call("nvmlDeviceGetHandleByIndex_v2", Uint(index), ctypes.byref(handle))
        return handle

    def mib(self, count: int) -> int:
        return -(-count // MIB) if self.major >= 565 else count // MIB


class Gpu:
    """One GPU of one tick, as the field readers see it."""

    def __init__(self, nvml: Nvml, index: int, handle: Handle) -> None:
        self.nvml, self.index, self.handle = nvml, index, handle

    def number(self, name: str, *arguments: Any, kind: type[Any] = Uint) -> int:
        return self.nvml.number(f"nvmlDeviceGet{name}", self.handle, *arguments, kind=kind)

    def text(self, name: str) -> str:
        return self.nvml.text(f"nvmlDeviceGet{name}", self.handle)

    def instances(self) -> list[Gpu]:
        """The MIG devices; none without MIG."""
        found: list[Gpu] = []
        while True:
            handle = Handle()
            try:
                self.nvml.call(
                    *("nvmlDeviceGetMigDeviceHandleByIndex", self.handle),
                    *(Uint(len(found)), ctypes.byref(handle)),
                )
            except NvmlError:
                return found
            found.append(Gpu(self.nvml, self.index, handle))

    def mib(self, part: str) -> int:
        return self.nvml.mib(getattr(self.nvml.memory(self.handle), part))


Reader = Callable[[Gpu], Any]


def time_stamp(_gpu: Gpu) -> str:
    now = time.time()
    return (
        time.strftime("%Y/%m/%d %H:%M:%S", time.localtime(now)) + f".{int(now * 1000) % 1000:03d}"
    )


def watts(name: str) -> Reader:
    return lambda gpu: f"{gpu.number(name) / 1000:.2f}"


def clock(kind: int) -> Reader:
    return lambda gpu: gpu.number("ClockInfo", Uint(kind))


def switch(name: str) -> Reader:
    return lambda gpu: ("Disabled", "Enabled")[gpu.number(name)]


def mode(name: str, which: int) -> Reader:
    return lambda gpu: ("Disabled", "Enabled")[gpu.nvml.pair(name, gpu.handle)[which]]


def memory(part: str) -> Reader:
    return lambda gpu: gpu.mib(part)


def yes_no(which: int) -> Reader:
    return lambda gpu: ("No", "Yes")[gpu.nvml.remapped(gpu.handle)[which]]


def throttle(gpu: Gpu) -> str:
    return f"0x{gpu.number('CurrentClocksThrottleReasons', kind=Ull):016X}"


# Name: unit, first driver that knows it, reader.
GPU_FIELDS: dict[str, tuple[str, int, Reader]] = {
    "timestamp": ("", 0, time_stamp),
    "index": ("", 0, lambda gpu: gpu.index),
    "count": ("", 0, lambda gpu: gpu.nvml.number("nvmlDeviceGetCount_v2")),
    "driver_version": ("", 0, lambda gpu: gpu.nvml.driver),
    "uuid": ("", 0, lambda gpu: gpu.text("UUID")),
    "name": ("", 0, lambda gpu: gpu.text("Name")),
    "serial": ("", 0, lambda gpu: gpu.text("Serial")),
    "pci.bus_id": ("", 0, lambda gpu: gpu.nvml.bus(gpu.handle)),
    "memory.total": ("MiB", 0, memory("total")),
    "memory.reserved": ("MiB", 510, memory("reserved")),
    "memory.used": ("MiB", 0, memory("used")),
    "memory.free": ("MiB", 0, memory("free")),
    "utilization.gpu": ("%", 0, lambda gpu: gpu.nvml.utilization(gpu.handle).gpu),
    "utilization.memory": ("%", 0, lambda gpu: gpu.nvml.utilization(gpu.handle).memory),
    "temperature.gpu": ("", 0, lambda gpu: gpu.number("Temperature", Uint(0))),
    "fan.speed": ("%", 0, lambda gpu: gpu.number("FanSpeed")),
    "power.draw": ("W", 0, watts("PowerUsage")),
    "power.limit": ("W", 0, watts("PowerManagementLimit")),
    "enforced.power.limit": ("W", 0, watts("EnforcedPowerLimit")),
    "clocks.current.graphics": ("MHz", 0, clock(0)),
    "clocks.current.sm": ("MHz", 0, clock(1)),
    "clocks.current.memory": ("MHz", 0, clock(2)),
    "clocks_throttle_reasons.active": ("", 0, throttle),
    "clocks_event_reasons.active": ("", 535, throttle),
    "pstate": ("", 0, lambda gpu: f"P{gpu.number('PerformanceState')}"),
    "persistence_mode": ("", 0, switch("PersistenceMode")),
    "display_active": ("", 0, switch("DisplayActive")),
    "mig.mode.current": ("", 450, mode("nvmlDeviceGetMigMode", 0)),
    "mig.mode.pending": ("", 450, mode("nvmlDeviceGetMigMode", 1)),
    "ecc.mode.current": ("", 0, mode("nvmlDeviceGetEccMode", 0)),
    "ecc.errors.uncorrected.volatile.total": ("", 0, lambda gpu: gpu.nvml.ecc(gpu.handle)),
    "remapped_rows.pending": ("", 450, yes_no(2)),
    "remapped_rows.failure": ("", 450, yes_no(3)),
    "gpu_recovery_action": ("", 570, lambda gpu: RECOVERY[gpu.nvml.field(gpu.handle, 230)]),
}
ALIASES = {
    "gpu_uuid": "uuid",
    "gpu_name": "name",
    "gpu_bus_id": "pci.bus_id",
    "gpu_util": "utilization.gpu",
    "clocks.gr": "clocks.current.graphics",
    "clocks.sm": "clocks.current.sm",
    "clocks.mem": "clocks.current.memory",
}
