"""Read GPUs through nvidia-ml-py's pynvml, every call wrapped by itself.

A call that fails leaves its NVML code in the place of its value. Nothing here is slow: what
takes over 0.1 ms (MIG mode 172 us, energy, PCIe counters) is asked seldom or not at all; on an
H200 memory takes 5 us, process lists 8 us, the recovery action 9 us.
"""

import ctypes
import time

import pynvml

NOT_SUPPORTED = 3
INSUFFICIENT_SIZE = 7
FUNCTION_NOT_FOUND = 13
UNKNOWN = 999
GPU_IS_LOST = 15
VERSION_MISMATCH = 18
FIELD_RECOVERY_ACTION = 230  # NVML_FI_DEV_GET_GPU_RECOVERY_ACTION
LISTS = (("C", "Compute"), ("G", "Graphics"), ("M", "MPSCompute"))


class Failed(Exception):
    """A call failed with an NVML code."""

    def __init__(self, code, call=""):
        Exception.__init__(self, code)
        self.code = code
        self.call = call


class Asker(object):
    """Makes calls and remembers the one under way, for the watchdog."""

    def __init__(self):
        self.under_way = None  # (call, GPU index or None, started)

    def ask(self, name, gpu, *arguments):
        """Call one function of the binding. Raises Failed."""
        self.under_way = (name, gpu, time.monotonic())
        try:
            return getattr(pynvml, name)(*arguments)
        except pynvml.NVMLError as error:
            raise Failed(error.value, name)
        except AttributeError:
            raise Failed(FUNCTION_NOT_FOUND, name)
        except (TypeError, ValueError, ctypes.ArgumentError):  # a name that is no UTF-8
            raise Failed(UNKNOWN, name)
        finally:
            self.under_way = None

    def value(self, name, gpu, *arguments):
        """Call one function and return its value, or its code as the wire writes it."""
        try:
            return self.ask(name, gpu, *arguments)
        except Failed as error:
            return {"e": error.code}

    def maybe(self, name, gpu, *arguments):
        """Call one function and return its value, or None."""
        try:
            return self.ask(name, gpu, *arguments)
        except Failed:
            return None


class ProcessInfoV1(ctypes.Structure):
    """nvmlProcessInfo_v1_t: all that drivers up to 450 know."""

    _fields_ = [("pid", ctypes.c_uint), ("usedGpuMemory", ctypes.c_ulonglong)]


def processes_v1(handle, name):
    """Return the processes of one kind by the oldest call. Raises NVMLError as the binding."""
    call = pynvml._nvmlGetFunctionPointer(name)
    count = ctypes.c_uint(256)
    rows = (ProcessInfoV1 * 256)()
    status = call(handle, ctypes.byref(count), rows)
    if status:
        raise pynvml.NVMLError(status)
    return rows[: count.value]


