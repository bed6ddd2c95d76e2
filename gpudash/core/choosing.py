"""Which GPUs of this machine a command may have: `wait --gpus N [--free SIZE]`.

Each GPU is proven by itself. One that kept zero (or its free memory) through the whole hold and has
no other user's process on it can be claimed; what is unknown is nobody's to take.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.errors import ExitCode, UsageError, worst
from gpudash.core.families import gpu_processes, owner_of, pids_are_local
from gpudash.core.model import Gpu, Host, Owner
from gpudash.core.proof import Basis, Policy, Proof
from gpudash.core.scope import Scope, ScopeItem
from gpudash.core.units import format_memory, plural
from gpudash.core.waiting import Ending, hopeless_gpu


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How many GPUs, and what they must keep."""

    count: int
    free_bytes: int | None = None
    """Free memory of each; None asks for zero used."""

    @property
    def words(self) -> str:
        """Return `2 GPUs at zero`, or `2 GPUs with 40.0 GiB free`."""
        if self.free_bytes is None:
            return f"{plural(self.count, 'GPU')} at zero"
        return f"{plural(self.count, 'GPU')} with {format_memory(self.free_bytes)} free"


def in_scope(host: Host, scope: Scope | None) -> tuple[Gpu, ...]:
    """Return the GPUs that may be chosen from. Raises UsageError as `Scope.select` does."""
    return scope.select(host.name, host.gpus) if scope else host.gpus


def policy_for(gpu: Gpu, wanted: Policy) -> Policy:
    """Return the policy that proves one GPU by itself. Raises UsageError for one without UUID."""
    uuid = gpu.info.uuid
    if uuid is None:
        raise UsageError(f"GPU {gpu.info.index} has no UUID: it can't be claimed")
    item = ScopeItem(text=uuid, uuid=uuid.lower())
    return Policy(
        hold_s=wanted.hold_s,
        scope=Scope(items=(item,)),
        baselines=wanted.baselines,
        free_bytes=wanted.free_bytes,
        restarts=True,
        interval_s=wanted.interval_s,
    )


def why_not_usable(gpu: Gpu) -> str:
    """Return why a GPU can never be chosen, whatever it holds; empty where it can."""
    if gpu.info.uuid is None:
        return "its UUID can't be read"
    if gpu.info.is_mig or (gpu.reading is not None and gpu.reading.mig):
        return "it is in MIG mode, where a command is given slices"
    return ""


def why_not_ours(host: Host, gpu: Gpu, *, is_accepted: bool = False) -> str:
    """Return whose process keeps a GPU from being chosen; empty where nobody's does.

    A holder that can't be named counts as somebody else's, and so does memory without one, unless
    it was accepted as idle.
    """
    reading = gpu.reading
    if reading is None:
        return "it was not read"
    listed = gpu_processes(gpu)
    if not listed and not reading.hidden_processes:
        unread = reading.processes is None
        is_open = unread or (reading.used_bytes and not is_accepted)
        return "who holds its memory is not known" if is_open else ""
    if reading.hidden_processes or not pids_are_local(host):
        return "processes that can't be named are on it"
    infos = {info.pid: info for info in host.processes}
    for pid, _ in listed:
        if owner_of(host, infos.get(pid)) is not Owner.MINE:
            info = infos.get(pid)
            return f"pid {pid} is {info.user}'s" if info else f"whose pid {pid} is is not known"
    return ""


def why_not_given(host: Host, gpu: Gpu, proof: Proof) -> str:
    """Return whose process keeps a GPU that holds from being given; empty where nobody's does."""
    return why_not_ours(host, gpu, is_accepted=proof.basis is Basis.BASELINE)


def choosable(host: Host, proofs: dict[str, Proof]) -> tuple[Gpu, ...]:
    """Return the GPUs that may be claimed now, by ascending index."""
    found = []
    for gpu in host.gpus:
        proof = proofs.get(gpu.info.uuid or "")
        if proof is None or not proof.is_proven or why_not_usable(gpu):
            continue
        # Memory alone doesn't say it: a process is listed before it holds any.
        if not why_not_given(host, gpu, proof):
            found.append(gpu)
    return tuple(sorted(found, key=lambda gpu: gpu.info.index))


def turned(gpus: tuple[Gpu, ...], by: int) -> tuple[Gpu, ...]:
    """Return the GPUs beginning with another one, in a circle."""
    start = by % len(gpus) if gpus else 0
    return (*gpus[start:], *gpus[:start])


def hopeless_choice(host: Host, scope: Scope | None, wish: Wish) -> Ending | None:
    """Return the end of a wait for GPUs of which too few can ever come; None while there is hope.

    Raises UsageError where the scope itself is too small.
    """
    gpus = in_scope(host, scope)
    if len(gpus) < wish.count:
        raise UsageError(
            f"{wish.count} GPUs are wanted and {len(gpus)} are "
            f"{'in scope' if scope else 'on this machine'}"
        )
    unusable = [(gpu, why) for gpu in gpus if (why := why_not_usable(gpu))]
    bad = [(gpu, code) for gpu in gpus if (code := hopeless_gpu(gpu)) is not None]
    never = {gpu.info.index for gpu, _ in (*unusable, *bad)}
    if len(gpus) - len(never) >= wish.count:
        return None
    code = worst([code for _, code in bad] or [ExitCode.UNKNOWN])
    usable = len(gpus) - len(never)
    said = [f"GPU {gpu.info.index}: {why}" for gpu, why in unusable]
    said += [f"GPU {gpu.info.index}: {gpu.state.value.replace('_', ' ')}" for gpu, _ in bad]
    return Ending(
        exit_code=code,
        says=f"{host.name}: only {plural(usable, 'GPU')} can ever be had: {', '.join(said)}",
    )


def visible_devices(gpus: tuple[Gpu, ...], *, by_uuid: bool) -> dict[str, str]:
    """Return the environment that shows a command these GPUs and no other.

    CUDA counts by speed unless it is told to count as NVML does, by bus id.
    """
    names = [gpu.info.uuid or "" if by_uuid else str(gpu.info.index) for gpu in gpus]
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ",".join(names)}
