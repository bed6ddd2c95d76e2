"""Who holds a host's GPU memory, one entry for each family.

A family is a holder's process tree up to its root: the topmost ancestor of the same user that
is no shell, service or terminal. What the host can't name (a dead pid, a pid of another pid
namespace, no answer yet) is an entry of its own with an unknown owner.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.model import Ancestor, Fleet, Gpu, GpuState, Host, Owner, ProcessInfo
from gpudash.core.names import Label, process_label
from gpudash.core.units import known_sum

INITIAL_PID_NAMESPACE = 4026531836
"""Inode of /proc/self/ns/pid outside any container: PROC_PID_INIT_INO in the kernel."""

BOUNDARIES = frozenset(
    """
    sh bash dash zsh fish ksh csh tcsh ash su sudo doas login sshd sshd-session systemd init
    tmux screen zellij cron crond atd dockerd containerd containerd-shim podman conmon runc
    crun tini dumb-init s6-svscan supervisord slurmstepd slurmd kubelet nohup setsid script
    jupyter-lab jupyter-noteboo jupyter-server jupyterhub code code-server node gnome-shell
    kthreadd make watch xargs time timeout
    """.split()  # noqa: SIM905
)
"""Programs that start others' work and are no part of it; comm is cut at 15 bytes."""

Key = tuple[str, int, int]
"""Host, root pid, root start in clock ticks (0 where unknown)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A family with memory on GPUs of one host."""

    key: Key
    letter: str
    """Empty while the host was not asked yet who it is."""
    label: Label
    owner: Owner
    user: str | None
    pids: tuple[int, ...]
    """As the driver lists them, ascending."""
    gpu_bytes: tuple[tuple[int, int | None], ...]
    """GPU index and what the driver says of it; None where it says nothing."""
    started_ago_s: float | None
    """Age of the oldest member at `known_at_s`; None where unknown."""
    known_at_s: float
    is_dead: bool
    """The driver lists it and the host does not know it any more."""
    ended: int = 0
    """How many of its listed processes are no more than an entry: their main thread ended."""

    @property
    def has_memory(self) -> bool:
        """Tell whether it may hold any: who is listed with 0 bytes only has a handle open."""
        return any(used is None or used > 0 for _, used in self.gpu_bytes)

    @property
    def known_bytes(self) -> tuple[int, bool]:
        """Return the sum of what is known, and whether that is all."""
        return known_sum(used for _, used in self.gpu_bytes)

    @property
    def used_bytes(self) -> int:
        """Return the sum of what is known."""
        return self.known_bytes[0]

    def age(self, now_s: float) -> float | None:
        """Return seconds since the oldest member started."""
        if self.started_ago_s is None:
            return None
        return self.started_ago_s + max(0.0, now_s - self.known_at_s)


def pids_are_local(host: Host) -> bool:
    """Tell whether the driver's pids may be looked up in this host's /proc.

    In a pid namespace that is not the host's, NVML lists host pids, and the same number is
    another process there.
    """
    facts = host.facts
    if facts is None:
        return False
    return facts.is_simulated or facts.pid_namespace in (None, INITIAL_PID_NAMESPACE)


def listed_pids(host: Host) -> frozenset[int]:
    """Return all pids that the driver lists on this host now."""
    return frozenset(pid for gpu in host.gpus for pid, _ in gpu_processes(gpu))


def gpu_processes(gpu: Gpu) -> tuple[tuple[int, int | None], ...]:
    """Return (pid, bytes) of everybody listed on a GPU, its MIG slices included; largest first."""
    reading = gpu.reading
    if reading is None or gpu.state in (GpuState.LOST, GpuState.MISSING):
        return ()
    listed = reading.processes or ()
    if len(listed) < 2 and not reading.mig:
        # Most GPUs have one holder or none, and every painter asks.
        return tuple((process.pid, process.used_bytes) for process in listed)
    used: dict[int, int | None] = {}
    lists = (reading.processes, *(slice_.processes for slice_ in reading.mig))
    for process in (process for one in lists for process in one or ()):
        before = used.get(process.pid)
        if process.used_bytes is None:
            used.setdefault(process.pid, None)
        else:
            used[process.pid] = max(before or 0, process.used_bytes)
    return tuple(sorted(used.items(), key=lambda row: (-(row[1] or 0), row[0])))


def root_of(info: ProcessInfo) -> ProcessInfo | Ancestor:
    """Return the member of a process's ancestry that a user would stop."""
    root: ProcessInfo | Ancestor = info
    for step in info.ancestors:
        if step.uid != info.uid or step.comm.lstrip("-") in BOUNDARIES:
            break
        root = step
    return root


def family_key(host: Host, pid: int) -> Key:
    """Return the family that a listed pid belongs to, as far as the host told."""
    info = _info(host, pid)
    if info is None:
        return host.name, pid, 0
    root = root_of(info)
    return host.name, root.pid, root.start_ticks


