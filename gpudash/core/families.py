"""Who holds a host's GPU memory, one entry for each family.

A family is a holder's process tree up to its root: the topmost ancestor of the same user that
is no shell, service or terminal. What the host can't name (a dead pid, a pid of another pid
namespace, no answer yet) is an entry of its own with an unknown owner.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.kin import kin_entry, label_of_kin
from gpudash.core.listed import INITIAL_PID_NAMESPACE as INITIAL_PID_NAMESPACE
from gpudash.core.listed import gpu_processes as gpu_processes
from gpudash.core.listed import listed_pids as listed_pids
from gpudash.core.listed import pids_are_local as pids_are_local
from gpudash.core.listed import unexplained_bytes as unexplained_bytes
from gpudash.core.model import Ancestor, Host, Owner, ProcessInfo
from gpudash.core.names import Label, process_label
from gpudash.core.processes import is_probes_line
from gpudash.core.units import known_sum

BOUNDARIES = frozenset(
    """
    sh bash dash zsh fish ksh csh tcsh ash su sudo doas login sshd sshd-session systemd init
    tmux screen zellij cron crond atd dockerd containerd containerd-shim podman conmon runc
    crun tini dumb-init s6-svscan supervisord slurmstepd slurmd kubelet nohup setsid script
    jupyter-lab jupyter-noteboo jupyter-server jupyterhub code code-server node gnome-shell
    kthreadd make watch xargs time timeout
    ksh93 mksh oksh lksh yash xonsh nu elvish pwsh osh ysh
    vi helix zed zed-editor mc mcedit ranger nnn lf yazi vifm pueued tsp
    qterminal deepin-terminal terminology rio warp-terminal tabby hyper cool-retro-ter
    gnome-terminal- konsole xfce4-terminal mate-terminal lxterminal terminator tilix xterm urxvt
    rxvt kitty alacritty wezterm-gui wezterm-mux-ser foot ghostty guake yakuake ptyxis ptyxis-agent
    kgx byobu tmate dtach abduco mosh-server etserver etterminal dropbear ttyd gotty
    vim nvim emacs emacs-gtk hx gdb cuda-gdb lldb
    pycharm idea clion dataspell remote-dev-serv rserver rsession rstudio-server
    tailscaled teleport telnetd in.telnetd amazon-ssm-agen ssm-session-wor xrdp xrdp-sesman guacd
    cockpit-session cockpit-bridge k3s lxd incusd libvirtd
    bwrap lxc-start systemd-nspawn firejail sge_shepherd sge_execd flux-shell pbs_mom condor_starter
    gitlab-runner Runner.Listener Runner.Worker buildkite-agent jenkins
    """.split()  # noqa: SIM905
)
"""Programs that start others' work and are no part of it; comm is cut at 15 bytes."""

Key = tuple[str, int, int]
"""Host, root pid, root start in clock ticks (0 where unknown)."""
Letters = tuple[tuple[Key, str], ...]


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
    """The driver lists only pids that the host does not know any more."""
    kept: tuple[tuple[int, tuple[int, ...]], ...] = ()
    """Dead pids of it and the living who inherited their handles, where any were found."""
    is_hidden: bool = False
    """It lives, and /proc does not show it to us: another user's."""
    ended: int = 0
    """How many of its listed processes have a main thread that ended."""
    verb: str = ""
    """What a cleanup would do to it: `stop`, `ask` or `leave`; empty while that is not known."""
    would: str = ""
    """Why, in two or three words."""

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


def root_of(info: ProcessInfo) -> ProcessInfo | Ancestor:
    """Return the member of a process's ancestry that a user would stop."""
    root: ProcessInfo | Ancestor = info
    for step in info.ancestors:
        if step.uid != info.uid or step.comm.lstrip("-") in BOUNDARIES:
            break
        if is_probes_line(step.argv):
            # What a gpudash launched: its hand stands above and is nobody's work.
            break
        root = step
    return root


def family_key(host: Host, pid: int) -> Key:
    """Return the family that a listed pid belongs to, as far as the host told."""
    info = info_of(host, pid) or next(iter(heirs_of(host, pid)), None)
    return _key(host, pid, info)


def _key(host: Host, pid: int, info: ProcessInfo | None) -> Key:
    kin = kin_entry(host, pid, info)
    if kin is not None:
        return host.name, kin.root_pid, kin.root_start_ticks
    if info is None:
        return host.name, pid, 0
    root = root_of(info)
    return host.name, root.pid, root.start_ticks


def info_of(host: Host, pid: int) -> ProcessInfo | None:
    """Return who a listed pid is: from the answer about it, else from the newest scan."""
    if host.scan is None:
        return next((info for info in host.processes if info.pid == pid), None)
    from gpudash.core import holders as seen  # 8 ms to import, and few hosts were scanned

    return seen.living(host, pid)


