"""What a filter may ask about: fields, their units, and the words of `state`."""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

MIB = 1 << 20


class Unit(NamedTuple):
    """How amounts of one measure are written."""

    name: str
    factor: float


class Measure(Enum):
    """What a number counts. TEXT and STATE are no numbers."""

    TEXT = "text"
    STATE = "state"
    COUNT = "count"
    PERCENT = "percent"
    MEMORY = "memory"
    TEMPERATURE = "temperature"
    POWER = "power"
    CLOCK = "clock"
    AGE = "age"


_BYTES = tuple(Unit(name, MIB * 1024.0**step) for step, name in enumerate(("MiB", "GiB", "TiB")))
UNITS = MappingProxyType(
    {
        Measure.COUNT: (Unit("", 1.0),),
        Measure.PERCENT: (Unit("%", 1.0),),
        Measure.MEMORY: (Unit("%", 1.0), *_BYTES),
        Measure.TEMPERATURE: (Unit("°C", 1.0),),
        Measure.POWER: (Unit("W", 1.0), Unit("kW", 1000.0)),
        Measure.CLOCK: (Unit("MHz", 1.0), Unit("GHz", 1000.0)),
        Measure.AGE: (Unit("s", 1.0), Unit("m", 60.0), Unit("h", 3600.0), Unit("d", 86400.0)),
    }
)
"""In what each measure is written; the first one is meant where none is, but for memory and age."""
NEEDS_UNIT = frozenset({Measure.MEMORY, Measure.AGE})
_SHORT = {"mib": "MiB", "gib": "GiB", "tib": "TiB", "c": "°C", "°c": "°C", "°": "°C"}
_SHORT |= {"mb": "MiB", "gb": "GiB", "tb": "TiB", "g": "GiB", "t": "TiB", "w": "W", "kw": "kW"}
_SHORT |= {"mhz": "MHz", "ghz": "GHz", "%": "%", "s": "s", "h": "h", "d": "d", "": ""}


class Field(NamedTuple):
    """One thing that can be asked about."""

    name: str
    measure: Measure
    doc: str
    example: str


_FIELDS = (
    Field("mem", Measure.MEMORY, "memory used, of the GPU's total or in bytes", "mem>50%"),
    Field("free", Measure.MEMORY, "memory that is free", "free>40GiB"),
    Field("util", Measure.PERCENT, "utilisation", "util<5%"),
    Field("temp", Measure.TEMPERATURE, "temperature", "temp>=80°C"),
    Field("power", Measure.POWER, "power", "power>300W"),
    Field("clock", Measure.CLOCK, "SM clock", "clock<1200MHz"),
    Field("gpu", Measure.COUNT, "index of the GPU", "gpu=3"),
    Field("pid", Measure.COUNT, "a process on the GPU", "pid=4711"),
    Field("age", Measure.AGE, "how long a family on the GPU has run", "age>2h"),
    Field("host", Measure.TEXT, "name of the host", "host=node*"),
    Field("user", Measure.TEXT, "who holds the GPU; me is you", "user=me"),
    Field("name", Measure.TEXT, "what a family on the GPU is called", "name=vllm"),
    Field("model", Measure.TEXT, "what the GPU is called", "model=*H200*"),
    Field("state", Measure.STATE, "how the GPU stands", "state=leftover"),
)
FIELDS = MappingProxyType({field.name: field for field in _FIELDS})

STATES = MappingProxyType(
    {
        "held": "somebody or something has memory on it",
        "zero": "one complete reading of 0 bytes",
        "baseline": "no more than what was accepted as idle",
        "unknown": "not known: a reading is missing or old",
        "leftover": "a family of yours whose purpose is gone has memory on it",
        "alive": "a family of yours that is alive has memory on it",
        "others": "somebody else has memory on it",
        "unexplained": "memory that no process accounts for",
        "lost": "it was known and does not answer any more",
        "reset": "it needs a reset",
        "silent": "its host is not read now",
        "paused": "you let its host stand still",
    }
)


def unit_of(measure: Measure, text: str) -> Unit | None:
    """Return the unit that a text means; None where it is none of this measure."""
    known = {unit.name: unit for unit in UNITS[measure]}
    # m is minutes, but of memory somebody means MiB.
    name = {"m": "MiB"}.get(text.lower()) if measure is Measure.MEMORY else None
    name = name or (text if text in known else _SHORT.get(text.lower(), text))
    if not name and measure not in NEEDS_UNIT:
        return UNITS[measure][0]
    return known.get(name)
