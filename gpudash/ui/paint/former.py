"""What a GPU was used for before a cleanup: its rows say so as long as it stays at zero."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gpudash.core.cleanup.course import Course
from gpudash.core.cleanup.plan import FamilyId, Plan
from gpudash.core.model import Fleet, Gpu, GpuState
from gpudash.core.units import format_duration
from gpudash.ui.paint.cleaning import GpuProgress
from gpudash.ui.paint.spans import outside


class Former(NamedTuple):
    """One GPU after a cleanup."""

    words: str
    """`was A sglang, C notebook`, or `was free`."""
    zero_s: float
    """Since when it reads 0 bytes."""


Formers = Mapping[tuple[str, str], Former]
"""By host and GPU key."""


def formers_of(
    plan: Plan, course: Course, letters: Mapping[tuple[str, FamilyId], str]
) -> dict[tuple[str, str], Former]:
    """Return what the GPUs of a cleaned host were used for, as far as its plan told."""
    zero = dict(course.zero)
    found = {}
    for key, _ in plan.scope:
        if key in zero:
            names = [
                f"{letters.get((plan.host, family.id), '')} {_name(family.label)}".strip()
                for family in plan.families
                for share in family.shares
                if share.gpu == key and share.used_bytes != 0
            ]
            words = f"was {', '.join(names[:3])}" if names else "was free"
            found[plan.host, key] = Former(words, zero[key])
    return found


def _name(label: str) -> str:
    return outside(label, 40).partition(" ")[0]


def still_true(formers: Formers, fleet: Fleet) -> dict[tuple[str, str], Former]:
    """Leave out the GPUs that are not at zero: what they were is no news once they are again."""
    at_zero = {
        (host.name, gpu.info.key)
        for host in fleet.hosts
        if any(name == host.name for name, _ in formers)
        for gpu in host.gpus
        if gpu.state is not GpuState.READ or gpu.reading is None or not gpu.reading.used_bytes
    }
    return {place: one for place, one in formers.items() if place in at_zero}


def former_progress(formers: Formers, host: str, now_s: float, gpu: Gpu) -> GpuProgress | None:
    """Return what the rows of a GPU say of the time before; None where nothing is known."""
    one = formers.get((host, gpu.info.key))
    if one is None or gpu.reading is None or gpu.reading.used_bytes != 0:
        return None
    age = format_duration(max(0.0, now_s - one.zero_s))
    return GpuProgress(0, (), ((f"  {one.words}", "text-muted"),), ((f"{age} ", "text"),))
