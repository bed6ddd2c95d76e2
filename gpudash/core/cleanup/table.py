"""The processes of one scan as a tree, with what the driver says of each.

Reads a scan and a host's newest reading once, so that families, classes and the plan ask it
instead of searching lists. It decides one thing only: whether the driver's pids may be believed.
"""

from __future__ import annotations

from collections import defaultdict

from gpudash.core.families import BOUNDARIES, gpu_processes, pids_are_local
from gpudash.core.holders import can_compute
from gpudash.core.holding import Device, Existence, Process, Scan, is_probe
from gpudash.core.model import Gpu, Host, Kind
from gpudash.core.scope import normal_bus_id

SHELLS = frozenset(
    """
    sh bash dash zsh fish ksh csh tcsh ash
    ksh93 mksh oksh lksh yash xonsh nu elvish pwsh osh ysh
    """.split()  # noqa: SIM905
)
QUEUES = frozenset({"xargs", "make", "pueued", "tsp"})
"""They start one job after the other, each with words of its own."""
LOGINS = frozenset({"sshd", "sshd-session", "login", "tmux", "tmux: server", "screen", "SCREEN"})
REAPERS = frozenset(
    """
    systemd init tini dumb-init docker-init catatonit containerd-shim conmon s6-svscan
    """.split()  # noqa: SIM905
)
"""Who adopts orphans by trade; the names are cut as the kernel cuts them."""
CONTEXT_BYTES = 64 << 20
"""A context's own overhead makes the driver's sums fall short by so much for each process."""
_STOPS = BOUNDARIES | LOGINS | REAPERS | {"supervise", "s6-supervise", "runsv", "pm2", "circusd"}
_STOP_WORDS = (
    *("jupyterlab", "jupyter-lab", "jupyter-notebook", "jupyter-server", "jupyter_server"),
    *("jupyterhub-singleuser", "vscode-server", "cursor-server", "debugpy/adapter", "supervisord"),
    *("Apptainer runtime parent", "Singularity runtime parent"),
)

_IN_JAVA = ("com.intellij", "JetBrains", "pycharm", "jenkins", "agent.jar", "remoting.jar")
"""Of a development environment or a build agent, which start others' work."""


