"""The slow calls of one GPU: what they answered, each by itself.

A call that failed has its NVML code in place of its value: what this GPU does not have is not what
could not be read, and neither is a 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from gpudash.core import nvml
from gpudash.core.checked import (
    InvalidLine,
    a_count,
    a_list,
    a_number,
    a_text,
    an_object,
    maybe_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FIELDS = (
    "bar1",
    "clocks",
    "compute_mode",
    "decoder",
    "ecc_aggregate",
    "ecc_mode",
    "ecc_volatile",
    "encoder",
    "fan",
    "max_clocks",
    "memory_busy",
    "memory_temperature",
    "mig",
    "nvlinks",
    "pcie",
    "pcie_bytes",
    "pcie_replays",
    "persistence",
    "power_limits",
    "recovery",
    "remapped",
    "retired",
    "serial",
    "thresholds",
    "throttle",
    "vbios",
)
"""What a detail may tell; the probe has the same."""
TEXTS = frozenset({"serial", "vbios"})
ABSENT = frozenset({nvml.NOT_SUPPORTED, nvml.FUNCTION_NOT_FOUND})
"""Codes of what is not there to be read: a chip without it, a driver that never heard of it."""


class Fact(NamedTuple):
    """What one question was answered with."""

    numbers: tuple[int | None, ...] = ()
    """In the probe's order; None where a part of the answer could not be had."""
    text: str = ""
    code: int | None = None
    """NVML code that stood in the way of all of it."""

    @property
    def is_absent(self) -> bool:
        """Tell whether this GPU or driver does not have it at all."""
        return self.code in ABSENT

    @property
    def is_failed(self) -> bool:
        """Tell whether it is there and could not be read."""
        return self.code is not None and not self.is_absent


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDetail:
    """The slow calls of one GPU, made one after the other."""

    id: int
    """Of the command."""
    index: int
    uuid: str | None
    host_monotonic_s: float
    facts: tuple[tuple[str, Fact], ...]

    def fact(self, name: str) -> Fact | None:
        """Return an answer; None where the probe did not say a word of it."""
        return next((fact for known, fact in self.facts if known == name), None)


def detail_of(line: dict[str, Any]) -> GpuDetail:
    """Return the detail that a line tells. Raises InvalidLine."""
    told = an_object(line.get("facts"))
    return GpuDetail(
        id=a_count(line.get("id"), "id"),
        index=a_count(line.get("gpu"), "gpu"),
        uuid=maybe_text(line.get("uuid"), "uuid"),
        host_monotonic_s=a_number(line.get("mono"), "mono"),
        facts=tuple((name, _fact(name, told[name])) for name in FIELDS if name in told),
    )


def _fact(name: str, value: object) -> Fact:
    if isinstance(value, dict):
        return Fact(code=_code(value))
    if name in TEXTS:
        return Fact(text=a_text(value, name)[:80])
    return Fact(numbers=tuple(_number(item, name) for item in a_list(value, name)[:64]))


def _number(value: object, name: str) -> int | None:
    """Return one part; NVML's "not available" and a part that failed are none."""
    if isinstance(value, dict):
        _code(value)
        return None
    if value is None:
        return None
    number = a_count(value, name)
    return None if number == nvml.NOT_AVAILABLE_U64 else number


def _code(value: dict[str, Any]) -> int:
    if set(value) != {"e"}:
        raise InvalidLine("not a value")
    return a_count(value["e"], "code", least=1)
