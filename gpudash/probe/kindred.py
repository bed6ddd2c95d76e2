"""What the processes of families are doing: one look at them and all that hang below them.

Also the environment of one process, without what looks like a secret: that never leaves the host.
"""

import os

from gpudash.probe.details import row_of, stat_of
from gpudash.probe.devices import Devices
from gpudash.probe.handles import Mounts, look
from gpudash.probe.line import now
from gpudash.probe.masking import masked_variable
from gpudash.probe.processes import is_pid, text
from gpudash.probe.scan import parts_of

MAX_ROOTS = 500
MAX_ROWS = 1000
MAX_ENVIRONMENT = 1024 * 1024
MAX_VALUE = 400
MAX_VARIABLES = 400
MAX_SAID = 40 * 1024


def answer_kindred(command, wire, options):
    """Answer with numbered lines of processes, the last one with the time, then an ack."""
    pids = command.get("pids")
    if not isinstance(pids, list) or len(pids) > MAX_ROOTS or not all(is_pid(one) for one in pids):
        wire.ack(command, "pids must be a list of numbers, at most %d" % MAX_ROOTS)
        return
    began = now()
    number = 0
    for part in parts_of(rows_below(pids, options)):
        wire.send(t="kindred", id=command["id"], part=number, rows=part)
        number += 1
    mono = round(began, 3)
    wire.send(t="kindred", id=command["id"], part=number, last=True, rows=[], mono=mono)
    wire.ack(command)


def rows_below(pids, options):
    """Return the rows of these processes and of whoever descends from them, by pid."""
    stats = {}
    below = {}
    for name in os.listdir("/proc"):
        one = stat_of(int(name)) if name.isdigit() else None
        if one is not None and not one.is_kernel and not one.is_dead:
            stats[one.pid] = one
            below.setdefault(one.parent, []).append(one.pid)
    wanted = set()
    todo = [pid for pid in pids if pid in stats and pid > 1]
    while todo:
        pid = todo.pop()
        if pid not in wanted:
            wanted.add(pid)
            todo += below.get(pid, [])
    devices = Devices(options)
    mounts = Mounts()
    rows = []
    for pid in sorted(wanted)[:MAX_ROWS]:
        seen, is_readable = look(devices, mounts, stats[pid])
        row = row_of(stats[pid], seen.rows(), is_readable)
        if row is not None:
            rows.append(row)
    return rows


def answer_environment(command, wire):
    """Answer with the variables of one process, which must still be the one that is meant."""
    pid = command.get("pid")
    one = stat_of(pid) if is_pid(pid) else None
    if one is None or one.start != command.get("start"):
        wire.ack(command, "it is not there any more")
        return
    try:
        with open("/proc/%d/environ" % pid, "rb") as file:
            data = file.read(MAX_ENVIRONMENT)
    except OSError as error:
        wire.ack(command, "not readable here: %s" % error.strerror)
        return
    again = stat_of(pid)
    if again is None or again.start != one.start:
        wire.ack(command, "it is not there any more")
        return
    wire.ack(command, variables=variables_of(data))


def variables_of(data):
    """Return [name, value] of an environment, secrets masked, long values cut."""
    rows = []
    size = 0
    for entry in data.split(b"\0"):
        name, has_value, value = text(entry).partition("=")
        if not has_value or not name:
            continue
        row = [name[:MAX_VALUE], masked_variable(name, value)[:MAX_VALUE]]
        size += len(row[0]) + len(row[1])
        if size > MAX_SAID or len(rows) >= MAX_VARIABLES:
            rows.append(["", "more than fits here"])
            break
        rows.append(row)
    return rows
