"""The slow calls of one GPU, made only when somebody looks at its details.

They go to the library directly: what the binding would add for them travels nowhere. Each call is
wrapped by itself and leaves its NVML code where it failed. Not asked for: PCIe throughput, which
sleeps 20 ms a call (its byte counters take 0.3 ms), and total energy (3 ms). Measured on an H200.
"""

import ctypes
import time

import pynvml

from gpudash.probe.line import now
from gpudash.probe.nvml import FUNCTION_NOT_FOUND, UNKNOWN, Failed

U = ctypes.c_uint
Q = ctypes.c_ulonglong
MOST_LINKS = 36
END_OF_LINKS = (2, 3)
TEXT_SIZE = 96
GET = "nvmlDeviceGet"

CALLS = {
    "bar1": [("BAR1MemoryInfo", (), (Q * 3,))],
    "clocks": [("ClockInfo", (kind,), (U,)) for kind in range(4)],
    "compute_mode": [("ComputeMode", (), (U,))],
    "decoder": [("DecoderUtilization", (), (U, U))],
    "ecc_aggregate": [("TotalEccErrors", (kind, 1), (Q,)) for kind in range(2)],
    "ecc_mode": [("EccMode", (), (U, U))],
    "ecc_volatile": [("TotalEccErrors", (kind, 0), (Q,)) for kind in range(2)],
    "encoder": [("EncoderUtilization", (), (U, U))],
    "fan": [("FanSpeed", (), (U,))],
    "max_clocks": [("MaxClockInfo", (kind,), (U,)) for kind in range(4)],
    "memory_busy": [("UtilizationRates", (), (U * 2,))],
    "mig": [("MigMode", (), (U, U))],
    "pcie": [
        ("CurrPcieLinkGeneration", (), (U,)),
        ("CurrPcieLinkWidth", (), (U,)),
        ("MaxPcieLinkGeneration", (), (U,)),
        ("MaxPcieLinkWidth", (), (U,)),
    ],
    "pcie_replays": [("PcieReplayCounter", (), (U,))],
    "persistence": [("PersistenceMode", (), (U,))],
    "power_limits": [
        ("EnforcedPowerLimit", (), (U,)),
        ("PowerManagementDefaultLimit", (), (U,)),
        ("PowerManagementLimitConstraints", (), (U, U)),
    ],
    "remapped": [("RemappedRows", (), (U, U, U, U))],
    "thresholds": [("TemperatureThreshold", (kind,), (U,)) for kind in range(4)],
}
"""By field: function without its beginning, what goes in, and the types that come out."""

FIELD_VALUES = {
    "memory_temperature": (82,),
    "pcie_bytes": (197, 198),
    "recovery": (230,),
    "retired": (29, 30, 31),
}
"""By field: NVML_FI_DEV_* numbers."""

TEXTS = {"serial": "Serial", "vbios": "VbiosVersion"}
REASONS = ("CurrentClocksEventReasons", "CurrentClocksThrottleReasons")


class Detail(object):
    """Asks one GPU."""

    def __init__(self, asker, gpu):
        self._asker = asker
        self._gpu = gpu

    def facts(self):
        """Return the answer to every question, or the code that stands in its place."""
        facts = {}
        for name, calls in CALLS.items():
            facts[name] = self._joint(calls)
        for name, numbers in FIELD_VALUES.items():
            facts[name] = self._fields(numbers)
        for name, function in TEXTS.items():
            facts[name] = self._wrapped(self._text, GET + function)
        facts["throttle"] = self._reasons()
        facts["nvlinks"] = self._links()
        return facts

    def call(self, name, *arguments):
        """Call a function of the library with this GPU's handle. Raises Failed."""
        self._asker.under_way = (name, self._gpu.index, time.monotonic())
        try:
            status = pynvml._nvmlGetFunctionPointer(name)(self._gpu.handle, *arguments)
        except pynvml.NVMLError as error:
            raise Failed(error.value, name)
        except (AttributeError, ctypes.ArgumentError):
            raise Failed(FUNCTION_NOT_FOUND, name)
        finally:
            self._asker.under_way = None
        if status:
            raise Failed(status, name)

    def _wrapped(self, ask, *arguments):
        try:
            return ask(*arguments)
        except Failed as error:
            return {"e": error.code}

    def _numbers(self, name, inputs, types):
        outs = [kind() for kind in types]
        self.call(name, *(list(inputs) + [ctypes.byref(out) for out in outs]))
        found = []
        for out in outs:
            found.extend(out if hasattr(out, "_length_") else [out.value])
        return found

    def _joint(self, calls):
        """Join the answers of several calls; where all failed, the first code stands for them."""
        parts = []
        for name, inputs, types in calls:
            got = self._wrapped(self._numbers, GET + name, inputs, types)
            parts += [got] * len(types) if isinstance(got, dict) else got
        failed = [part for part in parts if isinstance(part, dict)]
        return failed[0] if len(failed) == len(parts) else parts

    def _fields(self, numbers):
        name = "nvmlDeviceGetFieldValues"
        got = self._asker.value(name, self._gpu.index, self._gpu.handle, list(numbers))
        if isinstance(got, dict):
            return got
        parts = [{"e": one.nvmlReturn} if one.nvmlReturn else whole(one) for one in got]
        failed = [part for part in parts if isinstance(part, dict)]
        return failed[0] if len(failed) == len(parts) else parts

    def _text(self, name):
        room = ctypes.create_string_buffer(TEXT_SIZE)
        self.call(name, room, U(TEXT_SIZE))
        return room.value.decode("utf-8", "replace")

    def _reasons(self):
        for name in REASONS:
            found = self._wrapped(self._numbers, GET + name, (), (Q,))
            if found != {"e": FUNCTION_NOT_FOUND}:
                break
        return found

    def _links(self):
        """Return the state of each link, up to the first that there is not."""
        states = []
        for link in range(MOST_LINKS):
            got = self._wrapped(self._numbers, "nvmlDeviceGetNvLinkState", (link,), (U,))
            if isinstance(got, dict):
                if not states:
                    return got
                if got["e"] in END_OF_LINKS:
                    break
            states.append(got if isinstance(got, dict) else got[0])
        return states


def whole(field):
    """Return a field's value as a whole number."""
    members = {0: "dVal", 1: "uiVal", 2: "ulVal", 3: "ullVal", 4: "sllVal", 5: "siVal"}
    return max(0, int(getattr(field.value, members.get(field.valueType, "ullVal"))))


def told(facts):
    """Return facts as the wire has them: what is used of the memory window before its size."""
    window = facts["bar1"]
    if not isinstance(window, dict):
        facts["bar1"] = [window[2], window[0]]
    busy = facts["memory_busy"]
    if not isinstance(busy, dict):
        facts["memory_busy"] = busy[1:]
    return facts


def answer_detail(command, gpus, asker, wire):
    """Answer with one line about the GPU of an index, then an ack."""
    index = command.get("gpu")
    found = [gpu for gpu in gpus if gpu.index == index and gpu.handle is not None]
    if type(index) is not int or not found:
        wire.ack(command, "gpu must be the index of a GPU that can be asked")
        return
    gpu = found[0]
    at = round(now(), 3)
    try:
        facts = told(Detail(asker, gpu).facts())
    except (TypeError, ValueError, IndexError, AttributeError):
        wire.ack(command, "the driver's answers made no sense (code %d)" % UNKNOWN)
        return
    wire.send(t="detail", id=command["id"], gpu=index, uuid=gpu.facts["uuid"], mono=at, facts=facts)
    wire.ack(command)
