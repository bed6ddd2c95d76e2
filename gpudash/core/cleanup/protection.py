"""Who is never signalled by default, as a table, and the entries that a user adds to it.

A name protects and never makes a process killable. An entry is left out for one run by naming it
(`allow_protected`), which the plan and the record show; gpudash itself, its ancestors and kernel
threads are no entries: nothing allows them.
"""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gpudash.core.holding import Process

COMM_BYTES = 15
"""The kernel keeps no more of a name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One entry: a process that any of its lists matches is protected."""

    name: str
    """What a run names to leave the entry out."""
    why: str
    """What breaks, or the reason that the user gave."""
    comms: tuple[str, ...] = ()
    """Whole names; the kernel's cut is minded."""
    units: tuple[str, ...] = ()
    """systemd units, `*` allowed."""
    exes: tuple[str, ...] = ()
    """Paths of executables; matched by their ends for what ships at several places."""
    cgroups: tuple[str, ...] = ()
    """Globs over the path of the control group."""
    uids: tuple[int, ...] = ()
    users: tuple[str, ...] = ()
    """Globs over logins; a number is one too."""
    command: str = ""
    """Regular expression over the command line; the configuration checked that it is one."""
    is_users_own: bool = False
    """From the configuration."""

    def matches(self, process: Process) -> bool:
        """Tell whether any list of this entry recognises the process."""
        return (
            self._has_unit(process.cgroup)
            or any(fnmatchcase(process.cgroup, glob) for glob in self.cgroups)
            or (process.exe_path is not None and self._has_exe(process.exe_path))
            or any(self._has_name(process, comm) for comm in self.comms)
            or process.identity.uid in self.uids
            or any(fnmatchcase(process.user, user) for user in self.users)
            or str(process.identity.uid) in self.users
            or bool(self.command and re.search(self.command, " ".join(process.argv)))
        )

    def _has_name(self, process: Process, comm: str) -> bool:
        if not self.is_users_own:
            return process.comm == comm[:COMM_BYTES]
        names = {process.comm, *(posixpath.basename(word) for word in process.argv[:1])}
        return process.comm == comm[:COMM_BYTES] or any(fnmatchcase(name, comm) for name in names)

    def _has_unit(self, cgroup: str) -> bool:
        steps = cgroup.split("/")
        return any(fnmatchcase(step, unit) for unit in self.units for step in steps)

    def _has_exe(self, path: str) -> bool:
        if self.is_users_own:
            return any(fnmatchcase(path, exe) for exe in self.exes)
        return any(path == exe or path.endswith("/" + exe) for exe in self.exes)


def _service(name: str, why: str, *comms: str, units: tuple[str, ...] = ()) -> Rule:
    """Make an entry of a program with its usual unit."""
    return Rule(
        name=name,
        why=why,
        comms=(name, *comms),
        units=units or (f"{name}.service",),
        exes=(f"bin/{name}",),
    )


