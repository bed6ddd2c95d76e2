"""How a simulated hand follows a log and asks a URL: what the real one says, from made text."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

from gpudash.sources.demo.acts import Launch, Scene
from gpudash.sources.demo.jobs import FAILED_S, READY_S
from gpudash.sources.demo.machine import Machine
from gpudash.sources.demo.noise import key_of, smooth

SIGNS_S = 1.0
PORT = ":30000"
PIECE_BYTES = 24_000
"""A line of the wire is at most 64 KiB."""
_READS_BPS = {"serve": 2.9e9, "oom": 3.6e9, "train": 1.4e9}
_LOADING_S = {"serve": (13.0, 49.5), "oom": (13.0, 36.5), "train": (10.5, 22.5)}


@dataclass(slots=True)
class Tail:
    """One log that is followed."""

    id: int
    launch: Launch
    offset: int
    next_signs_s: float
    is_new: bool = True
    is_over: bool = False


class Tails:
    """All logs that one simulated hand follows."""

    def __init__(self, machine: Machine) -> None:
        """Follow nothing yet."""
        self._machine = machine
        self._scene = next((one for one in machine.tenants if isinstance(one, Scene)), None)
        self._tails: dict[int, Tail] = {}

    def obey(self, command: dict[str, Any], at_s: float) -> tuple[list[dict[str, object]], str]:
        """Carry out a command; return what is told at once, and why it can't be done."""
        match command["do"]:
            case "tail":
                return [], self.begin(command, at_s)
            case "untail":
                return [], self.end(command)
            case _:
                return [self.asked(command, at_s)], ""

    def begin(self, command: dict[str, Any], at_s: float) -> str:
        """Follow what a command names; return why not, or nothing."""
        of = command.get("of")
        launch = self._scene.launch(at_s) if self._scene is not None else None
        pid = of.get("pid") if isinstance(of, dict) else None
        if launch is None or (pid is not None and pid not in launch.pids()):
            return "its output is no file here"
        start = command.get("from")
        offset = start if isinstance(start, int) else 0
        if start == "end":
            offset = len(launch.script.text(at_s - launch.began_s))
        self._tails[command["id"]] = Tail(command["id"], launch, offset, at_s)
        return ""

    def end(self, command: dict[str, Any]) -> str:
        """Follow one no longer."""
        return "" if self._tails.pop(command.get("tail", -1), None) else "no such tail"

    def due_s(self, at_s: float) -> float | None:
        """Return when there is something to tell."""
        due = [self._due_s(tail, at_s) for tail in self._tails.values() if not tail.is_over]
        return min(due, default=None)

    def _due_s(self, tail: Tail, at_s: float) -> float:
        if tail.is_new or len(tail.launch.script.text(at_s - tail.launch.began_s)) > tail.offset:
            return at_s
        written_s = tail.launch.script.due_s(at_s - tail.launch.began_s)
        due = [tail.next_signs_s]
        if written_s is not None and not self._is_gone(tail.launch, at_s):
            due.append(tail.launch.began_s + written_s)
        return min(due)

    def pump(self, at_s: float) -> list[dict[str, object]]:
        """Return the lines that are due, without what every line has."""
        lines: list[dict[str, object]] = []
        for tail in self._tails.values():
            if not tail.is_over:
                lines += self._told(tail, at_s)
        return lines

    def _told(self, tail: Tail, at_s: float) -> list[dict[str, object]]:
        launch = tail.launch
        until_s = at_s - launch.began_s
        ended_s = self._ended_s(launch)
        text = launch.script.text(min(until_s, ended_s - launch.began_s))
        lines = []
        inode = 1_000 + launch.number
        is_first, tail.is_new = tail.is_new, False
        if is_first:
            lines.append(self._line(tail, inode, note="opened", age=0.0, line=1))
        while tail.offset < len(text):
            part = text[tail.offset : tail.offset + PIECE_BYTES]
            lines.append(self._line(tail, inode, data=base64.b64encode(part).decode()))
            tail.offset += len(part)
        if is_first:
            lines.append(self._line(tail, inode, note="live"))
        if at_s >= tail.next_signs_s:
            tail.next_signs_s = at_s + SIGNS_S
            lines.append(self._line(tail, inode, signs=self._signs(launch, at_s)))
        return lines

    def _line(self, tail: Tail, inode: int, **fields: object) -> dict[str, object]:
        return {"t": "log", "id": tail.id, "inode": inode, "offset": tail.offset, **fields}

    def _signs(self, launch: Launch, at_s: float) -> dict[str, object]:
        after_s = at_s - launch.began_s
        pids = [pid for pid in launch.pids() if self._machine.deeds.ended_s(pid) > at_s]
        is_gone = self._is_gone(launch, at_s)
        if is_gone:
            pids = []
        begin, end = _LOADING_S[launch.job]
        loading_s = max(0.0, min(after_s, end) - begin)
        wobble = smooth(key_of(launch.number, "disk"), at_s, 3.0)
        read = int(loading_s * _READS_BPS[launch.job] + (2e8 * wobble if after_s < end else 0))
        cpu = 1.1 * min(after_s, begin) + 8.2 * loading_s + 2.0 * max(0.0, after_s - end)
        return {
            "pid": launch.pid,
            "gone": is_gone,
            "at": round(at_s, 3),
            "read": max(0, read),
            "cpu": round(max(0.0, cpu), 2),
            "pids": pids,
            "age": round(after_s, 2),
            "argv": list(launch.root().argv),
        }

    def _ended_s(self, launch: Launch) -> float:
        ended_s = self._machine.deeds.ended_s(launch.pid)
        return min(ended_s, launch.began_s + FAILED_S) if launch.is_doomed else ended_s

    def _is_gone(self, launch: Launch, at_s: float) -> bool:
        return at_s >= self._ended_s(launch)

    def asked(self, command: dict[str, Any], at_s: float) -> dict[str, object]:
        """Return what a URL answers: only the server's own port, once it listens."""
        launch = self._scene.launch(at_s) if self._scene is not None else None
        answer: dict[str, object] = {"t": "url", "id": command["id"], "status": None, "pids": []}
        listens_s = READY_S["serve"] - 5.0
        if launch is None or launch.job != "serve" or self._is_gone(launch, at_s):
            return answer | {"error": "refused"}
        after_s = at_s - launch.began_s
        if after_s < listens_s or PORT not in str(command.get("url")):
            return answer | {"error": "refused"}
        status = 200 if after_s >= READY_S["serve"] else 503
        return answer | {"status": status, "error": "", "pids": [launch.pid]}
