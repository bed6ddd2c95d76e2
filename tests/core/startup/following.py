"""Feed logs to the tracker, and compare what it says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from gpudash.config.markers import load_catalog
from gpudash.core.startup.model import Arrived, Exited, LogEnded, Startup
from gpudash.core.startup.report import document
from gpudash.core.startup.tracker import Tracker, snapshot, step

FOLDER = Path(__file__).parents[2] / "data" / "startup-logs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.log"))
TIMELESS = frozenset({"start", "end", "seconds", "bar_100_at", "ready_at", "after_ready_s"})
"""What another clock before each line changes."""


def log_of(name: str) -> bytes:
    """Return a recorded log."""
    return (FOLDER / f"{name}.log").read_bytes()


def expected_of(name: str) -> dict[str, Any]:
    """Return what it should yield."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.expected.json").read_text())
    return found


def follow(chunks: Iterable[bytes], *, exit_code: int | None = None) -> Startup:
    """Feed chunks and the end of the log."""
    state = Tracker(catalog=load_catalog())
    for chunk in chunks:
        state, _ = step(state, Arrived(data=chunk, at_s=0.0))
    if exit_code is not None:
        state, _ = step(state, Exited(code=exit_code, at_s=0.0))
    state, _ = step(state, LogEnded(at_s=0.0))
    return snapshot(state)


def report_of(*chunks: bytes) -> dict[str, Any]:
    """Return the report of a log that came in these pieces."""
    return document(follow(chunks))


def pieces(data: bytes, sizes: Iterable[int]) -> list[bytes]:
    """Cut data at these distances; the rest is one piece."""
    found, at = [], 0
    for size in sizes:
        if at >= len(data):
            break
        found.append(data[at : at + size])
        at += size
    return [*found, data[at:]] if at < len(data) else found


def wrapped(data: bytes, before: Callable[[int], bytes], after: bytes = b"") -> bytes:
    """Put something before each line, and after."""
    lines = data.split(b"\n")
    last = lines.pop()
    made = [before(number) + line + after for number, line in enumerate(lines)]
    if last:
        made.append(before(len(made)) + last)
        return b"\n".join(made)
    return b"\n".join(made) + b"\n"


WRAPPERS: dict[str, Callable[[bytes], bytes]] = {
    "crlf": lambda data: wrapped(data, lambda _: b"", b"\r"),
    "docker compose": lambda data: wrapped(data, lambda _: b"engine-1  | "),
    "docker --timestamps": lambda data: wrapped(
        data, lambda n: b"2026-05-02T14:33:%02d.160173640Z " % (n % 60)
    ),
    "kubernetes": lambda data: wrapped(
        data, lambda n: b"2026-05-02T14:%02d:26.160173640+08:00 " % (n % 60)
    ),
    "kubernetes, crlf": lambda data: wrapped(
        data, lambda n: b"2026-05-02T14:%02d:26.160173640+08:00 " % (n % 60), b"\r"
    ),
    "journald": lambda data: wrapped(data, lambda _: b"May 12 12:56:57 gpu01 engine[195254]: "),
    "containerd's own files": lambda data: wrapped(
        data, lambda n: b"2026-05-02T14:%02d:26.160173640+08:00 stderr F " % (n % 60)
    ),
    "journalctl -o short-iso": lambda data: wrapped(
        data, lambda n: b"2026-05-02T14:%02d:26+0800 gpu01 engine[195254]: " % (n % 60)
    ),
    "journald of compose": lambda data: wrapped(
        data, lambda _: b"May 12 12:56:57 gpu01 compose[1]: engine-1  | "
    ),
}


def without_time(told: Any) -> Any:
    """Return a report without its times."""
    if isinstance(told, dict):
        return {key: without_time(value) for key, value in told.items() if key not in TIMELESS}
    if isinstance(told, list):
        return [without_time(value) for value in told]
    return told


def moved(report: dict[str, Any], lines: int) -> dict[str, Any]:
    """Return what a report says so many lines further down, of what a second run repeats."""

    def by(number: int | None) -> int | None:
        return None if number is None else number + lines

    failure = report["failure"]
    return {
        "engine": report["engine"],
        "phases": [
            {"name": p["name"], "start_line": by(p["start_line"]), "end_line": by(p["end_line"])}
            for p in report["phases"]
        ],
        "ready": report["ready"],
        "ready_line": by(report["ready_line"]),
        "failure": failure
        and {
            "kind": failure["kind"],
            "line": by(failure["line"]),
            "message": failure["message"],
        },
        "numbers": report["numbers"],
    }