class Gpu(object):
    """One GPU of the roster."""

    def __init__(self, asker, index):
        self._asker = asker
        self.index = index
        self.handle = None
        self.code = None  # of a handle that could not be had
        self.slices = ()
        self._has_memory_v2 = True
        self._list_version = {}
        try:
            self.handle = asker.ask("nvmlDeviceGetHandleByIndex", index, index)
        except Failed as error:
            self.code = error.code
        self.facts = self._identity()
        self._told = None

    def _maybe(self, name, *arguments):
        return self._asker.maybe(name, self.index, self.handle, *arguments)

    def _identity(self):
        facts = {"index": self.index, "uuid": None, "bus": None, "name": None}
        if self.handle is None:
            return facts
        pci = self._maybe("nvmlDeviceGetPciInfo")
        facts["uuid"] = self._maybe("nvmlDeviceGetUUID")
        facts["bus"] = _text(pci.busId) if pci is not None else None
        facts["name"] = self._maybe("nvmlDeviceGetName")
        return facts

    def refresh(self):
        """Read what changes seldom; return whether anything did since it was last told."""
        if self.handle is None:
            return False
        if self.facts["uuid"] is None:
            self.facts.update(self._identity())
        self._memory()
        self.facts["limit"] = self._maybe("nvmlDeviceGetEnforcedPowerLimit")
        ask = self._asker.value
        mode = ask("nvmlDeviceGetMigMode", self.index, self.handle)
        self.facts["mig"] = mode if isinstance(mode, dict) else bool(mode[0])
        self.slices = self._find_slices() if self.facts["mig"] is True else ()
        rows = ask("nvmlDeviceGetRemappedRows", self.index, self.handle)  # from Ampere on
        self.facts["remap"] = rows if isinstance(rows, dict) else [int(row > 0) for row in rows[2:]]
        return self.facts != self._told

    def tell(self):
        """Return what changes seldom, to be sent."""
        self._told = dict(self.facts)
        return self._told

    def _memory(self):
        """Return used bytes or a code, and keep total and reserve."""
        try:
            memory = self._memory_info(self.handle)
        except Failed as error:
            if "total" not in self.facts:
                old = self._maybe("nvmlDeviceGetMemoryInfo")
                self.facts["total"] = getattr(old, "total", None)
            return {"e": error.code}
        self.facts["total"] = memory.total
        self.facts["reserved"] = getattr(memory, "reserved", None)
        return memory.used

    def _memory_info(self, handle):
        """Ask v2; v1 only where this library has no v2, for v1 counts the reserve as used."""
        name = "nvmlDeviceGetMemoryInfo"
        if self._has_memory_v2:
            try:
                return self._asker.ask(name, self.index, handle, pynvml.nvmlMemory_v2)
            except Failed as error:
                if error.code != FUNCTION_NOT_FOUND:
                    raise
                self._has_memory_v2 = False
        return self._asker.ask(name, self.index, handle)

    def read(self):
        """Return one reading in the order of the wire's READING_FIELDS, or its code."""
        if self.handle is None:
            return {"e": self.code}
        used = self._memory()
        if used == {"e": GPU_IS_LOST}:
            return used
        ask = self._asker.value
        utilisation = ask("nvmlDeviceGetUtilizationRates", self.index, self.handle)
        reading = [
            used,
            utilisation if isinstance(utilisation, dict) else utilisation.gpu,
            ask("nvmlDeviceGetPowerUsage", self.index, self.handle),
            ask("nvmlDeviceGetTemperature", self.index, self.handle, 0),
            ask("nvmlDeviceGetClockInfo", self.index, self.handle, 1),
            self._throttle(),
            ask("nvmlDeviceGetPerformanceState", self.index, self.handle),
            self._recovery(),
            self._processes(self.handle),
        ]
        if self.slices:
            reading.append([self._read_slice(*slice_) for slice_ in self.slices])
        return reading

    def _throttle(self):
        """Event reasons (535 and newer), else the same bits under their old name."""
        bits = self._asker.value("nvmlDeviceGetCurrentClocksEventReasons", self.index, self.handle)
        if bits == {"e": FUNCTION_NOT_FOUND}:
            name = "nvmlDeviceGetCurrentClocksThrottleReasons"
            bits = self._asker.value(name, self.index, self.handle)
        return bits

    def _recovery(self):
        """The recommended recovery action; a field has a return code of its own."""
        name = "nvmlDeviceGetFieldValues"
        values = self._asker.value(name, self.index, self.handle, [FIELD_RECOVERY_ACTION])
        if isinstance(values, dict):
            return values
        if values[0].nvmlReturn:
            return {"e": values[0].nvmlReturn}
        return _field_value(values[0])

    def _processes(self, handle):
        """Return [[pid, bytes or None, kinds]], or the code that makes the list unknown."""
        merged = {}
        for letter, kind in LISTS:
            try:
                rows = self._list(handle, kind)
            except Failed as error:
                # A GPU without graphics or MPS says so; only the compute list is always there.
                if letter != "C" and error.code in (NOT_SUPPORTED, FUNCTION_NOT_FOUND):
                    continue
                return {"e": error.code}
            for row in rows:
                used, kinds = merged.get(row.pid, (None, ""))
                merged[row.pid] = (_larger(used, row.usedGpuMemory), kinds + letter)
        return [[pid, used, kinds] for pid, (used, kinds) in sorted(merged.items())]

    def _list(self, handle, kind):
        """Ask _v3, then _v2, then the first version; remember what answered."""
        version = self._list_version.get(kind, 3)
        while True:
            try:
                rows = self._list_version_of(version, handle, kind)
            except Failed as error:
                if error.code != FUNCTION_NOT_FOUND or version == 1:
                    raise
                version -= 1
            else:
                self._list_version[kind] = version
                return rows

    def _list_version_of(self, version, handle, kind):
        tries = 3
        while True:
            try:
                if version == 1:
                    return self._list_v1(handle, kind)
                name = "nvmlDeviceGet%sRunningProcesses_v%d" % (kind, version)
                return self._asker.ask(name, self.index, handle)
            except Failed as error:
                # The list grew between asking its size and reading it.
                tries -= 1
                if error.code != INSUFFICIENT_SIZE or not tries:
                    raise

    def _list_v1(self, handle, kind):
        name = "nvmlDeviceGet%sRunningProcesses" % kind
        self._asker.under_way = (name, self.index, time.monotonic())
        try:
            return processes_v1(handle, name)
        except pynvml.NVMLError as error:
            raise Failed(error.value, name)
        finally:
            self._asker.under_way = None

    def _find_slices(self):
        slices = []
        for number in range(self._maybe("nvmlDeviceGetMaxMigDeviceCount") or 0):
            handle = self._maybe("nvmlDeviceGetMigDeviceHandleByIndex", number)
            if handle is not None:
                slices.append((handle, self._slice_facts(handle)))
        return tuple(slices)

    def _slice_facts(self, handle):
        ask = self._asker.maybe
        name = ask("nvmlDeviceGetName", self.index, handle) or ""
        return {
            "gi": ask("nvmlDeviceGetGpuInstanceId", self.index, handle) or 0,
            "ci": ask("nvmlDeviceGetComputeInstanceId", self.index, handle) or 0,
            "uuid": ask("nvmlDeviceGetUUID", self.index, handle),
            "profile": name.rpartition(" MIG ")[2] or None,
        }

    def _read_slice(self, handle, facts):
        reading = dict(facts, total=None, procs=self._processes(handle))
        try:
            memory = self._memory_info(handle)
        except Failed as error:
            reading["used"] = {"e": error.code}
            return reading
        reading["used"] = memory.used
        reading["total"] = memory.total
        return reading


def _field_value(field):
    members = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal"}
    return int(getattr(field.value, members.get(field.valueType, "ullVal")))


def _larger(one, other):
    if one is None or other is None:
        return other if one is None else one
    return max(one, other)


def _text(value):
    return value.decode("ascii", "replace") if isinstance(value, bytes) else value