class Table:
    """One look at one host."""

    def __init__(self, host: Host, scan: Scan) -> None:
        self.host = host
        self.scan = scan
        self.processes = sorted(scan.processes, key=lambda process: process.pid)
        self.by_pid: dict[int, Process] = {process.pid: process for process in self.processes}
        self.children: dict[int, list[Process]] = defaultdict(list)
        for process in self.processes:
            self.children[process.parent].append(process)
        self.own = frozenset(scan.own)
        self.me = next((self.by_pid[pid] for pid in scan.own if pid in self.by_pid), None)
        facts = host.facts
        # The sampler's uid is the user's own; the hand may run under sudo.
        told = facts.uid if facts else None
        self.uid = told if told is not None else (self.me.identity.uid if self.me else None)
        self._existence = dict(scan.listed)
        self._gpu_of_name = _names_of_gpus(host)
        self._are_local = pids_are_local(host)
        self.used: dict[int, dict[str, int | None]] = defaultdict(dict)
        self.dead: dict[str, dict[int, int | None]] = defaultdict(dict)
        self.hidden: dict[str, dict[int, int | None]] = defaultdict(dict)
        self._read_lists()
        self.is_trusted = self._lists_are_true()
        self._kinds_of = self._kinds()

    # -- what the driver lists -----------------------------------------------------------------

    def _read_lists(self) -> None:
        for gpu in self.host.gpus:
            for pid, used in gpu_processes(gpu):
                existence = self._existence.get(pid)
                if not self._are_local or existence is Existence.FOREIGN:
                    self.hidden[gpu.info.key][pid] = used
                elif existence is Existence.DEAD or (existence is None and pid not in self.by_pid):
                    self.dead[gpu.info.key][pid] = used
                elif existence is Existence.HIDDEN:
                    self.hidden[gpu.info.key][pid] = used
                else:
                    self.used[pid][gpu.info.key] = used

    def _lists_are_true(self) -> bool:
        """Tell whether at most half of the listed living have no handle at all.

        A binding of another version than the driver shifted pids in the field (nvitop#75).
        """
        known = [self.by_pid[pid] for pid in self.used if pid in self.by_pid]
        readable = [process for process in known if process.is_readable]
        without = sum(not process.handles for process in readable)
        return 2 * without <= len(readable)

    def _kinds(self) -> dict[int, set[Kind]]:
        kinds: dict[int, set[Kind]] = defaultdict(set)
        for gpu in self.host.gpus:
            for process in (gpu.reading.processes or ()) if gpu.reading else ():
                kinds[process.pid] |= process.kinds
        return kinds

    def is_drawing(self, process: Process) -> bool:
        """Tell whether it only draws, or is a program of a desktop's session that also computes.

        What was started from a terminal of the desktop is somebody's job.
        """
        kinds = self._kinds_of.get(process.pid, set())
        if kinds == {Kind.GRAPHICS}:
            return True
        group = process.cgroup
        return Kind.GRAPHICS in kinds and "/app.slice/app-" in group and "vte-spawn" not in group

    def memory_of(self, pid: int) -> dict[str, int | None]:
        """Return GPU key and bytes of what the driver lists for a living pid, where credible."""
        return self.used.get(pid, {}) if self.is_trusted else {}

    def unexplained(self, gpu: Gpu) -> bool:
        """Tell whether there is memory, or may be, of nobody who is listed and seen."""
        reading, key = gpu.reading, gpu.info.key
        if self.dead.get(key) or self.hidden.get(key):
            return True
        known = [memory.get(key) for memory in self.used.values() if key in memory]
        if reading is None or reading.processes is None or not self.is_trusted:
            return reading is None or reading.used_bytes != 0
        if reading.used_bytes is None:
            return not known
        if None in known:
            return False
        gap = reading.used_bytes - sum(used or 0 for used in known)
        return gap > len(known) * CONTEXT_BYTES

    @property
    def sees_as_root(self) -> bool:
        """Tell whether root looked: what it can't read is the kernel's or init's."""
        return self.me is not None and self.me.identity.uid == 0

    # -- handles -------------------------------------------------------------------------------

    def gpu_handles(self, process: Process) -> frozenset[str]:
        """Return the keys of the GPUs that a process has open or mapped."""
        names = (handle.gpu for handle in process.handles if handle.device is Device.GPU)
        keys = (self._gpu_of_name.get(_name(gpu)) for gpu in names if gpu)
        return frozenset(key for key in keys if key)

    def could_hold(self, process: Process) -> bool:
        """Tell whether its handles are those of a program that computes.

        CUDA needs nvidia-uvm beside the GPU, and libcuda: a monitor may have the first. A stand-in
        device has no such companion, and of a mapping without a descriptor only the path is known.
        """
        if not self.gpu_handles(process):
            return False
        return (
            self.scan.is_simulated
            or can_compute(process)
            or any(handle.is_thread_only or not handle.count for handle in process.handles)
        )

    # -- the tree ------------------------------------------------------------------------------

    def parent(self, process: Process) -> Process | None:
        """Return the parent, if the scan has it and it is older."""
        parent = self.by_pid.get(process.parent)
        if parent is None or parent.identity.start_ticks > process.identity.start_ticks:
            return None
        return parent

    def ancestors(self, process: Process) -> tuple[Process, ...]:
        """Return everybody above a process, nearest first."""
        found: list[Process] = []
        seen = {process.pid}
        parent = self.parent(process)
        while parent is not None and parent.pid not in seen:
            seen.add(parent.pid)
            found.append(parent)
            parent = self.parent(parent)
        return tuple(found)

    def is_untouchable(self, process: Process) -> bool:
        """Tell whether nothing at all allows a signal: init, the kernel, gpudash and above."""
        return process.pid <= 1 or process.is_kernel or process.pid in self.own

    def is_adopted(self, process: Process, parent: Process) -> bool:
        """Tell whether the parent only took an orphan in (a subreaper is not seen otherwise).

        A child is in its parent's session and group or leads its own: one that is in those of
        somebody dead had another parent. Shells arrange groups for pipelines, so they don't count.
        """
        if parent.comm.lstrip("-") in SHELLS:
            return False
        return (
            process.session not in (parent.session, process.pid)
            and process.session not in self.by_pid
        ) or (process.group not in (parent.group, process.pid) and process.group not in self.by_pid)


INITS = frozenset(
    """
    systemd init tini docker-init dumb-init catatonit podman-init s6-svscan runit runsvdir pause
    sleep tail busybox openrc-init linuxrc procd
    """.split()  # noqa: SIM905
)
"""What stands at pid 1 and takes in orphans: inits, and what keeps an idle container open."""


def is_prompt_of(child: Process, parent: Process) -> bool:
    """Tell whether a child is a job of somebody's prompt, whatever that program is called.

    Who leads a session on a terminal and gives a child a group of its own in it does what a shell
    does with jobs. Launchers leave their workers in their own group, or in another session.
    """
    return (
        parent.terminal != 0
        and parent.session == parent.pid == parent.group
        and child.session == parent.session
        and child.group == child.pid
    )


def is_stop(process: Process) -> bool:
    """Tell whether a family ends below this process: a shell, a login, a service, a server of
    notebooks. It starts others' work and is no part of it."""
    if process.comm.lstrip("-") in _STOPS or is_probe(process):
        # A probe keeps what a gpudash launched, to learn its exit code.
        return True
    if process.comm == "java" and any(word in part for part in process.argv for word in _IN_JAVA):
        return True
    return any(word in part for part in process.argv[:4] for word in _STOP_WORDS)


def is_reaper(process: Process) -> bool:
    """Tell whether a process is known to adopt orphans, and starts nothing else by itself."""
    return process.comm in REAPERS or (process.pid <= 1 and process.comm in INITS)


def handle_names(host: Host, *, is_simulated: bool) -> dict[str, str]:
    """Return the name by which the hand's handles know each GPU, by the GPU's key."""
    return {
        info.key: info.bus_id if info.bus_id and not is_simulated else f"index-{info.index}"
        for info in (gpu.info for gpu in host.gpus)
    }


def _names_of_gpus(host: Host) -> dict[str, str]:
    names: dict[str, str] = {}
    for gpu in host.gpus:
        info = gpu.info
        names[f"index-{info.index}"] = info.key
        if info.bus_id:
            names[normal_bus_id(info.bus_id)] = info.key
    return names


def _name(text: str) -> str:
    return text if text.startswith("index-") else normal_bus_id(text)