def heirs_of(host: Host, pid: int) -> tuple[ProcessInfo, ...]:
    """Return the living who keep the memory of a dead pid, on any GPU."""
    if host.scan is None:
        return ()
    from gpudash.core import holders as seen

    if not seen.is_dead(host, pid):
        return ()
    found = {
        process.pid: seen.info_of(process, host)
        for gpu in host.gpus
        if any(pid == listed for listed, _ in gpu_processes(gpu))
        for process in seen.keepers(host, gpu, pid)
    }
    return tuple(found.values())


def is_dead(host: Host, pid: int) -> bool:
    """Tell whether a listed pid exists no more."""
    if host.scan is None:
        return pid in host.gone_pids
    from gpudash.core import holders as seen

    return seen.is_dead(host, pid)


def is_hidden(host: Host, pid: int) -> bool:
    """Tell whether a listed pid lives and /proc does not show it to us."""
    if host.scan is None:
        return False
    from gpudash.core import holders as seen

    return seen.is_hidden(host, pid)


def holders(host: Host, letters: Letters) -> tuple[Holder, ...]:
    """Return everybody who holds memory on this host, most memory first."""
    heirs = _heirs(host, infos := _infos(host))
    members: dict[Key, dict[int, None]] = {}
    usage: dict[Key, dict[int, int | None]] = {}
    for gpu in host.gpus:
        for pid, used in gpu_processes(gpu):
            info = infos.get(pid) or next(iter(heirs.get(pid, ())), None)
            key = _key(host, pid, info)
            members.setdefault(key, {})[pid] = None
            on_gpu = usage.setdefault(key, {})
            on_gpu.setdefault(index := gpu.info.index, None)
            if used is not None:
                on_gpu[index] = (on_gpu[index] or 0) + used
    named = dict(letters)
    found = [
        _holder(host, key, tuple(sorted(pids)), usage[key], infos, heirs, named.get(key, ""))
        for key, pids in members.items()
    ]
    return tuple(sorted(found, key=lambda holder: (-holder.used_bytes, holder.key)))


def _infos(host: Host) -> dict[int, ProcessInfo]:
    """Return who is known of the listed, by pid."""
    if host.scan is None:
        return {info.pid: info for info in host.processes}
    found = ((pid, info_of(host, pid)) for pid in host.listed or listed_pids(host))
    return {pid: info for pid, info in found if info is not None}


def _heirs(host: Host, infos: dict[int, ProcessInfo]) -> dict[int, tuple[ProcessInfo, ...]]:
    """Return who keeps the memory of each dead pid."""
    if host.scan is None:
        return {}
    found = ((pid, heirs_of(host, pid)) for pid in listed_pids(host) if pid not in infos)
    return {pid: heirs for pid, heirs in found if heirs}


def _holder(
    host: Host,
    key: Key,
    pids: tuple[int, ...],
    usage: dict[int, int | None],
    infos: dict[int, ProcessInfo],
    heirs: dict[int, tuple[ProcessInfo, ...]],
    letter: str,
) -> Holder:
    listed = [infos[pid] for pid in pids if pid in infos]
    known = listed or [heir for pid in pids for heir in heirs.get(pid, ())]
    hidden = not known and is_hidden(host, pids[0])
    kin = kin_entry(host, pids[0], known[0] if known else None)
    owner = Owner.FOREIGN if hidden else owner_of(host, known[0] if known else None)
    label = _family_label(host, pids[0], known)
    oldest = max(known, key=lambda info: info.age(info.known_at_s), default=None)
    return Holder(
        key=key,
        letter=letter,
        label=label_of_kin(kin, label, pids) if kin else label,
        owner=Owner.LEFTOVER if kin and kin.is_leftover and owner is Owner.MINE else owner,
        user=known[0].user if known else None,
        pids=pids,
        gpu_bytes=tuple(sorted(usage.items())),
        started_ago_s=oldest.age_s if oldest else None,
        known_at_s=oldest.known_at_s if oldest else 0.0,
        is_dead=not listed and is_dead(host, pids[0]),
        kept=tuple((pid, tuple(one.pid for one in heirs[pid])) for pid in pids if pid in heirs),
        is_hidden=hidden,
        ended=sum(info.has_ended for info in listed),
        verb=kin.verb if kin else "",
        would=kin.words if kin else "",
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
    if is_dead(host, pid):
        return Label(name=f"pid {pid}", detail="is dead")
    if is_hidden(host, pid):
        return Label(name=f"pid {pid}", detail="another user's, hidden by hidepid")
    return Label(name=f"pid {pid}")


def owner_of(host: Host, info: ProcessInfo | None) -> Owner:
    """Tell whose a process is, by the uid that looks at this host."""
    uid = host.facts.uid if host.facts else None
    if info is None or uid is None:
        return Owner.UNKNOWN
    return Owner.MINE if info.uid == uid else Owner.FOREIGN
