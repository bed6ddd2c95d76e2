"""The hand: answers about processes. It never touches NVML, so a hung driver can't stop it."""

from gpudash.probe.line import Inbox, Wire, leave
from gpudash.probe.processes import answer_process
from gpudash.probe.scan import answer_scan


def main(options):
    """Answer commands until stdin ends."""
    wire = Wire(options["token"])
    inbox = Inbox(wire)
    while True:
        for command in inbox.take():
            if command["do"] == "process":
                answer_process(command, wire)
            elif command["do"] == "scan":
                answer_scan(command, wire, options)
            elif command["do"] == "bye":
                wire.ack(command)
                leave(wire, "done")
            else:
                wire.ack(command, "unknown command: %s" % command["do"][:40])
