"""One pass over /proc: who has a GPU open, what became of listed pids, and how much was seen."""

import json
import os

from gpudash.probe.activity import add_activity, watched
from gpudash.probe.connections import add_ports
from gpudash.probe.details import row_of, stat_of
from gpudash.probe.devices import INITIAL_PID_NAMESPACE, Devices, lists_own_pids
from gpudash.probe.handles import Mounts, has_cuda, look
from gpudash.probe.line import boot_id, now, pid_namespace, read_file
from gpudash.probe.processes import is_pid

MAX_ANSWER = 48 * 1024
MAX_PIDS = 2000
HIDING = ("hidepid=2", "hidepid=4", "hidepid=invisible", "hidepid=ptraceable")


class Scan(object):
    """What one pass found."""

    def __init__(self, options):
        self._options = options
        self._devices = Devices(options)
        self._mounts = Mounts()
        self._open = {}
        self._stats = {}
        self._unreadable = set()
        self.seen = 0
        self.notes = list(self._devices.notes)

    def walk(self):
        """Look at what everybody has open."""
        for name in os.listdir("/proc"):
            if not name.isdigit():
                continue
            one = stat_of(int(name))
            if one is None:
                continue
            self._stats[one.pid] = one
            if one.is_kernel or one.is_dead:
                continue
            self._open[one.pid], is_readable = look(self._devices, self._mounts, one)
            if is_readable:
                self.seen += 1
            else:
                self._unreadable.add(one.pid)

    def look_at_maps(self):
        """Look at what those have mapped who have no GPU open."""
        unread = 0
        for seen in self._open.values():
            if seen.has_gpu:
                continue
            try:
                seen.look_at_maps()
            except PermissionError:
                unread += 1
            except OSError:
                continue  # it ended meanwhile
        if unread:
            self.notes.append("memory maps of %d not readable" % unread)

    def existence(self, pids):
        """Return what became of each listed pid that is no living process of our /proc."""
        if not lists_own_pids(self._options):
            return [[pid, "foreign"] for pid in pids]
        told = [[pid, fate_of(pid, self._stats.get(pid))] for pid in pids]
        return [row for row in told if row[1]]

    def rows(self, pids, is_whole):
        """Return holders, the listed and their ancestors, by pid; everybody if all are wanted."""
        if is_whole:
            wanted = set(self._stats)
        else:
            wanted = {pid for pid, seen in self._open.items() if seen.found}
            if lists_own_pids(self._options):
                wanted.update(pid for pid in pids if pid in self._stats)
            for pid in list(wanted):
                wanted.update(ancestors(pid, self._stats))
        rows = []
        for pid in sorted(wanted):
            seen = self._open.get(pid)
            is_readable = pid not in self._unreadable
            row = row_of(self._stats[pid], seen.rows() if seen else [], is_readable)
            if row is not None:
                if seen and seen.has_uvm and not self._devices.is_standin:
                    row["cuda"] = has_cuda(pid)
                rows.append(row)
        if is_whole:
            add_ports(rows, {pid: seen.sockets for pid, seen in self._open.items()})
            add_activity(rows, self._open)
        return rows

    def watch(self, rows, seconds):
        """Put into rows how much of a core each used, in at least so many seconds."""
        watched(rows, self._stats, seconds)

    @property
    def unreadable(self):
        """Return how many exist and could not be looked into."""
        return len(self._unreadable)

    def own(self):
        """Return us and those above us, to pid 1."""
        # Our pid as this /proc has it: it may be that of an outer pid namespace.
        try:
            own = int(os.readlink("/proc/self"))
        except (OSError, ValueError):
            own = os.getpid()
        return [own] + ancestors(own, self._stats)

    def is_initial(self):
        """Tell whether the pids we see are the host's; beside stand-ins ours count as those."""
        if self._options.get("devices") is not None:
            return lists_own_pids(self._options)
        return pid_namespace() == INITIAL_PID_NAMESPACE


def ancestors(pid, stats):
    """Return the pids above a process, from its parent on."""
    up = []
    one = stats.get(pid)
    while one is not None and one.parent > 0 and one.parent not in up:
        up.append(one.parent)
        one = stats.get(one.parent)
    return up


def fate_of(pid, one):
    """Return `dead`, `hidden`, or nothing for a living process that /proc shows."""
    if one is None:
        one = stat_of(pid)  # it may have come since the walk
    if one is not None:
        return "dead" if one.is_dead else ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "dead"
    except OSError:
        pass
    return "" if stat_of(pid) is not None else "hidden"


def hiding_note():
    """Return a sentence where /proc hides the processes of others from us, else nothing."""
    if os.geteuid() == 0:
        return ""
    ours = set(os.getgroups()) | {os.getegid()}
    options = []
    for line in (read_file("/proc/self/mounts", 1024 * 1024) or b"").splitlines():
        words = line.decode("utf-8", "replace").split()
        if len(words) > 3 and words[1] == "/proc" and words[2] == "proc":
            options = words[3].split(",")  # the last one mounted is on top
    if not set(HIDING) & set(options):
        return ""
    groups = {word[4:] for word in options if word.startswith("gid=")}
    return "" if groups & {str(group) for group in ours} else "other users' processes are hidden"


def answer_scan(command, wire, options):
    """Answer with numbered lines of processes, the last one with all the rest, then an ack."""
    pids = command.get("pids", [])
    if not isinstance(pids, list) or len(pids) > MAX_PIDS or not all(is_pid(pid) for pid in pids):
        wire.ack(command, "pids must be a list of numbers, at most %d" % MAX_PIDS)
        return
    is_whole = bool(command.get("all"))
    began = now()
    scan = Scan(options)
    scan.walk()
    if command.get("maps"):
        scan.look_at_maps()
    rows = scan.rows(pids, is_whole)
    seconds = command.get("watch")
    if type(seconds) in (int, float) and seconds > 0:
        scan.watch(rows, seconds)
    note = hiding_note()
    number = 0
    for part in parts_of(rows):
        wire.send(t="holders", id=command["id"], part=number, rows=part)
        number += 1
    wire.send(
        t="holders",
        id=command["id"],
        part=number,
        last=True,
        rows=[],
        mono=round(began, 3),
        took=round(now() - began, 4),
        boot=boot_id(),
        whole=is_whole,
        maps=bool(command.get("maps")),
        seen=scan.seen,
        unreadable=scan.unreadable,
        listed=scan.existence(pids),
        own=scan.own(),
        pidns=pid_namespace(),
        initial=scan.is_initial(),
        simulated=options.get("devices") is not None,
        notes=scan.notes + ([note] if note else []),
    )
    wire.ack(command)


def parts_of(rows):
    """Return the rows in runs that each fit into a line."""
    part = []
    size = 0
    for row in rows:
        length = len(json.dumps(row))
        if part and size + length > MAX_ANSWER:
            yield part
            part = []
            size = 0
        part.append(row)
        size += length
    if part:
        yield part
