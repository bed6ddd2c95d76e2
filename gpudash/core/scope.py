"""Which GPUs a command is about: `0-3,GPU-7f…,0000:17:00.0`, each maybe behind `HOST:`.

A scope that names something the roster does not have is an error, never an empty selection:
an empty selection would read as zero.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from gpudash.core.errors import UsageError
from gpudash.core.model import Gpu, GpuInfo

_RANGE = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?")
_UUID = re.compile(r"(?:GPU|MIG)-[0-9a-fA-F-]{1,64}")
_BUS_ID = re.compile(r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeItem:
    """One word of a scope."""

    text: str
    host: str | None = None
    """Only on this host; None is every host."""
    indices: tuple[int, int] | None = None
    """First and last index."""
    uuid: str | None = None
    """A UUID or the beginning of one, lower case."""
    bus_id: str | None = None

    def matches(self, gpu: Gpu) -> bool:
        """Tell whether this word names the GPU."""
        info = gpu.info
        if self.indices is not None:
            return self.indices[0] <= info.index <= self.indices[1]
        if self.uuid is not None:
            return (info.uuid or "").lower().startswith(self.uuid)
        return normal_bus_id(info.bus_id or "") == self.bus_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Some of the GPUs."""

    items: tuple[ScopeItem, ...]

    def concerns(self, host: str) -> bool:
        """Tell whether any word is about this host."""
        return any(item.host in (None, host) for item in self.items)

    def check_hosts(self, names: tuple[str, ...]) -> None:
        """Raise UsageError when a word names a host that is none of these."""
        for item in self.items:
            if item.host is not None and item.host not in names:
                raise UsageError(
                    f"--gpu {item.host}:{item.text}: no host of that name is read here",
                    hint=f"Hosts: {', '.join(names[:16])}",
                )

    def select(self, host: str, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
        """Return the GPUs of this host in scope, in roster order.

        Raises UsageError when a word names no GPU here, or is the start of several UUIDs.
        """
        mine = [item for item in self.items if item.host in (None, host)]
        for item in mine:
            self._check(item, host, gpus)
        return tuple(gpu for gpu in gpus if any(item.matches(gpu) for item in mine))

    def _check(self, item: ScopeItem, host: str, gpus: tuple[Gpu, ...]) -> None:
        found = [gpu for gpu in gpus if item.matches(gpu)]
        if item.indices is not None:
            first, last = item.indices
            missing = set(range(first, last + 1)) - {gpu.info.index for gpu in found}
            if missing:
                raise _no_such_gpu(str(min(missing)), host, gpus)
        if not found:
            raise _no_such_gpu(item.text, host, gpus)
        if item.uuid is not None and len(found) > 1:
            raise UsageError(
                f"--gpu {item.text} is the beginning of {len(found)} UUIDs on {host}",
                hint="Give more of the UUID.",
            )


def _no_such_gpu(text: str, host: str, gpus: tuple[Gpu, ...]) -> UsageError:
    known = ", ".join(str(gpu.info.index) for gpu in gpus[:16])
    return UsageError(f"no GPU {text} on {host}", hint=f"It has: {known}")


def normal_bus_id(text: str) -> str:
    """Return a PCI bus id as `domain:bus:device` in lower case with a four-digit domain.

    Drivers print the domain with four or eight digits; the function is always 0 for a GPU.
    """
    text = text.lower().split(".", 1)[0]
    parts = text.split(":")
    if len(parts) == 2:
        parts = ["0", *parts]
    if len(parts) != 3:
        return text
    return f"{parts[0].lstrip('0').rjust(4, '0')}:{parts[1]}:{parts[2]}"


def exact_scope(gpus: Iterable[tuple[str, GpuInfo]]) -> Scope:
    """Return the scope of these GPUs, each with the name of its host: by UUID where it has one."""
    return Scope(items=tuple(_exact_item(host, info) for host, info in gpus))


def _exact_item(host: str, info: GpuInfo) -> ScopeItem:
    if info.uuid is not None:
        return ScopeItem(text=info.uuid, host=host, uuid=info.uuid.lower())
    if info.bus_id is not None:
        return ScopeItem(text=info.bus_id, host=host, bus_id=normal_bus_id(info.bus_id))
    return ScopeItem(text=str(info.index), host=host, indices=(info.index, info.index))


def parse_scope(text: str) -> Scope:
    """Parse what follows `--gpu`. Raises UsageError naming the word that is none."""
    words = [word.strip() for word in text.split(",")]
    if not all(words):
        raise UsageError(f"--gpu {text!r} has an empty word", hint="Example: --gpu 0-3,7")
    return Scope(items=tuple(_parse_item(word) for word in words))


def _parse_item(word: str) -> ScopeItem:
    host, text = None, word
    if not _is_plain(word) and ":" in word:
        host, text = word.split(":", 1)
    if match := _RANGE.fullmatch(text):
        first, last = int(match[1]), int(match[2] or match[1])
        if first > last:
            raise UsageError(f"--gpu {word}: the range runs backwards", hint=f"{last}-{first}")
        return ScopeItem(text=text, host=host, indices=(first, last))
    if _UUID.fullmatch(text):
        return ScopeItem(text=text, host=host, uuid=text.lower())
    if _BUS_ID.fullmatch(text):
        return ScopeItem(text=text, host=host, bus_id=normal_bus_id(text))
    raise UsageError(
        f"--gpu {word}: neither an index, a range, a UUID nor a PCI bus id",
        hint="Example: --gpu 0-3,GPU-7f3a,0000:17:00.0",
    )


def _is_plain(word: str) -> bool:
    return any(pattern.fullmatch(word) for pattern in (_RANGE, _UUID, _BUS_ID))
