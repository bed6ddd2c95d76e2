"""How managers are asked about their own, and what their answers mean.

A manager that is not there, hangs, or says what nobody understands is one that can't be asked:
then there are no facts, and what it runs counts as alive.
"""

from __future__ import annotations

import json
import re

from gpudash.core.cleanup.managing import short_id
from gpudash.core.holding import ManagerFacts, ManagerKind
from gpudash.core.names import clean_text

Question = tuple[ManagerKind, str]
_SHOW = "--property=LoadState,ActiveState,Restart,TimeoutStopUSec"
_FORMAT = "{{json .Name}} {{json .State.Running}} {{json .HostConfig.RestartPolicy.Name}}"
_NO_SUCH_CONTAINER = re.compile(r"no such (?:object|container)", re.IGNORECASE)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(min|ms|us|s|h)")
_SECONDS = {"h": 3600.0, "min": 60.0, "s": 1.0, "ms": 0.001, "us": 1e-6}


def words_for(question: Question) -> tuple[str, ...]:
    """Return the command that asks; () where there is none to ask."""
    kind, name = question
    match kind:
        case ManagerKind.UNIT:
            return ("systemctl", "show", _SHOW, "--", name)
        case ManagerKind.USER_UNIT:
            return ("systemctl", "--user", "show", _SHOW, "--", name)
        case ManagerKind.DOCKER | ManagerKind.PODMAN:
            tool = "docker" if kind is ManagerKind.DOCKER else "podman"
            return (
                tool,
                "inspect",
                "--format",
                f"{_FORMAT} {{{{json .Config.StopTimeout}}}}",
                name,
            )
        case ManagerKind.SLURM:
            return ("squeue", "-h", "-j", name, "-o", "%T")
        case ManagerKind.KUBERNETES:
            label = f"io.kubernetes.pod.uid={name}"
            return ("crictl", "pods", "-o", "json", "--label", label)
        case ManagerKind.SUPERVISOR:
            tool, _, program = name.partition(" ")
            is_named = tool == "supervisord" and not program.startswith("pid ")
            return ("supervisorctl", "status", program) if is_named else ()


def facts_of(question: Question, code: int | None, text: str) -> ManagerFacts | None:
    """Return what an answer means; None where the manager can't be asked.

    `code` is the exit code of the command, 126 or 127 where it could not be started, None where it
    took too long.
    """
    if code in (None, 126, 127):
        return None
    assert code is not None
    kind, name = question
    match kind:
        case ManagerKind.UNIT | ManagerKind.USER_UNIT:
            return _unit(question, text) if code == 0 else None
        case ManagerKind.DOCKER | ManagerKind.PODMAN:
            return _container(question, code, text)
        case ManagerKind.SLURM:
            return _job(question, code, text)
        case ManagerKind.KUBERNETES:
            return _pod(question, text) if code == 0 else None
        case ManagerKind.SUPERVISOR:
            is_known = "no such process" not in text.lower() and bool(text.strip())
            return ManagerFacts(kind=kind, id=name, is_known=is_known, restarts=is_known or None)


def _unit(question: Question, text: str) -> ManagerFacts | None:
    told = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    if not told.get("LoadState"):
        return None
    is_known = told["LoadState"] == "loaded" and told.get("ActiveState") != "inactive"
    restart = told.get("Restart")
    return ManagerFacts(
        kind=question[0],
        id=question[1],
        is_known=is_known,
        restarts=None if not restart else restart != "no",
        stop_timeout_s=_span(told.get("TimeoutStopUSec", "")),
    )


def _span(text: str) -> float | None:
    """Return seconds of systemd's `1min 30s`; None for `infinity` and what is none."""
    parts = _SPAN.findall(text)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts) if parts else None


def _container(question: Question, code: int, text: str) -> ManagerFacts | None:
    if code != 0:
        # inspect fails for one that is gone and for a daemon that is: only the words tell.
        is_gone = _NO_SUCH_CONTAINER.search(text) is not None
        return ManagerFacts(kind=question[0], id=question[1], is_known=False) if is_gone else None
    text = "\n".join(line for line in text.splitlines() if line.startswith('"'))
    decoder = json.JSONDecoder()
    values: list[object] = []
    rest = text.strip()
    try:
        while rest:
            value, end = decoder.raw_decode(rest)
            values.append(value)
            rest = rest[end:].strip()
    except ValueError:
        return None
    if len(values) < 3:
        return None
    name, is_running, policy = values[:3]
    timeout = values[3] if len(values) > 3 else None
    return ManagerFacts(
        kind=question[0],
        id=question[1],
        is_known=is_running is True,
        restarts=isinstance(policy, str) and policy not in ("", "no"),
        stop_timeout_s=float(timeout) if isinstance(timeout, int) else None,
        name=clean_text(str(name).lstrip("/") or short_id(question[1]), 64),
    )


def _job(question: Question, code: int, text: str) -> ManagerFacts | None:
    if code != 0 and "invalid job id" in text.lower():
        return ManagerFacts(kind=question[0], id=question[1], is_known=False)
    if code != 0:
        return None
    return ManagerFacts(kind=question[0], id=question[1], is_known=bool(text.strip()))


def _pod(question: Question, text: str) -> ManagerFacts | None:
    try:
        items = json.loads(text[text.find("{") :]).get("items", [])
        if not items:
            return ManagerFacts(kind=question[0], id=question[1], is_known=False)
        meta = items[0]["metadata"]
        name = f"{meta['namespace']}/{meta['name']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return ManagerFacts(
        kind=question[0], id=question[1], is_known=True, restarts=True, name=clean_text(name, 128)
    )
