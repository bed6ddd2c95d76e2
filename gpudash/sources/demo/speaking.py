"""What every simulated program on a host shares: lines of the wire, an ack each, an end."""

from __future__ import annotations

import json
from typing import Any

from gpudash.sources.demo import closeups
from gpudash.sources.demo.machine import Machine
from gpudash.sources.demo.noise import key_of

TOKEN = "gpudash-demo"


def line(**fields: object) -> bytes:
    """Return one line of the wire."""
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def uptime_s(machine: Machine, at_s: float) -> float:
    """Return a host's monotonic time: it has been up for 20 to 60 days at the launch."""
    return 1_728_000 + key_of(machine.name, "boot") % 3_456_000 + at_s


class Program:
    """What both programs share: commands in, one ack each, an end."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._seq = 0
        self.has_ended = False

    def greeting(self, at_s: float) -> bytes:  # noqa: ARG002 (a sampler's hello has a time)
        """Return what comes first: the handshake token."""
        return TOKEN.encode() + b"\n"

    def answer(self, command: bytes, at_s: float) -> bytes:
        """Return the lines that answer one command line; nothing passes while it is silent."""
        if self._machine.silent_left_s(at_s) > 0:
            return b""
        order: dict[str, Any] = json.loads(command)
        return self._obey(order, at_s)

    def _obey(self, order: dict[str, Any], at_s: float) -> bytes:
        if order["do"] == "bye":
            return self._ack(order, at_s) + self._bye("asked to end", at_s)
        return self._ack(order, at_s, error=f"unknown command {str(order['do'])[:40]!r}")

    def _ack(self, order: dict[str, Any], at_s: float, *, error: str = "", **more: object) -> bytes:
        said = {"ok": True} if not error else {"ok": False, "error": error}
        return self._line(at_s, t="ack", id=order["id"], **said, **more)

    def _say(self, order: dict[str, Any], answer: closeups.Answer, at_s: float) -> bytes:
        """Return the lines of an answer, then its ack."""
        lines = [self._line(at_s, id=order["id"], **fields) for fields in answer.lines]
        return b"".join(lines) + self._ack(order, at_s, error=answer.error, **answer.more)

    def _bye(self, reason: str, at_s: float) -> bytes:
        self.has_ended = True
        return self._line(at_s, t="bye", reason=reason)

    def _line(self, at_s: float, **fields: object) -> bytes:
        kind = {"t": fields.pop("t"), "seq": self._seq}
        mono = round(uptime_s(self._machine, at_s), 3)
        return line(**kind, mono=mono, **fields)
