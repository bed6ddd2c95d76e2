"""A scan's lines, from JSON to a value: it is whole or it is none.

A scan is longer than a line may be, so it comes in numbered parts, the last one with everything
that is not about one process. A part that is missing, repeated or of another scan drops it all.
"""

from __future__ import annotations

from typing import Any

from gpudash.core.checked import (
    InvalidLine,
    a_count,
    a_list,
    a_number,
    a_text,
    an_object,
    maybe_count,
    maybe_text,
)
from gpudash.core.events import Scanned
from gpudash.core.holding import Device, Existence, Handle, Identity, Process, Scan, is_probe

MAX_PARTS = 256
"""Of at most 64 KiB each; ten thousand processes take about a hundred."""
_THREADED = 1
_BY_PATH = 2


class ScanParts:
    """Joins the parts of one scan after the other."""

    def __init__(self) -> None:
        self._id = -1
        self._next = 0
        self._processes: list[Process] = []

    def take(self, value: dict[str, Any]) -> Scanned | None:
        """Take one part; return the scan with the last one. Raises InvalidLine, and begins anew."""
        try:
            return self._take(value)
        except InvalidLine:
            self._forget()
            raise

    def _forget(self) -> None:
        self._id, self._next, self._processes = -1, 0, []

    def _take(self, value: dict[str, Any]) -> Scanned | None:
        scan_id, part = a_count(value.get("id"), "id"), a_count(value.get("part"), "part")
        if part == 0:
            self._forget()
            self._id = scan_id
        if scan_id != self._id or part != self._next or part >= MAX_PARTS:
            raise InvalidLine("a scan is not complete")
        self._next += 1
        self._processes += [process_of(row) for row in a_list(value.get("rows"), "rows")]
        if value.get("last") is not True:
            return None
        scan = _scan(value, tuple(self._processes))
        self._forget()
        return Scanned(id=scan_id, scan=scan)


def _scan(value: dict[str, Any], processes: tuple[Process, ...]) -> Scan:
    own = _counts(value.get("own"), "own")
    return Scan(
        host_monotonic_s=a_number(value.get("mono"), "mono"),
        took_s=a_number(value.get("took"), "took"),
        boot_id=maybe_text(value.get("boot"), "boot"),
        processes=tuple(sorted(processes, key=lambda process: process.pid)),
        is_whole=value.get("whole") is True,
        seen=a_count(value.get("seen"), "seen"),
        unreadable=a_count(value.get("unreadable"), "unreadable"),
        listed=tuple(_fate(row) for row in a_list(value.get("listed"), "listed")),
        own=(*own, *(one.pid for one in processes if is_probe(one) and one.pid not in own)),
        pid_namespace=maybe_count(value.get("pidns"), "pidns"),
        is_initial_namespace=value.get("initial") is True,
        is_simulated=value.get("simulated") is True,
        has_maps=value.get("maps") is True,
        notes=tuple(a_text(note, "a note") for note in a_list(value.get("notes"), "notes")),
    )


def _counts(value: object, what: str) -> tuple[int, ...]:
    return tuple(a_count(number, what) for number in a_list(value, what))


def _items(value: object, number: int, what: str) -> list[Any]:
    items = a_list(value, what)
    if len(items) != number:
        raise InvalidLine(f"{what} has not {number} items")
    return items


def _fate(value: object) -> tuple[int, Existence]:
    pid, word = _items(value, 2, "a fate")
    try:
        return a_count(pid, "pid"), Existence(word)
    except ValueError as error:
        raise InvalidLine("an unknown fate") from error


def process_of(value: object) -> Process:
    """Return one process of a scan. Raises InvalidLine."""
    row = an_object(value)
    exe = row.get("exe")
    hints = an_object(row.get("env"))
    return Process(
        identity=Identity(
            pid=a_count(row.get("pid"), "pid", least=1),
            start_ticks=a_count(row.get("start"), "start"),
            uid=a_count(row.get("uid"), "uid"),
            exe=None if exe is None else _file(exe),
        ),
        parent=a_count(row.get("ppid"), "ppid"),
        group=a_count(row.get("pgrp"), "pgrp"),
        session=a_count(row.get("sid"), "sid"),
        terminal=a_count(row.get("tty"), "tty"),
        user=a_text(row.get("user"), "user"),
        comm=a_text(row.get("comm"), "comm"),
        argv=tuple(a_text(word, "argv") for word in a_list(row.get("argv"), "argv")),
        exe_path=maybe_text(row.get("path"), "path"),
        cwd=maybe_text(row.get("cwd"), "cwd"),
        state=a_text(row.get("state"), "state")[:1],
        threads=a_count(row.get("threads"), "threads"),
        age_s=a_number(row.get("age"), "age"),
        cpu_ticks=a_count(row.get("cpu"), "cpu"),
        rss_bytes=maybe_count(row.get("rss"), "rss"),
        cgroup=a_text(row.get("cgroup"), "cgroup"),
        pid_namespace=maybe_count(row.get("pidns"), "pidns"),
        namespace_pids=_counts(row.get("nspid"), "nspid"),
        login_session=maybe_count(row.get("login"), "login"),
        hints=tuple(sorted((a_text(k, "env"), a_text(v, "env")) for k, v in hints.items())),
        ports=_counts(row.get("ports"), "ports"),
        clients=a_count(row.get("clients"), "clients"),
        handles=tuple(_handle(item) for item in a_list(row.get("handles"), "handles")),
        is_readable=row.get("readable") is True,
        has_cuda=row.get("cuda") if isinstance(row.get("cuda"), bool) else None,
        is_kernel=row.get("kernel") is True,
        tracer=a_count(row.get("tracer", 0), "tracer"),
        blocked=a_count(row.get("blocked", 0), "blocked"),
        locked_bytes=maybe_count(row.get("locked"), "locked"),
        cpu_share=_maybe_number(row.get("share"), "share"),
        log_age_s=_maybe_number(row.get("log"), "log"),
        recent_clients=a_count(row.get("recent", 0), "recent"),
        is_saving=row.get("saving") is True,
        links=tuple(a_text(link, "a link") for link in a_list(row.get("links", []), "links")),
    )


def _maybe_number(value: object, what: str) -> float | None:
    return None if value is None else a_number(value, what)


def _file(value: object) -> tuple[int, int]:
    device, inode = _items(value, 2, "exe")
    return a_count(device, "device"), a_count(inode, "inode")


def _handle(value: object) -> Handle:
    kind, gpu, count, flags = _items(value, 4, "a handle")
    bits = a_count(flags, "flags")
    try:
        device = Device(kind)
    except ValueError as error:
        raise InvalidLine("an unknown device") from error
    return Handle(
        device=device,
        gpu=maybe_text(gpu, "gpu"),
        count=a_count(count, "count"),
        is_thread_only=bool(bits & _THREADED),
        is_path_only=bool(bits & _BY_PATH),
    )
