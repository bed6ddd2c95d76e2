"""The hand's side of orders: starts them, passes their records on, and asks for those of before.

Commands: `order` begins one, `report` follows the record of one that runs or has run, `abort` and
`force` go to one that runs, `fetched` lets a record go that was kept for being fetched. Record
lines travel as `{"t": "order", "run": …, "line": {…}}`.
"""

import json
import re
import socket

from gpudash.probe import carrier
from gpudash.probe.details import stat_of
from gpudash.probe.devices import Devices, why_no_signal
from gpudash.probe.handles import Mounts, look
from gpudash.probe.line import now
from gpudash.probe.orders import BadOrder, check

RUN_NAME = re.compile(r"[0-9A-Za-z._-]{1,64}\Z")


class Holding(object):
    """Tells who has a GPU open, at the moment of the question."""

    def __init__(self, options):
        self._devices = Devices(options)
        self._mounts = Mounts()

    def __call__(self, pid, gpus):
        """Tell whether a process, or a living thread of one that ended, has one of these open."""
        one = stat_of(pid)
        if one is None:
            return False
        seen, _ = look(self._devices, self._mounts, one)
        if not seen.has_gpu:
            try:
                seen.look_at_maps()
            except OSError:
                return False
        return any(kind == "gpu" and gpu in gpus for kind, gpu in seen.found)


class Relay(object):
    """Connections to the processes that carry orders."""

    def __init__(self, wire, options):
        self._wire = wire
        self._options = options
        self._runs = {}
        self._rest = {}

    def connections(self):
        """Return what is readable when a record goes on."""
        return list(self._runs.values())

    def obey(self, command):
        """Carry out one command and answer it."""
        run = command.get("run")
        if not isinstance(run, str) or not RUN_NAME.match(run):
            self._wire.ack(command, "run must be a name")
            return
        try:
            why = self._order(command, run) if command["do"] == "order" else ""
            if not why:
                self._follow(command, run)
        except OSError as error:
            why = "no record of %s is kept here (%s)" % (run, error.strerror or error)
        self._wire.ack(command, why)

    def _order(self, command, run):
        order = command.get("order")
        try:
            if not isinstance(order, dict) or order.get("run") != run:
                raise BadOrder("no order, or one of another run")
            check(order)
            why = why_no_signal(self._options)
            if why:
                return why
            if now() >= float(order["deadline"]):
                return "the order came after its deadline; nothing was done"
            carrier.begin(order, Holding(self._options), command.get("protected") or ())
        except (BadOrder, carrier.Busy) as error:
            return str(error)
        except OSError as error:
            return "the order could not be started: %s" % (error,)
        return ""

    def _follow(self, command, run):
        connection = self._runs.get(run)
        if connection is None:
            connection = carrier.connect(carrier.report_name(run))
            self._runs[run] = connection
            self._rest[run] = b""
        do = "follow" if command["do"] == "order" else command["do"].replace("report", "follow")
        asked = {"do": do, "from": command.get("from") or 0}
        connection.sendall(json.dumps(asked).encode("ascii") + b"\n")

    def pump(self, connection):
        """Pass on what came over one connection."""
        run = next(name for name, one in self._runs.items() if one is connection)
        try:
            data = connection.recv(65536, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        *lines, self._rest[run] = (self._rest[run] + data).split(b"\n")
        for line in lines:
            self._wire.send(t="order", run=run, line=json.loads(line.decode("ascii")))
        if not data:
            connection.close()
            del self._runs[run], self._rest[run]
            self._wire.send(t="order", run=run, line={"k": "closed", "at": round(now(), 4)})