SERVICES = (
    _service(
        "nv-fabricmanager",
        "new CUDA jobs fail without it, and running ones may be aborted",
        units=("nvidia-fabricmanager.service",),
    ),
    _service("nvlsm", "NVLink needs it", units=("nvlsm.service",)),
    _service(
        "nvidia-persistenced",
        "its end switches persistence off on all GPUs",
        units=("nvidia-persistenced.service",),
    ),
    _service("nvidia-imex", "memory domains across hosts need it"),
    Rule(
        name="nvidia-cuda-mps",
        why="all clients of its user end with it",
        comms=("nvidia-cuda-mps-control", "nvidia-cuda-mps-server"),
        units=("nvidia-mps.service", "nvidia-cuda-mps*.service"),
        exes=("bin/nvidia-cuda-mps-control", "bin/nvidia-cuda-mps-server"),
    ),
    _service("nvidia-powerd", "a laptop's power management"),
    _service(
        "nv-hostengine",
        "profiling counters are exclusive: exporters go stale",
        units=("nvidia-dcgm.service", "dcgm.service"),
    ),
    _service("dcgm-exporter", "SIGKILL froze a GPU in the field"),
    Rule(
        name="container runtime",
        why="containers depend on it",
        comms=(
            *("kubelet", "containerd", "containerd-shim", "containerd-shim-runc-v2", "dockerd"),
            *("crio", "conmon", "podman", "runc", "crun", "docker-init", "k3s", "k3s-server"),
            *("k3s-agent", "rke2", "k0s", "lxd", "incusd", "lxc-start", "libvirtd"),
        ),
        units=("kubelet.service", "docker.service", "containerd.service", "crio.service"),
    ),
    Rule(
        name="cluster agent",
        why="the cluster's view of this node depends on it",
        comms=(
            *("nvidia-device-plugin", "nvidia-mig-manager", "gpu-feature-discovery"),
            *("gpu-operator", "slurmd", "slurmstepd", "slurmctld", "sbatchd", "res", "pbs_mom"),
            *("condor_starter", "condor_master", "flux-broker"),
        ),
        units=("slurmd.service",),
    ),
    Rule(
        name="remote login",
        why="people come in through it",
        comms=(
            *("tailscaled", "teleport", "dropbear", "telnetd", "in.telnetd", "amazon-ssm-agent"),
            *("ssm-session-worker", "guacd", "cockpit-session", "cockpit-bridge", "etserver"),
        ),
    ),
    Rule(
        name="build agent",
        why="it starts jobs of others",
        comms=("gitlab-runner", "Runner.Listener", "Runner.Worker", "buildkite-agent"),
    ),
    Rule(
        name="supervisor",
        why="it starts again what it runs",
        comms=("supervisord", "s6-svscan", "s6-supervise", "runsvdir", "runsv", "circusd", "pm2"),
    ),
    Rule(
        name="system",
        why="the host's own",
        comms=("systemd", "systemd-logind", "sshd", "sshd-session", "dbus-daemon", "login", "init"),
    ),
)
DESKTOP = (
    Rule(
        name="desktop",
        why="it is the desktop, and all that was started from it ends with it",
        comms=(
            *("Xorg", "Xwayland", "gnome-shell", "mutter", "mutter-x11-fram", "kwin_wayland"),
            *("kwin_x11", "plasmashell", "sway", "Hyprland", "weston", "gdm", "gdm3", "sddm"),
            *("gdm-x-session", "gdm-wayland-session", "lightdm", "cosmic-comp"),
        ),
        units=("gdm*.service", "sddm.service", "lightdm.service", "display-manager.service"),
    ),
    Rule(
        name="remote desktop",
        why="somebody's remote screen",
        comms=(
            *("Xvnc", "Xtigervnc", "nxagent", "nxnode.bin", "vncserver", "x11vnc", "dcvserver"),
            *("dcvxgl", "sunshine", "xrdp", "xrdp-sesman"),
        ),
    ),
)
TOOLING = Rule(
    name="shells and tools",
    why="somebody works in it",
    comms=(
        *("sh", "bash", "dash", "zsh", "fish", "ksh", "csh", "tcsh", "ash"),
        *("tmux", "tmux: server", "tmux: client", "screen", "SCREEN", "zellij"),
        *(
            "jupyter-lab",
            "jupyter-notebook",
            "jupyter-server",
            "jupyterhub",
            "jupyterhub-singleuser",
        ),
        *("code", "code-server", "cursor-server", "wandb-core", "wandb-service", "tensorboard"),
    ),
    command=r"-m jupyter(?:lab|_server|hub)?\b|\bjupyter-(?:lab|notebook|server)\b|"
    r"vscode-server|cursor-server|debugpy[./]adapter|\bjupyterhub-singleuser\b",
)
BUILT_IN = (*SERVICES, *DESKTOP, TOOLING)

OBSERVERS = frozenset(
    name[:COMM_BYTES]
    for name in (
        *("nvidia-smi", "nvitop", "nvtop", "gpustat", "btop", "btop4win", "glances", "netdata"),
        *("telegraf", "node_exporter", "nvidia_gpu_exporter", "beszel-agent", "prometheus"),
        *("gpud", "nvidia-bug-report.sh", "gpudash", "nvidia-settings"),
    )
)
"""Known to read only; a name alone makes nobody an observer who holds memory."""


def is_observer_by_name(process: Process) -> bool:
    """Tell whether a process is called like one of the known monitors."""
    names = {process.comm}
    names.update(posixpath.basename(word)[:COMM_BYTES] for word in process.argv[:3])
    return bool(names & OBSERVERS)


def protecting_rule(
    process: Process, rules: tuple[Rule, ...], allowed: frozenset[str]
) -> Rule | None:
    """Return the entry that protects a process; entries named in `allowed` are left out."""
    for rule in (*rules, *BUILT_IN):
        if rule.name not in allowed and rule.matches(process):
            return rule
    return None