def _info(host: Host, pid: int) -> ProcessInfo | None:
    return next((info for info in host.processes if info.pid == pid), None)


def holders(host: Host, letters: tuple[tuple[Key, str], ...]) -> tuple[Holder, ...]:
    """Return everybody who holds memory on this host, most memory first."""
    infos = {info.pid: info for info in host.processes}
    members: dict[Key, dict[int, None]] = {}
    usage: dict[Key, dict[int, int | None]] = {}
    for gpu in host.gpus:
        for pid, used in gpu_processes(gpu):
            info = infos.get(pid)
            root = root_of(info) if info else None
            key = (host.name, root.pid, root.start_ticks) if root else (host.name, pid, 0)
            members.setdefault(key, {})[pid] = None
            on_gpu = usage.setdefault(key, {})
            index = gpu.info.index
            if used is not None:
                on_gpu[index] = (on_gpu.get(index) or 0) + used
            else:
                on_gpu.setdefault(index, None)
    named = dict(letters)
    found = [
        _holder(host, key, tuple(sorted(pids)), usage[key], infos, named.get(key, ""))
        for key, pids in members.items()
    ]
    return tuple(sorted(found, key=lambda holder: (-holder.used_bytes, holder.key)))


def _holder(
    host: Host,
    key: Key,
    pids: tuple[int, ...],
    usage: dict[int, int | None],
    infos: dict[int, ProcessInfo],
    letter: str,
) -> Holder:
    known = [infos[pid] for pid in pids if pid in infos]
    oldest = max(known, key=lambda info: info.age(info.known_at_s), default=None)
    return Holder(
        key=key,
        letter=letter,
        label=_family_label(host, pids[0], known),
        owner=owner_of(host, known[0] if known else None),
        user=known[0].user if known else None,
        pids=pids,
        gpu_bytes=tuple(sorted(usage.items())),
        started_ago_s=oldest.age_s if oldest else None,
        known_at_s=oldest.known_at_s if oldest else 0.0,
        is_dead=not known and pids[0] in host.gone_pids,
        ended=sum(info.has_ended for info in known),
    )


def _family_label(host: Host, pid: int, known: list[ProcessInfo]) -> Label:
    if not known:
        return unknown_label(host, pid)
    root = process_label(root_of(known[0]))
    if root.name == "python" and len(known) == 1:
        return process_label(known[0])
    return root


def unknown_label(host: Host, pid: int) -> Label:
    """Name a listed pid that the host can't name."""
    if not pids_are_local(host):
        return Label(name=f"host pid {pid}")
    if pid in host.gone_pids:
        return Label(name=f"pid {pid}", detail="is dead")
    return Label(name=f"pid {pid}")


def owner_of(host: Host, info: ProcessInfo | None) -> Owner:
    """Tell whose a process is, by the uid that looks at this host."""
    uid = host.facts.uid if host.facts else None
    if info is None or uid is None:
        return Owner.UNKNOWN
    return Owner.MINE if info.uid == uid else Owner.FOREIGN


def unexplained_bytes(gpu: Gpu) -> int:
    """Return what is used on a GPU beyond what its listed processes account for.

    0 where nothing can be said: no reading, or a process whose memory is not reported.
    A context's own overhead makes the listed sum fall short: below 64 MiB for each listed
    process nothing is called unexplained.
    """
    reading = gpu.reading
    if gpu.state is not GpuState.READ or reading is None or not reading.used_bytes:
        return 0
    listed = gpu_processes(gpu)
    if any(used is None for _, used in listed):
        return 0
    gap = reading.used_bytes - sum(used or 0 for _, used in listed)
    return gap if gap > len(listed) * (64 << 20) else 0


def relettered(fleet: Fleet, host: Host) -> tuple[tuple[Key, str], ...]:
    """Return the letters after this host changed: gone families lose theirs, new ones get one.

    Families get the lowest free letter in order of appearance; one that the host was not asked
    about yet waits.
    """
    present: dict[Key, None] = {}
    for gpu in host.gpus:
        for pid, _ in gpu_processes(gpu):
            asked = pid in host.gone_pids or not pids_are_local(host)
            key = family_key(host, pid)
            if key[2] or asked:
                present[key] = None
    kept = [entry for entry in fleet.letters if entry[0][0] != host.name or entry[0] in present]
    taken = {letter for _, letter in kept}
    have = {key for key, _ in kept}
    for key in present:
        if key not in have:
            letter = _free_letter(taken)
            taken.add(letter)
            kept.append((key, letter))
    return tuple(kept)


def _free_letter(taken: set[str]) -> str:
    number = 0
    while (letter := _letter(number)) in taken:
        number += 1
    return letter


def _letter(number: int) -> str:
    first, second = divmod(number, 26)
    return (chr(64 + first) if first else "") + chr(65 + second)
