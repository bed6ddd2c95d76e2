"""Who keeps a process running: read from its control group, asked, and never gone around.

Killing what a manager runs is futile where it starts again, and rude where it does not. A manager
that can't be asked counts as alive. The room that gpudash itself is in is no manager. Containers
and units are stopped by their manager's own command after consent; the commands of Slurm and
Kubernetes are printed and never run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from gpudash.core.cleanup.doors import is_host_unit
from gpudash.core.cleanup.table import Table
from gpudash.core.holding import ManagerFacts, ManagerKind, Process

_POD = re.compile(r"kubepods.*?(?<!kube)pod([\w-]+)")
_DOCKER = re.compile(r"(?:/docker/|/docker-)([0-9a-f]{12,64})(?:\.scope)?")
_PODMAN = re.compile(r"libpod-(?:payload-|conmon-)?([0-9a-f]{12,64})(?:\.scope)?")
_SLURM = re.compile(r"(?:slurm[^/]*)(?:/.*)?/job_(\d+)(?:/step_([\w.]+))?")
_UNIT = re.compile(r"/([^/]+\.service)(?=/|$)")
_USER_ROOT = re.compile(r"/user@\d+\.service(?=/|$)")
CONTAINERS = (ManagerKind.DOCKER, ManagerKind.PODMAN, ManagerKind.KUBERNETES)
_SUPERVISORS = {
    "supervisord": "supervisord",
    "s6-supervise": "s6",
    "runsv": "runit",
    "pm2": "pm2",
    "PM2": "pm2",
    "circusd": "circus",
}
COMMAND_MARGIN_S = 10.0
"""On top of the manager's own timeout."""
_DEFAULT_TIMEOUT_S = {
    ManagerKind.DOCKER: 10.0,
    ManagerKind.PODMAN: 10.0,
    ManagerKind.UNIT: 90.0,
    ManagerKind.USER_UNIT: 90.0,
    ManagerKind.SUPERVISOR: 10.0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Manager:
    """Who keeps a family running."""

    kind: ManagerKind
    id: str
    """Unit, container id, pod uid, `JOB` or `JOB.STEP`, program."""
    name: str = ""
    """What people call it; the id where nothing better is known."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Its own way to stop this, in order; run one after the other, or printed."""
    is_run: bool = False
    """Whether the commands are run after consent; otherwise they are printed only."""
    timeout_s: float = 0.0
    """How long the commands may take."""
    restarts: bool | None = None
    is_asked: bool = False
    """Whether the manager itself said that it knows this."""
    is_gone: bool = False
    """It answered and knows this no more: what is left is a leftover of it."""
    is_hint: bool = False
    """Read from the environment only."""

    @property
    def words(self) -> str:
        """Return what it is, for a sentence: `systemd unit ollama.service`."""
        return f"{self.kind.value} {self.name or short_id(self.id)}"


def short_id(text: str) -> str:
    """Shorten a container's id as its runtime does."""
    return text[:12] if re.fullmatch(r"[0-9a-f]{64}", text) else text


def identified(process: Process, table: Table) -> tuple[ManagerKind, str, bool] | None:
    """Return kind and id of whoever runs a process, and whether that is only a hint."""
    group = process.cgroup
    hints = dict(process.hints)
    if pod := _POD.search(group):
        return ManagerKind.KUBERNETES, pod[1].replace("_", "-"), False
    if "kubepods" in group:
        return ManagerKind.KUBERNETES, group.rpartition("/")[2], False
    if container := _DOCKER.search(group):
        return ManagerKind.DOCKER, container[1], False
    if container := _PODMAN.search(group):
        return ManagerKind.PODMAN, container[1], False
    if job := _SLURM.search(group):
        return ManagerKind.SLURM, f"{job[1]}.{job[2]}" if job[2] else job[1], False
    if program := _supervised(process, table):
        return ManagerKind.SUPERVISOR, program, False
    if unit := _unit(group):
        return (*unit, False)
    job_id = hints.get("SLURM_JOB_ID", "")
    if job_id.isdigit():
        step = hints.get("SLURM_STEP_ID", "")
        return ManagerKind.SLURM, f"{job_id}.{step}" if step.isdigit() else job_id, True
    return None


def _unit(group: str) -> tuple[ManagerKind, str] | None:
    """Return the innermost unit that runs a program."""
    user = _USER_ROOT.search(group)
    kind = ManagerKind.USER_UNIT if user else ManagerKind.UNIT
    rest = group[user.end() :] if user else group
    units = [unit for unit in _UNIT.findall(rest) if not is_host_unit(unit)]
    # A desktop starts programs in scopes and services of its own slice: nobody's to stop.
    units = [unit for unit in units if not unit.startswith("app-gnome-")]
    return (kind, units[-1]) if units else None


def _supervised(process: Process, table: Table) -> str | None:
    chain = (process, *table.ancestors(process))
    for child, parent in pairwise(chain):
        tool = _SUPERVISORS.get(parent.comm.split(" ")[0])
        if tool == "supervisord":
            hints = dict(child.hints)
            program = hints.get("SUPERVISOR_PROCESS_NAME", "")
            group = hints.get("SUPERVISOR_GROUP_NAME", program)
            return f"{tool} {group}:{program}" if program else f"{tool} pid {parent.pid}"
        if tool:
            return f"{tool} {parent.cwd or f'pid {parent.pid}'}"
    return None


def questions(processes: Iterable[Process], table: Table) -> tuple[tuple[ManagerKind, str], ...]:
    """Return what the hand should ask managers about these processes, each once."""
    found = {
        _whole(what[0], what[1]) for process in processes if (what := identified(process, table))
    }
    return tuple(sorted(found, key=lambda what: (what[0].value, what[1])))


def own_rooms(table: Table) -> frozenset[tuple[ManagerKind, str]]:
    """Return the containers, units and jobs that gpudash itself runs in.

    Other probes are untouchable too and stand among its own, but their rooms are not ours.
    """
    own = (table.me, *table.ancestors(table.me)) if table.me else ()
    return frozenset(
        _whole(what[0], what[1]) for process in own if (what := identified(process, table))
    )


def _whole(kind: ManagerKind, name: str) -> tuple[ManagerKind, str]:
    """A step of a Slurm job is in the room of its job."""
    return kind, name.split(".")[0] if kind is ManagerKind.SLURM else name


def manager_of(process: Process, table: Table, answers: tuple[ManagerFacts, ...]) -> Manager | None:
    """Return who runs a process, with the commands to stop it; None for nobody, or our own room."""
    what = identified(process, table)
    if what is None or _whole(what[0], what[1]) in own_rooms(table):
        return None
    kind, name, is_hint = what
    told = _answer(kind, name, answers)
    if told is not None and not told.is_known and not _may_be_gone(process, table):
        # Another user's manager was asked: what it does not know may live in this one's.
        told = None
    timeout_s = _DEFAULT_TIMEOUT_S.get(kind, 0.0)
    if told is not None and told.stop_timeout_s is not None:
        timeout_s = told.stop_timeout_s
    commands = _commands(kind, name, told, timeout_s, dict(process.hints))
    return Manager(
        kind=kind,
        id=name,
        name=told.name if told else "",
        commands=commands,
        is_run=bool(commands)
        and kind in _RUN
        and not _is_unnamed(kind, name)
        and _is_ours_to_stop(kind, name, process, table),
        timeout_s=timeout_s + COMMAND_MARGIN_S,
        restarts=told.restarts if told else None,
        is_asked=told is not None,
        is_gone=told is not None and not told.is_known,
        is_hint=is_hint,
    )


def _answer(kind: ManagerKind, name: str, answers: tuple[ManagerFacts, ...]) -> ManagerFacts | None:
    """Return what was answered about exactly this, or about the job of a step."""
    for wanted in dict.fromkeys((name, _whole(kind, name)[1])):
        for one in answers:
            if one.kind is kind and one.id == wanted:
                return one
    return None


_RUN = frozenset(
    {
        ManagerKind.UNIT,
        ManagerKind.USER_UNIT,
        ManagerKind.DOCKER,
        ManagerKind.PODMAN,
        ManagerKind.SUPERVISOR,
    }
)


_OTHER_TREE = re.compile(r"\.(?:service|scope)(?:/|$)|lxc|lxd|nspawn|payload|docker|libpod")
_KEEPERS = frozenset({"conmon", "containerd-shim", "systemd", "dockerd", "containerd", "podman"})


def _may_be_gone(process: Process, table: Table) -> bool:
    """Tell whether nothing above a process speaks of a manager that still runs it."""
    above = (one for one in table.ancestors(process) if one.pid > 1)
    return not any(one.comm in _KEEPERS for one in above) and _is_own_manager(process, table)


def _is_own_manager(process: Process, table: Table) -> bool:
    """Tell whether the manager that is asked is the one of this control group's user."""
    owner = re.search(r"/user-(\d+)\.slice(?=/|$)|/user@(\d+)\.service(?=/|$)", process.cgroup)
    if owner is None:
        return True
    return table.me is not None and int(owner[1] or owner[2]) == table.me.identity.uid


def _is_ours_to_stop(kind: ManagerKind, name: str, process: Process, table: Table) -> bool:
    """Tell whether a command stops this and nothing else: its name is one, its manager is ours."""
    word = name.partition(" ")[2] if kind is ManagerKind.SUPERVISOR else name
    if word.startswith("-") or re.search(r"[*?\[\]\s]", word):
        return False
    if kind is ManagerKind.USER_UNIT and not _is_own_manager(process, table):
        return False
    if kind not in (ManagerKind.UNIT, ManagerKind.USER_UNIT):
        return True
    # Below a unit or a machine of its own the tree is not the one that systemctl speaks to.
    group = process.cgroup
    user = _USER_ROOT.search(group)
    rest = group[user.end() :] if user else group
    return not _OTHER_TREE.search(rest.partition(f"/{name}")[0])


def _is_unnamed(kind: ManagerKind, name: str) -> bool:
    """Tell whether no command names this program alone."""
    return kind is ManagerKind.SUPERVISOR and not name.startswith("supervisord ")


def _commands(
    kind: ManagerKind,
    name: str,
    told: ManagerFacts | None,
    timeout_s: float,
    hints: dict[str, str],
) -> tuple[tuple[str, ...], ...]:
    match kind:
        case ManagerKind.UNIT:
            return (("systemctl", "stop", name),)
        case ManagerKind.USER_UNIT:
            return (("systemctl", "--user", "stop", name),)
        case ManagerKind.DOCKER | ManagerKind.PODMAN:
            tool = "docker" if kind is ManagerKind.DOCKER else "podman"
            return ((tool, "stop", "-t", f"{timeout_s:.0f}", short_id(name)),)
        case ManagerKind.SLURM:
            return _scancel(name)
        case ManagerKind.KUBERNETES:
            return (_delete_pod(name, told, hints),)
        case ManagerKind.SUPERVISOR:
            return _stop_supervised(name)


def _scancel(name: str) -> tuple[tuple[str, ...], ...]:
    job = name.split(".")[0]
    return (("scancel", "--signal=TERM", name), ("scancel", job))


def _delete_pod(uid: str, told: ManagerFacts | None, hints: dict[str, str]) -> tuple[str, ...]:
    space, _, pod = (told.name if told else "").rpartition("/")
    pod = pod or hints.get("POD_NAME", "") or hints.get("HOSTNAME", "")
    space = space or hints.get("POD_NAMESPACE", "")
    if not pod:
        return ("crictl", "pods", "--label", f"io.kubernetes.pod.uid={uid}")
    return ("kubectl", *(("-n", space) if space else ()), "delete", "pod", pod)


def _stop_supervised(name: str) -> tuple[tuple[str, ...], ...]:
    tool, _, program = name.partition(" ")
    if program.startswith("pid "):
        return ()
    match tool:
        case "supervisord":
            return (("supervisorctl", "stop", program),)
        case "s6":
            return (("s6-svc", "-d", program),)
        case "runit":
            return (("sv", "stop", program),)
        case _:
            return ()
