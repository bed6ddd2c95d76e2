"""The sampler: holds NVML and nothing else, sends a tick each interval, ends with its reader.

Theory of operation. The main thread waits for the next tick or a command. A second thread reads
stdin, and ends the program when it closes. A third looks once a second whether the NVML call
under way has returned: where it has not for some seconds, it says so on the wire, for the main
thread can't. A hung program is abandoned by the other side.
"""

import _thread
import os
import select
import sys
import time

from gpudash.probe.absent import GPUS, find_absent
from gpudash.probe.backlog import Backlog
from gpudash.probe.line import Inbox, boot_id, leave, now, pid_namespace
from gpudash.probe.nvml import (
    INSUFFICIENT_SIZE,
    VERSION_MISMATCH,
    Asker,
    Failed,
    Gpu,
)

REFRESH_S = 10.0
REVIVE_S = 30.0
HUNG_S = 3.0
LOST_CODES = (1, 9, 15, 28)


class Sampler(object):
    """One NVML session and its roster."""

    def __init__(self, wire, options):
        self._wire = wire
        self._options = options
        self.interval = float(options.get("interval", 1.0))
        self.asker = Asker()
        self._refresh_s = float(options.get("refresh", REFRESH_S))
        self._revive_s = float(options.get("revive", REVIVE_S))
        self._gpus = []
        self._most = 1
        self._is_odd = False
        self._seq = 0
        self._refreshed = 0.0
        self._revived = 0.0
        self._library = None

    def answer_detail(self, command):
        """Answer what the slow calls of one GPU say; their text came along unread."""
        if "gpudash.probe.detail" not in sys.modules:
            self._options["load_spare"]()
        detail = sys.modules.get("gpudash.probe.detail")
        if detail is None:
            self._wire.ack(command, "what asks for details did not come along")
        else:
            detail.answer_detail(command, self._gpus, self.asker, self._wire)

    def open(self):
        """Begin the NVML session and read the roster. Raises Failed."""
        self.asker.ask("nvmlInit", None)
        count = self.asker.ask("nvmlDeviceGetCount", None)
        self._gpus = [Gpu(self.asker, index) for index in range(count)]
        self._gpus += find_absent(self._gpus, self._options.get("gpus_folder", GPUS))
        self._most = max(self._most, count)
        for gpu in self._gpus:
            gpu.refresh()
        self._refreshed = self._revived = now()
        self._library = library_identity()

    def hello(self):
        """Send who and what is here."""
        maybe = self.asker.maybe
        self._wire.send(
            t="hello",
            seq=self._seq,
            mono=round(now(), 3),
            v=1,
            source="nvml",
            python=sys.version.split()[0],
            driver=maybe("nvmlSystemGetDriverVersion", None),
            nvml=maybe("nvmlSystemGetNVMLVersion", None),
            boot=boot_id(),
            uid=os.getuid(),
            pidns=pid_namespace(),
            interval=self.interval,
            simulated=bool(self._options.get("simulated") or self._options.get("devices")),
            hostpids=self._options.get("pids") == "host",
            unsupported=[],
            roster=[gpu.tell() for gpu in self._gpus],
        )

    def tick(self):
        """Read every GPU once and send it; first what changes seldom, when it is due.

        Returns the listed pids.
        """
        at = now()
        if self._is_odd and at - self._revived >= self._revive_s:
            self._revive()
        elif at - self._refreshed >= self._refresh_s:
            self._refresh(at)
        readings = [gpu.read() for gpu in self._gpus]
        codes = [memory_code(reading) for reading in readings]
        if VERSION_MISMATCH in codes:
            raise Failed(VERSION_MISMATCH, "nvmlDeviceGetMemoryInfo")
        self._is_odd = (
            len(self._gpus) < self._most
            or any(gpu.handle is None for gpu in self._gpus)
            or any(code in LOST_CODES for code in codes)
        )
        self._seq += 1
        mono = round(at, 3)
        if not self._wire.send(t="sample", seq=self._seq, mono=mono, gpus=readings):
            readings = [without_lists(reading) for reading in readings]
            self._wire.send(t="sample", seq=self._seq, mono=mono, gpus=readings)
        return listed_pids(readings)

    def _refresh(self, at):
        self._refreshed = at
        if library_identity() != self._library:
            raise Failed(VERSION_MISMATCH, "stat libnvidia-ml.so.1")
        changed = [gpu.refresh() for gpu in self._gpus]
        if any(changed):
            self.hello()

    def _revive(self):
        """Open NVML anew while a GPU is lost or gone: after a reset only a new session sees it."""
        self.asker.maybe("nvmlShutdown", None)
        self.open()
        self.hello()


