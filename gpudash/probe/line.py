"""The host's end of the wire: one JSON object a line, a handshake token first.

stdout belongs to the protocol alone: it is duplicated away and stray prints go to stderr. The
end of stdin or of the reader ends the program, whatever its main thread is doing: NVML calls
can hang, so the listening thread leaves by os._exit.
"""

import _thread
import json
import os
import sys
import time

MAX_LINE = 64 * 1024
PART = "part"  # no command of its own
MAX_PARTS = 100  # of a command that is longer than a line
CLOCK_BOOTTIME = 7  # time.CLOCK_BOOTTIME is there from 3.7 on; the kernel's number is fixed


def now():
    """Return seconds of the host's clock that counts sleep, else its monotonic clock."""
    try:
        return time.clock_gettime(CLOCK_BOOTTIME)
    except (AttributeError, OSError):
        return time.monotonic()


class Wire(object):
    """Sends lines; safe from several threads."""

    def __init__(self, token):
        self._lock = _thread.allocate_lock()
        sys.stdout.flush()
        self._fd = os.dup(1)
        os.dup2(2, 1)
        self._write(token.encode("ascii") + b"\n")

    def send(self, **fields):
        """Send one object; a reader that is gone ends the program.

        Return False, with nothing sent, for one that is longer than a line may be.
        """
        line = json.dumps(fields, separators=(",", ":")).encode("ascii") + b"\n"
        if len(line) > MAX_LINE:
            return False
        self._write(line)
        return True

    def _write(self, data):
        with self._lock:
            try:
                while data:
                    data = data[os.write(self._fd, data) :]
            except OSError:
                os._exit(0)

    def drain(self):
        """Wait until all is written: here it always is."""

    def ack(self, command, error="", **fields):
        """Answer one command."""
        if error:
            fields["error"] = error
        self.send(t="ack", id=command["id"], ok=not error, **fields)


class Inbox(object):
    """Commands from stdin, read in a thread of their own, for a main thread that waits.

    A ping is answered by that thread itself.
    """

    def __init__(self, wire):
        self._wire = wire
        self._lock = _thread.allocate_lock()
        self._commands = []
        self._parts = []
        self._wake_read, self._wake_write = os.pipe()
        _thread.start_new_thread(self._listen, ())

    def fileno(self):
        """Return a descriptor that is readable when commands wait."""
        return self._wake_read

    def take(self):
        """Return the commands that wait."""
        os.read(self._wake_read, 4096)
        with self._lock:
            commands, self._commands = self._commands, []
        return commands

    def _listen(self):
        stdin = sys.stdin.buffer
        while True:
            line = stdin.readline(MAX_LINE)
            if not line:
                os._exit(0)
            command = _parse(line)
            if command is not None and command["do"] == PART:
                if not self._is_last(command):
                    continue
                command = _parse("".join(self._parts).encode("utf-8"))
                self._parts = []
            if command is None:
                self._wire.send(t="ack", id=0, ok=False, error="not a command")
                continue
            if command["do"] == "ping":
                # At once: what is measured is the way, not the tick under way.
                self._wire.ack(command, wall=round(time.time(), 3))
                continue
            with self._lock:
                self._commands.append(command)
            os.write(self._wake_write, b".")

    def _is_last(self, part):
        """Keep one part of a long command; tell whether it was the last. What has a gap is none."""
        number, count, text = part.get("n"), part.get("of"), part.get("text")
        if number == 0:
            self._parts = []
        if number != len(self._parts) or not isinstance(text, str) or len(self._parts) >= MAX_PARTS:
            self._parts = []  # what follows finds no beginning either, and nothing is obeyed
            return False
        self._parts.append(text)
        return count == len(self._parts)


def _parse(line):
    try:
        command = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(command, dict) or not isinstance(command.get("do"), str):
        return None
    if type(command.get("id")) is not int or command["id"] < 0:
        return None
    return command


def leave(wire, reason, status=0):
    """Say goodbye and end at once, threads or not."""
    wire.send(t="bye", seq=0, mono=round(now(), 3), reason=reason)
    wire.drain()
    sys.stderr.flush()
    os._exit(status)


def read_file(path, limit=65536):
    """Return a file's bytes, or None where it can't be read."""
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        return os.read(fd, limit)
    except OSError:
        return None
    finally:
        os.close(fd)


def boot_id():
    """Return this boot's id, or None."""
    data = read_file("/proc/sys/kernel/random/boot_id")
    return data.decode("ascii", "replace").strip() if data else None


def pid_namespace():
    """Return the inode of our pid namespace, or None."""
    try:
        return os.stat("/proc/self/ns/pid").st_ino
    except OSError:
        return None
