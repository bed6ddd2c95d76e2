"""Which GPUs a host has: those it lists, those it had, and those that it is expected to have."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from gpudash.core.model import Gpu, GpuInfo, GpuState

EXPECTED = "the configuration expects it, and this host does not list it"
"""What marks a GPU that nobody ever saw."""
NOTHING_EXPECTED: MappingProxyType[str, int] = MappingProxyType({})


def rostered(
    known: tuple[Gpu, ...], roster: tuple[GpuInfo, ...], expected: int | None = None
) -> tuple[Gpu, ...]:
    """Join the new roster with what was known; who is not in it any more is MISSING.

    A GPU that answers without its UUID is the one of the same bus id or index; one that was
    known only by its place has now got a name. Where fewer are left than are expected, each
    that lacks is MISSING too: a host that lists 7 of 8 proves nothing. One that lists none at
    all has a fault of its own.
    """
    gpus = _joined(tuple(gpu for gpu in known if not is_placeholder(gpu)), roster)
    lacking = (expected or 0) - len(gpus) if roster else 0
    if lacking <= 0:
        return gpus
    taken = {gpu.info.index for gpu in gpus}
    free = [index for index in range(len(gpus) + lacking) if index not in taken]
    return (*gpus, *(_placeholder(index) for index in free[:lacking]))


def is_placeholder(gpu: Gpu) -> bool:
    """Tell whether nobody ever saw a GPU: it is only expected."""
    return gpu.state is GpuState.MISSING and gpu.info.doubt == EXPECTED


def _placeholder(index: int) -> Gpu:
    info = GpuInfo(index=index, uuid=None, doubt=EXPECTED)
    return Gpu(info=info, reading=None, state=GpuState.MISSING)


def _joined(known: tuple[Gpu, ...], roster: tuple[GpuInfo, ...]) -> tuple[Gpu, ...]:
    before = {gpu.info.key: gpu for gpu in known}
    named = {info.key for info in roster}
    remaining = {key: gpu for key, gpu in before.items() if key not in named}
    gpus: list[Gpu] = []
    for info in roster:
        old = before.get(info.key) or _same_place(remaining, info)
        if old is not None and old.info.key in remaining:
            del remaining[old.info.key]
            if info.uuid is None and old.info.uuid is not None:
                info = replace(old.info, index=info.index, doubt="its UUID can't be read now")
        if old is None or old.state is GpuState.MISSING:
            gpus.append(Gpu(info=info, reading=None, state=GpuState.UNREAD))
        else:
            # What is old stays in view until the next tick; without a LIVE link it proves nothing.
            gpus.append(replace(old, info=info))
    gone = (Gpu(info=gpu.info, reading=None, state=GpuState.MISSING) for gpu in remaining.values())
    return (*gpus, *gone)


def _same_place(known: dict[str, Gpu], info: GpuInfo) -> Gpu | None:
    """Return who stood in this place, unless both have a name: then they are two."""
    nameless = [gpu for gpu in known.values() if None in (info.uuid, gpu.info.uuid)]
    for gpu in nameless:
        if info.bus_id is not None and gpu.info.bus_id == info.bus_id:
            return gpu
    for gpu in nameless:
        if None in (info.bus_id, gpu.info.bus_id) and gpu.info.index == info.index:
            return gpu
    return None
