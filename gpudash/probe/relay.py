"""The hand's side of orders: starts them, passes their reports on, and asks for those of before.

Commands: `order` begins one, or gives the one of the same run other steps; `report` follows the
reports of one that runs or has run, and lets them go with `drop`; `abort` lets one begin no
further step. The protocol stands in core.cleanup.orders.
"""

import json
import re

from gpudash.probe import carrier
from gpudash.probe.details import stat_of
from gpudash.probe.devices import Devices, why_no_signal
from gpudash.probe.handles import Mounts, look
from gpudash.probe.line import now
from gpudash.probe.orders import BadOrder, check, check_place

RUN_NAME = re.compile(r"[0-9A-Za-z._-]{1,64}\Z")
ANSWER_S = 5.0


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
        return any(gpu in gpus for _, gpu in seen.found if gpu is not None)


class Relay(object):
    """Connections to the processes that carry orders."""

    def __init__(self, wire, options):
        self._wire = wire
        self._options = options
        self._runs = {}

    def connections(self):
        """Return what is readable when a report comes."""
        return [one.connection for one in self._runs.values()]

    def obey(self, command):
        """Carry out one command and answer it."""
        order = command.get("order") if command["do"] == "order" else None
        run = order.get("run") if isinstance(order, dict) else command.get("run")
        if not isinstance(run, str) or not RUN_NAME.match(run):
            self._wire.ack(command, "run must be a name")
            return
        try:
            why = self._order(order, run) if order is not None else self._ask(command, run)
        except OSError as error:
            why = "nothing of %s is kept here (%s)" % (run, error.strerror or error)
        self._wire.ack(command, why)
        for name, line in self._runs.items():
            self._tell(name, line)

    def _order(self, order, run):
        try:
            check(order)
            check_place(order)
            why = why_no_signal(self._options)
            if why:
                return why
            if now() >= float(order["by"]):
                return "the order came after its deadline; nothing was done"
            if self._runs_here(run):
                return self._runs[run].ask({"do": "replace", "order": order})
            carrier.begin(order, Holding(self._options))
        except (BadOrder, carrier.Busy) as error:
            return str(error)
        except OSError as error:
            return "the order could not be started: %s" % (error,)
        return self._reach(run).ask({"do": "follow", "from": 0})

    def _runs_here(self, run):
        try:
            self._reach(run)
        except OSError:
            return False
        return True

    def _reach(self, run):
        if run not in self._runs:
            self._runs[run] = Line(carrier.connect(carrier.report_name(run)))
        return self._runs[run]

    def _ask(self, command, run):
        line = self._reach(run)
        if command["do"] == "abort":
            return line.ask({"do": "abort"})
        why = line.ask({"do": "follow", "from": command.get("from") or 0})
        if not why and command.get("drop"):
            why = line.ask({"do": "drop"})
        return why

    def pump(self, connection):
        """Pass on what came over one connection, until its other end is gone."""
        run = next(name for name, one in self._runs.items() if one.connection is connection)
        line = self._runs[run]
        is_open = line.take()
        self._tell(run, line)
        if not is_open:
            connection.close()
            del self._runs[run]

    def _tell(self, run, line):
        reports, line.reports = line.reports, []
        for report in reports:
            self._wire.send(t="order", run=run, **report)


class Line(object):
    """One connection: reports as they come, and an answer to each question."""

    def __init__(self, connection):
        self.connection = connection
        self.reports = []
        self._answers = []
        self._rest = b""
        connection.settimeout(ANSWER_S)

    def ask(self, question):
        """Ask and wait for the answer: an error, or an empty text. Raises OSError."""
        self.connection.sendall(json.dumps(question).encode("ascii") + b"\n")
        while not self._answers:
            if not self.take():
                return "it ended meanwhile"
        return self._answers.pop(0)

    def take(self):
        """Take what is there, waiting for something; return False at the end."""
        data = self.connection.recv(65536)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for text in lines:
            line = json.loads(text.decode("ascii"))
            if "re" in line:
                self._answers.append(line["re"])
            else:
                self.reports.append(line)
        return bool(data)