def memory_code(reading):
    """Return the code that stands in place of used memory, or None."""
    used = reading if isinstance(reading, dict) else reading[0]
    return used["e"] if isinstance(used, dict) else None


def without_lists(reading):
    """Return a reading whose process lists are unknown: a line has a limit."""
    if isinstance(reading, dict):
        return reading
    slices = [
        [dict(slice_, procs={"e": INSUFFICIENT_SIZE}) for slice_ in slices]
        for slices in reading[9:]
    ]
    return reading[:8] + [{"e": INSUFFICIENT_SIZE}] + slices


def library_identity():
    """Return device and inode of the loaded NVML library's file, or None where unknown.

    A package upgrade replaces the file under a running process; calls then fail with code 18
    or, worse, seem to work.
    """
    path = None
    try:
        with open("/proc/self/maps", "rb") as maps:
            for line in maps:
                if b"libnvidia-ml" in line:
                    path = line.split(None, 5)[5].strip()
                    break
        if path is None:
            return None
        status = os.stat(path)
    except OSError:
        return "gone"
    return (status.st_dev, status.st_ino)


def listed_pids(readings):
    """Return the pids on any list of a tick, slices included."""
    pids = set()
    for reading in readings:
        if isinstance(reading, dict):
            continue
        lists = [reading[8]]
        if len(reading) > 9:
            lists += [part["procs"] for part in reading[9]]
        for rows in lists:
            if isinstance(rows, list):
                pids.update(row[0] for row in rows)
    return sorted(pids)


def answer_who(pids, options, wire):
    """Say who is listed, as the hand would; its text came along unread."""
    if pids:
        options["load_spare"]()
        processes = sys.modules.get("gpudash.probe.processes")
        if processes is not None:
            processes.answer_process({"id": 1, "pids": pids}, wire)


def watch(sampler, wire, hung_s):
    """Tell of a call that does not return; runs in a thread of its own."""
    told = None
    while True:
        time.sleep(min(1.0, hung_s / 2))
        wire.flush()
        under_way = sampler.asker.under_way
        if under_way is None:
            continue
        call, gpu, started = under_way
        hung = time.monotonic() - started
        if hung >= hung_s and told != started:
            told = started
            wire.send(t="fault", call=call, gpu=gpu, hung=round(hung, 1))


def obey(command, sampler, wire):
    """Carry out one command; return False when the sampler shall end."""
    do = command["do"]
    if do == "rate":
        interval = command.get("interval")
        if type(interval) not in (int, float) or not 0.05 <= interval <= 3600:
            wire.ack(command, "interval must be between 0.05 and 3600 seconds")
        else:
            sampler.interval = float(interval)
            wire.ack(command)
            sampler.hello()
    elif do == "once":
        wire.ack(command)
        sampler.tick()
    elif do == "detail":
        sampler.answer_detail(command)
    elif do in ("release", "bye"):
        wire.ack(command)
        return False
    else:
        wire.ack(command, "unknown command: %s" % do[:40])
    return True


def run(sampler, inbox, wire):
    """Tick on a fixed grid until told to end; a late tick is not made up for."""
    due = now()
    while True:
        wait = due - now()
        if wait <= 0:
            sampler.tick()
            due = max(due + sampler.interval, now())
            continue
        writing = [wire] if wire.is_pending else []
        ready, writable, _ = select.select([inbox], writing, [], wait)
        if writable:
            wire.flush()
        if not ready:
            continue
        before = sampler.interval
        for command in inbox.take():
            if not obey(command, sampler, wire):
                return
        if sampler.interval != before:
            due = now()


def main(options):
    """Run until stdin ends; see the module."""
    wire = Backlog(options["token"])
    sampler = Sampler(wire, options)
    inbox = Inbox(wire)
    _thread.start_new_thread(watch, (sampler, wire, float(options.get("hung", HUNG_S))))
    try:
        sampler.open()
        sampler.hello()
        if options.get("once"):
            answer_who(sampler.tick(), options, wire)
        else:
            run(sampler, inbox, wire)
    except Failed as error:
        wire.send(t="fault", call=error.call, code=error.code, fatal=True)
        leave(wire, "fault")
    sampler.asker.maybe("nvmlShutdown", None)
    leave(wire, "done")
