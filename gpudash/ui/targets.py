"""What a key is about: what is marked, or the host under the cursor; always called by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpudash.core.model import Fleet, GpuInfo
from gpudash.core.scope import Scope, exact_scope
from gpudash.core.units import index_list, plural
from gpudash.ui.paint.glyphs import UNICODE, Glyphs
from gpudash.ui.paint.spans import outside


def _nothing() -> None:
    """Do nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Hosts, and which of their GPUs."""

    hosts: tuple[str, ...]
    scope: Scope | None
    """None: every GPU of these hosts."""
    words: str
    """`gpu-a`, `GPUs 0–3 of gpu-a`, `3 hosts`."""
    glyphs: Glyphs = UNICODE
    done: Callable[[], None] = _nothing
    """Is called when it was used: marks end with the action."""


def target_of(fleet: Fleet, marks: frozenset[tuple[str, str]], focus: str | None) -> Target | None:
    """Return what is marked, else the host under the cursor; None where there is neither."""
    marked = marked_target(fleet, marks)
    if marked is not None or focus is None:
        return marked
    host = next((one for one in fleet.hosts if one.name == focus), None)
    if host is None or not host.gpus:
        return None
    return Target(hosts=(focus,), scope=None, words=outside(focus, 64))


def marked_target(fleet: Fleet, marks: frozenset[tuple[str, str]]) -> Target | None:
    """Return what is marked, or None."""
    chosen: list[tuple[str, GpuInfo]] = [
        (host.name, gpu.info)
        for host in fleet.hosts
        for gpu in host.gpus
        if (host.name, gpu.info.key) in marks
    ]
    if not chosen:
        return None
    names = tuple(dict.fromkeys(name for name, _ in chosen))
    every = sum(len(host.gpus) for host in fleet.hosts if host.name in names)
    is_whole = len(chosen) == every
    return Target(
        hosts=names,
        scope=None if is_whole else exact_scope(chosen),
        words=_words(names, [info.index for _, info in chosen], is_whole=is_whole),
    )


def _words(names: tuple[str, ...], indices: list[int], *, is_whole: bool) -> str:
    if len(names) > 1:
        hosts = plural(len(names), "host")
        return hosts if is_whole else f"{plural(len(indices), 'GPU')} of {hosts}"
    name = outside(names[0], 64)
    if is_whole:
        return name
    return f"GPU{'s' if len(indices) > 1 else ''} {index_list(sorted(indices))} of {name}"
