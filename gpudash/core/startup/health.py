"""Which health URL is asked, when and how often, and what its answer counts for.

SGLang from 0.5 on makes a token for `/health` and takes over a second for it, so its cheap `/ready`
comes first and answers may take long. Before the server listens nobody is asked. A URL that nobody
named is a guess: only an answer counts then, never a refusal, and none from another's port.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpudash.core.startup.loglines import UrlAnswer
from gpudash.core.startup.model import ProbeHealth, Startup

_SLOW = {"sglang": (5.0, 25.0)}
_USUAL = (2.0, 3.0)
_UNKNOWN_S = 5.0
"""Between two tries where the engine tells nothing."""
_CHEAP_FIRST = {"sglang": ("/ready", "/health")}
OK = 200
NOT_FOUND = 404
_SAYS_NOTHING = frozenset({401, 403, 404, 405})
_REACHABLE = frozenset({"path", "pid", "unit", "pane"})
"""Logs of processes whose ports are the host's own; a container's are its own or mapped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What is known of asking."""

    named: str | None = None
    """The URL that the user named."""
    kind: str = "path"
    """Of the log's source."""
    is_listening: bool = False
    paths: tuple[str, ...] = ()
    port: int | None = None
    asked_s: float | None = None
    refused_paths: frozenset[str] = frozenset()
    """They are not there."""
    words: str = ""
    """The newest answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One URL to ask now."""

    url: str
    timeout_s: float


def listening(health: Health, effect: ProbeHealth) -> Health:
    """Take that the server listens, or will soon."""
    return replace(health, is_listening=True, paths=effect.paths, port=effect.port)


def restarted(health: Health) -> Health:
    """A new run has begun: it does not listen yet."""
    return Health(named=health.named, kind=health.kind)


def url_of(health: Health, startup: Startup) -> str | None:
    """Return what would be asked, or None."""
    if health.named is not None:
        return health.named
    if health.port is None or health.kind not in _REACHABLE:
        return None
    paths = _CHEAP_FIRST.get(startup.engine or "", health.paths)
    left = [path for path in paths if path not in health.refused_paths]
    return f"http://127.0.0.1:{health.port}{left[0]}" if left else None


def due(health: Health, startup: Startup, now_s: float) -> Question | None:
    """Return what to ask now; nothing once it is ready, failed, or before it listens."""
    if startup.ready_basis or startup.failure is not None:
        return None
    url = url_of(health, startup)
    if url is None:
        return None
    knows_engine = startup.engine not in (None, "generic")
    if knows_engine and not health.is_listening and startup.ready_line is None:
        return None
    interval_s, timeout_s = _SLOW.get(startup.engine or "", _USUAL)
    interval_s = interval_s if knows_engine else _UNKNOWN_S
    if health.asked_s is not None and now_s - health.asked_s < interval_s:
        return None
    return Question(url=url, timeout_s=timeout_s)


def asked(health: Health, now_s: float) -> Health:
    """Take that a question was put."""
    return replace(health, asked_s=now_s)


def answered(
    health: Health, url: str, answer: UrlAnswer, own: frozenset[int] | None
) -> tuple[Health, int | None, bool]:
    """Return what is known then, the status, and whether it counts.

    `own` are the pids of the start-up; None where they are not known.
    """
    where = url.partition("://")[2].partition("?")[0]
    path = where[where.find("/") :] if "/" in where else "/"
    is_ours_to_tell = health.kind in _REACHABLE and own and answer.pids
    foreign = is_ours_to_tell and not answer.pids & (own or frozenset())
    if foreign:
        pids = ", ".join(str(pid) for pid in sorted(answer.pids))
        words = f"{where} is another process's: pid {pids}"
        return replace(health, words=words), None, health.named is not None
    said = f"answers {answer.status}" if answer.status is not None else answer.error
    health = replace(health, words=f"{where} {said}")
    if health.named is not None:
        return health, answer.status, True
    if answer.status == NOT_FOUND:
        return replace(health, refused_paths=health.refused_paths | {path}), None, False
    counts = answer.status is not None and answer.status not in _SAYS_NOTHING
    return health, answer.status, counts
