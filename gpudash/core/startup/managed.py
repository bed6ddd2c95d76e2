"""What managers tell of what they run: its pid, whether it runs, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from gpudash.core.startup.following import FollowSpec, LogSource
from gpudash.core.startup.loglines import LogPiece

_STATE = "{{.State.Running}} {{.State.Pid}} {{.State.ExitCode}} {{.State.OOMKilled}}"
_PROPERTIES = "ActiveState,SubState,MainPID,ExecMainCode,ExecMainStatus"
_POD = (
    "jsonpath={.status.phase}{range .status.containerStatuses[*]} {.restartCount}"
    ":{.state.terminated.exitCode}:{.lastState.terminated.exitCode}"
    ":{.state.terminated.reason}{end}"
)
_KILLED = frozenset({"2", "3"})
"""CLD_KILLED and CLD_DUMPED: the status is a signal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Managed:
    """A container or a unit, as its manager has it now."""

    is_running: bool
    pid: int | None = None
    code: int | None = None
    """Of the run that ended; negative: by that signal."""
    words: str = ""
    restarts: int = 0
    last_code: int | None = None
    """Of the run before this one."""


def question_of(source: LogSource) -> list[str] | None:
    """Return the command that asks, or None where nobody can be asked."""
    match source.kind:
        case "container":
            return ["docker", "inspect", "--format", _STATE, source.value]
        case "podman":
            return ["podman", "inspect", "--format", _STATE, source.value]
        case "unit":
            return ["systemctl", "show", "--property", _PROPERTIES, "--", source.value]
        case "pod":
            space, _, pod = source.value.rpartition("/")
            where = ["--namespace", space] if space else []
            return ["kubectl", "get", "pod", *where, pod, "--output", _POD]
        case _:
            return None


def is_pending(spec: FollowSpec, piece: LogPiece) -> bool:
    """Tell whether a manager is to say what the end of a log means."""
    is_managed = question_of(spec.source) is not None and not spec.is_finished
    return is_managed and piece.note == "ended"


def managed_of(source: LogSource, code: int | None, text: str) -> Managed | None:
    """Return what an answer says; None where it says nothing."""
    if code != 0 or not text.strip():
        return None
    if source.kind == "pod":
        return _of_pod(text)
    return _of_unit(text) if source.kind == "unit" else _of_container(text)


def _of_pod(text: str) -> Managed | None:
    """Read phase and, of each container, restarts, exit code, the last one's and why."""
    phase, *containers = text.split()
    rows = [row for one in containers if len(row := one.split(":")) == 4 and row[0].isdigit()]
    if not rows:
        return Managed(is_running=True) if phase in ("Pending", "Running") else None
    codes = [int(row[1]) for row in rows if row[1].lstrip("-").isdigit()]
    last = [int(row[2]) for row in rows if row[2].lstrip("-").isdigit()]
    restarts = sum(int(row[0]) for row in rows)
    if phase == "Running" and len(codes) < len(rows):
        last_code = max(last, default=None)
        return Managed(is_running=True, restarts=restarts, last_code=last_code)
    why = "; ".join(row[3] for row in rows if row[3] and row[3] != "Completed")
    code = max(codes, default=None)
    return Managed(is_running=code is None, code=code, words=why, restarts=restarts)


def _of_container(text: str) -> Managed | None:
    words = text.split()
    if len(words) != 4 or not words[1].isdigit() or not words[2].lstrip("-").isdigit():
        return None
    if words[0] == "true":
        return Managed(is_running=True, pid=int(words[1]) or None)
    killed = "the kernel's OOM killer ended it" if words[3] == "true" else ""
    return Managed(is_running=False, code=int(words[2]), words=killed)


def _of_unit(text: str) -> Managed | None:
    found = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    state, pid = found.get("ActiveState"), found.get("MainPID", "")
    if state is None or not pid.isdigit():
        return None
    if state in ("active", "activating", "reloading", "deactivating") and int(pid):
        return Managed(is_running=True, pid=int(pid))
    status = found.get("ExecMainStatus", "")
    code = int(status) if status.isdigit() else None
    if code is not None and found.get("ExecMainCode") in _KILLED:
        code = -code
    return Managed(is_running=state in ("activating", "reloading"), code=code)
