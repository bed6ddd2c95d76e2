"""The hand: answers about processes, and carries orders. It never touches NVML.

So a hung driver can't stop it. What carries out an order comes along as text and is run at the
first need: most hands only ever look.
"""

import select
import sys

from gpudash.probe.line import Inbox, Wire, leave
from gpudash.probe.processes import answer_process
from gpudash.probe.scan import answer_scan


class Hand(object):
    """Obeys commands until stdin ends."""

    def __init__(self, options):
        self._options = options
        self._wire = Wire(options["token"])
        self._inbox = Inbox(self._wire)
        self._relay = None
        self._launches = None
        self._tails = None

    def run(self):
        """Wait for commands, and for what orders and launched programs tell."""
        while True:
            tellers = [one for one in (self._relay, self._launches) if one is not None]
            others = [(one, teller) for teller in tellers for one in teller.connections()]
            ready = select.select([self._inbox, *[one for one, _ in others]], [], [])[0]
            for connection, teller in others:
                if connection in ready:
                    teller.pump(connection)
            if self._inbox in ready:
                for command in self._inbox.take():
                    self._obey(command)

    def _obey(self, command):
        do = command["do"]
        if do == "process":
            answer_process(command, self._wire)
        elif do == "scan":
            answer_scan(command, self._wire, self._options)
        elif do in ("abort", "order", "report"):
            self._orders().obey(command)
        elif do == "leavings":
            self._spare("leavings").answer_leavings(command, self._wire, self._options)
        elif do == "kindred":
            self._spare("kindred").answer_kindred(command, self._wire, self._options)
        elif do == "environment":
            self._spare("kindred").answer_environment(command, self._wire)
        elif do == "managers":
            self._spare("asking").answer_managers(command, self._wire)
        elif do == "launch":
            self._starts().obey(command)
        elif do == "preflight":
            self._spare("preflight").answer_preflight(command, self._wire)
        elif do in ("tail", "untail"):
            if self._tails is None:
                self._tails = self._spare("tailing").Tails(self._wire)
            self._tails.obey(command)
        elif do == "url":
            self._spare("asked_url").answer_url(command, self._wire)
        elif do == "bye":
            self._wire.ack(command)
            leave(self._wire, "done")
        else:
            self._wire.ack(command, "unknown command: %s" % do[:40])

    def _orders(self):
        if self._relay is None:
            self._relay = self._spare("relay").Relay(self._wire, self._options)
        return self._relay

    def _starts(self):
        if self._launches is None:
            self._launches = self._spare("launch").Launches(self._wire)
        return self._launches

    def _spare(self, name):
        """Return a module that came along as text, run at the first need."""
        if "gpudash.probe." + name not in sys.modules:
            self._options["load_spare"]()
        return sys.modules["gpudash.probe." + name]


def main(options):
    """Answer commands until stdin ends."""
    Hand(options).run()
