"""What runs on a simulated host: a sampler and a hand that speak the wire in bytes.

Demo time comes in as an argument; the same calls give the same bytes. What a real probe does not
say (`simulated`) is said in the hello, and never left out.
"""

from __future__ import annotations

from typing import Any

from gpudash.core import nvml
from gpudash.core.families import INITIAL_PID_NAMESPACE
from gpudash.core.wire import PROTOCOL
from gpudash.sources.demo import closeups
from gpudash.sources.demo.closeups import ROWS_A_LINE
from gpudash.sources.demo.machine import H200, MIB, Holding, Instant, Machine, Slice
from gpudash.sources.demo.scans import TICKS_A_SECOND, rest_of, roster_entry, rows_of
from gpudash.sources.demo.speaking import TOKEN as TOKEN
from gpudash.sources.demo.speaking import Program
from gpudash.sources.demo.speaking import uptime_s as uptime_s
from gpudash.sources.demo.tailing import Tails
from gpudash.sources.demo.tasks import Task

LEAST_INTERVAL_S, MOST_INTERVAL_S = 0.05, 3600.0


class Sampler(Program):
    """Tells the GPUs, one line a tick; a fault once the driver hangs, nothing while silent."""

    def __init__(self, machine: Machine, interval_s: float) -> None:
        super().__init__(machine)
        self.interval_s = interval_s

    def greeting(self, at_s: float) -> bytes:
        """Return token and hello, or the fault that ends it where there is no driver."""
        opening = super().greeting(at_s)
        code = self._machine.driver_code
        if code is not None:
            self.has_ended = True
            return opening + self._line(at_s, t="fault", call="nvmlInit_v2", code=code, fatal=True)
        return opening + self._hello(at_s)

    def _hello(self, at_s: float) -> bytes:
        machine = self._machine
        kind = machine.boards[0] if machine.boards else H200
        roster = [roster_entry(machine, gpu) for gpu in range(len(machine.boards))]
        return self._line(
            at_s,
            t="hello",
            v=PROTOCOL,
            interval=self.interval_s,
            source="demo",
            simulated=True,
            python="3.12.3",
            driver=kind.driver,
            nvml=kind.nvml,
            boot=machine.identity("boot"),
            uid=0,
            pidns=INITIAL_PID_NAMESPACE,
            unsupported=[],
            roster=roster,
        )

    def tick(self, at_s: float) -> bytes:
        """Return the line of one tick; none while the host is silent."""
        self._seq += 1
        machine = self._machine
        if machine.silent_left_s(at_s) > 0:
            return b""
        if machine.hangs_from_s is not None and at_s >= machine.hangs_from_s:
            hung_s = round(at_s - machine.hangs_from_s, 3)
            call = "nvmlDeviceGetMemoryInfo"
            return self._line(at_s, t="fault", call=call, gpu=2, code=None, hung=hung_s)
        gpus = [self._reading(gpu, now) for gpu, now in enumerate(machine.instants(at_s))]
        return self._line(at_s, t="sample", gpus=gpus)

    def _reading(self, gpu: int, now: Instant | None) -> object:
        if now is None:
            return {"e": nvml.GPU_IS_LOST}
        slices = [piece for piece in self._machine.slices if piece.gpu == gpu]
        utilisation: object = {"e": nvml.NOT_SUPPORTED} if slices else now.utilisation_pct
        reading = [
            now.used_bytes,
            utilisation,
            now.power_mw,
            now.temperature_c,
            now.sm_clock_mhz,
            now.throttle_bits,
            now.pstate,
            now.recovery_action,
            [_row(held) for held in now.holdings if held.instance is None],
        ]
        if not slices:
            return reading
        return [*reading, [self._slice(piece, now) for piece in slices]]

    def _slice(self, piece: Slice, now: Instant) -> dict[str, object]:
        held = [holding for holding in now.holdings if holding.instance == piece.instance]
        return {
            "gi": piece.instance,
            "ci": 0,
            "uuid": f"MIG-{self._machine.identity('mig', piece.gpu * 16 + piece.instance)}",
            "profile": piece.profile,
            "used": sum(holding.mib for holding in held) * MIB,
            "total": piece.total_mib * MIB,
            "procs": [_row(holding) for holding in held],
        }

    def _obey(self, order: dict[str, Any], at_s: float) -> bytes:
        match order["do"]:
            case "rate":
                return self._rate(order, at_s)
            case "once":
                return self._ack(order, at_s) + self.tick(at_s)
            case "detail":
                return self._say(order, closeups.detail(self._machine, order, at_s), at_s)
            case "release":
                return self._ack(order, at_s) + self._bye("driver released", at_s)
        return super()._obey(order, at_s)

    def _rate(self, order: dict[str, Any], at_s: float) -> bytes:
        wanted: object = order.get("interval")
        if isinstance(wanted, bool) or not isinstance(wanted, (int, float)):
            return self._ack(order, at_s, error="interval is not a number of seconds")
        if not LEAST_INTERVAL_S <= wanted <= MOST_INTERVAL_S:
            return self._ack(order, at_s, error="interval is out of bounds")
        self.interval_s = float(wanted)
        return self._ack(order, at_s)


class Hand(Program):
    """Answers about processes and carries orders; unasked it only reports on these."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self._follows: dict[str, int] = {}
        """Number of the next report that it passes on, by run."""
        self._tails = Tails(machine)

    def due_s(self, now_s: float) -> float | None:
        """Return when it has something to report; None while nothing is to come."""
        deeds = self._machine.deeds
        due = [deeds.due_s(run, first) for run, first in self._follows.items()]
        due.append(self._tails.due_s(now_s))
        return min((at_s for at_s in due if at_s is not None), default=None)

    def pump(self, at_s: float) -> bytes:
        """Return the reports that were made until now."""
        lines = []
        for run, first in self._follows.items():
            if not self._machine.deeds.knows(run):
                continue
            for number, said in self._machine.deeds.reports(run, first, at_s):
                at = round(uptime_s(self._machine, said.at_s), 3)
                report = {"n": number, "at": at, "what": said.what}
                lines.append(self._line(at_s, t="order", run=run, **report, **said.more))
                self._follows[run] = number + 1
        lines += [self._line(at_s, **told) for told in self._tails.pump(at_s)]
        return b"".join(lines)

    def _obey(self, order: dict[str, Any], at_s: float) -> bytes:
        match order["do"]:
            case "process":
                return self._processes(order, at_s)
            case "scan":
                return self._scan(order, at_s)
            case "leavings" | "kindred" | "environment":
                booted_s = -uptime_s(self._machine, 0.0)
                answer = closeups.answer(self._machine, order, at_s, booted_s)
                return self._say(order, answer, at_s)
            case "order" | "report" | "abort":
                return self._carry(order, at_s)
            case "tail" | "untail" | "url":
                told, error = self._tails.obey(order, at_s)
                said = b"".join(self._line(at_s, **one) for one in told)
                return said + self._ack(order, at_s, error=error) + self.pump(at_s)
        return super()._obey(order, at_s)

    def _carry(self, command: dict[str, Any], at_s: float) -> bytes:
        deeds, run = self._machine.deeds, str(command.get("run", ""))
        if command["do"] == "order":
            order: dict[str, Any] = command["order"]
            run = str(order["run"])
            error = deeds.take(order, at_s, self._machine.dying(at_s), uptime_s(self._machine, 0.0))
            if not error:
                self._follows.setdefault(run, 0)
        elif not deeds.knows(run):
            error = f"nothing of {run} is kept here"
        elif command["do"] == "abort":
            error = deeds.abort(run, at_s)
        else:
            error, self._follows[run] = "", int(command.get("from") or 0)
        answer = self._ack(command, at_s, error=error) + self.pump(at_s)
        if command.get("drop") and not error:
            deeds.drop(run)
            del self._follows[run]
        return answer

    def _processes(self, order: dict[str, Any], at_s: float) -> bytes:
        pids = order.get("pids")
        if not isinstance(pids, list) or any(type(pid) is not int for pid in pids):
            return self._ack(order, at_s, error="pids is not a list of whole numbers")
        known, told = self._machine.tasks(at_s), order.get("known") or ()
        rows = [self._process(known[pid], at_s) for pid in pids if pid in known]
        rows = [row for row in rows if [row["pid"], row["start"], row["state"]] not in told]
        gone = [pid for pid in pids if pid not in known]
        parts = [rows[start : start + ROWS_A_LINE] for start in range(0, len(rows), ROWS_A_LINE)]
        *first, last = parts or [[]]
        lines = [self._ack(order, at_s, processes=part, more=True) for part in first]
        return b"".join(lines) + self._ack(order, at_s, processes=last, gone=gone)

    def _scan(self, order: dict[str, Any], at_s: float) -> bytes:
        pids = order.get("pids", [])
        if not isinstance(pids, list) or any(type(pid) is not int for pid in pids):
            return self._ack(order, at_s, error="pids is not a list of whole numbers")
        whole = bool(order.get("all"))
        booted_s = at_s - uptime_s(self._machine, at_s)
        rows = rows_of(self._machine, at_s, booted_s, is_whole=whole)
        parts = [rows[start : start + ROWS_A_LINE] for start in range(0, len(rows), ROWS_A_LINE)]
        lines = [
            self._line(at_s, t="holders", id=order["id"], part=number, rows=part)
            for number, part in enumerate(parts)
        ]
        last: dict[str, Any] = {"id": order["id"], "part": len(parts), "last": True, "rows": []}
        last |= {"whole": whole, **rest_of(self._machine, at_s, pids)}
        lines.append(self._line(at_s, t="holders", **last))
        return b"".join(lines) + self._ack(order, at_s)

    def _process(self, task: Task, at_s: float) -> dict[str, object]:
        return {
            "pid": task.pid,
            "start": self._start_ticks(task),
            "uid": task.person.uid,
            "user": task.person.name,
            "comm": task.comm,
            "argv": task.argv,
            "state": "S",
            "age": round(at_s - task.started_s, 2),
            "up": [self._ancestor(above) for above in task.ancestors()],
        }

    def _ancestor(self, task: Task) -> list[object]:
        return [task.pid, self._start_ticks(task), task.person.uid, task.comm, task.argv]

    def _start_ticks(self, task: Task) -> int:
        return round(uptime_s(self._machine, task.started_s) * TICKS_A_SECOND)


def _row(holding: Holding) -> list[object]:
    return [holding.task.pid, holding.mib * MIB, "C"]
