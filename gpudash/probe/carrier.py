"""Lets an order outlive the link: a process of its own carries it, its record waits to be fetched.

The hand forks twice. What comes of it has a session of its own and no terminal, holds two abstract
socket names, and nothing on disk: `\\0gpudash/RUN`, where its record is fetched, and
`\\0gpudash/clean/PIDNS`, which is the host's lock against a second cleaner. Both names are bound
before the fork, so that whoever ordered knows at once whether it could be. Names go with the
process that holds them.
"""

import json
import os
import resource
import select
import signal
import socket
import struct

from gpudash.probe.kin import untouchable
from gpudash.probe.line import now, pid_namespace
from gpudash.probe.orders import BadOrder, Execution

KEPT_S = 600.0  # after the deadline an unfetched record is let go
MOST_ASKERS = 16
CONNECT_S = 2
MOST_FDS = 16384
MOST_ASKED = 4 * 1024 * 1024  # an order that replaces one comes as one line


class Busy(Exception):
    """Another cleaner is at work on this host; the text names it."""


def lock_name():
    """Return the name of this host's lock."""
    return "\0gpudash/clean/%s" % (pid_namespace() or 0)


def report_name(run):
    """Return the name under which the record of a run is fetched."""
    return "\0gpudash/%s" % run


def listen(name):
    """Bind an abstract name. Raises OSError, EADDRINUSE among others."""
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        server.bind(name)
        server.listen(MOST_ASKERS)
    except OSError:
        server.close()
        raise
    return server


def peer(connection):
    """Return pid and uid of the process at the other end; abstract names have no permissions."""
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    pid, uid, _ = struct.unpack("3i", data)
    return pid, uid


def _reach(connection, name):
    """Connect; whoever holds the name may accept nobody, which is waited for only so long.

    A timeout of Python's own would not wait at all where many ask at once. Raises OSError.
    """
    patience = struct.pack("ll", CONNECT_S, 0)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, patience)
    connection.connect(name)


def connect(name):
    """Return a connection to a name that a process of ours or root's holds. Raises OSError."""
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _reach(connection, name)
        if not is_trusted(connection):
            raise OSError("the name is held by another user's process")
    except OSError:
        connection.close()
        raise
    return connection


def is_trusted(connection):
    """Tell whether the other end is this user's or root's."""
    return peer(connection)[1] in (0, os.geteuid())


def take_lock():
    """Return the lock of this host. Raises Busy."""
    try:
        return listen(lock_name())
    except OSError as error:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                _reach(connection, lock_name())
                raise Busy("locked by pid %d" % peer(connection)[0])
        except BlockingIOError:
            raise Busy("locked by a process that answers nobody")
        except OSError:
            raise Busy("the lock of this host can't be had: %s" % (error.strerror,))


def begin(order, holds):
    """Start a process that carries the order. Raises Busy, or OSError where it can't be started."""
    never = untouchable()
    lock = take_lock()
    try:
        server = listen(report_name(order["run"]))
    except OSError:
        lock.close()
        raise
    try:
        child = os.fork()
        if child == 0:
            _detached(order, holds, lock, server, never)
        os.waitpid(child, 0)
    finally:
        lock.close()
        server.close()


def _detached(order, holds, lock, server, never):
    """Go on in a grandchild that belongs to nobody; never returns."""
    try:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            let_go({lock.fileno(), server.fileno()})
            Carrier(order, holds, server, never).run(lock)
    finally:
        os._exit(0)


def let_go(kept):
    """Close all that came with the fork: the link must see its end when the hand ends."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    for name in os.listdir("/proc/self/fd"):
        fd = int(name)
        if fd > 2 and fd not in kept:
            try:
                os.close(fd)
            except OSError:
                continue  # the listing's own


def make_room():
    """Let this process, and nobody else, have a descriptor for each process of a large order."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FDS if hard == resource.RLIM_INFINITY else min(hard, MOST_FDS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class Carrier(object):
    """Carries one order and answers whoever asks for its record."""

    def __init__(self, order, holds, server, never):
        self._order = order
        self._never = never
        self._holds = holds
        self._server = server
        self._lock = None
        self._lines = []
        self._askers = {}
        self._is_fetched = False

    def _report(self, what, **fields):
        line = dict(fields, what=what, at=round(now(), 4), n=len(self._lines))
        self._lines.append(json.dumps(line, separators=(",", ":")).encode("ascii") + b"\n")

    def run(self, lock):
        """Carry the order to its end, then keep the record until it was fetched."""
        make_room()
        self._lock = lock
        until = float(self._order["by"]) + KEPT_S
        try:
            execution = Execution(self._order, self._report, self._holds, self._never)
            wait = execution.advance()
            while wait is not None:
                self._serve(execution, min(wait, 1.0))
                wait = execution.advance()
        except Exception as error:
            # Whatever is wrong, the record says what was done and that no more will be.
            words = "%s: %s" % (type(error).__name__, error)
            self._report("done", why="failed", words=words[:300])
        self._lock = None
        lock.close()
        self._serve(None, 0.0)
        while not self._is_fetched and now() < until:
            self._serve(None, 1.0)

    def _serve(self, execution, wait):
        """Wait for ends and askers; give askers what is new."""
        for connection in list(self._askers):
            self._tell(connection)
        # Not select: it knows no descriptor beyond 1023.
        poll = select.poll()
        poll.register(self._server, select.POLLIN)
        if self._lock is not None:
            poll.register(self._lock, select.POLLIN)
        for fd in execution.descriptors() if execution is not None else ():
            poll.register(fd, select.POLLIN)
        for connection, asker in self._askers.items():
            poll.register(connection, select.POLLIN | (select.POLLOUT if asker["out"] else 0))
        ready = {
            fd for fd, happened in poll.poll(int(wait * 1000) + 1) if happened & ~select.POLLOUT
        }
        if self._server.fileno() in ready:
            self._admit()
        if self._lock is not None and self._lock.fileno() in ready:
            # Who holds the lock was told by the kernel: those who asked make room for others.
            self._lock.accept()[0].close()
        for connection in [one for one in self._askers if one.fileno() in ready]:
            self._hear(connection, execution)
        for connection in list(self._askers):
            self._tell(connection)

    def _admit(self):
        connection, _ = self._server.accept()
        if not is_trusted(connection) or len(self._askers) >= MOST_ASKERS:
            connection.close()
            return
        connection.setblocking(False)
        self._askers[connection] = {"in": b"", "out": b"", "next": None}

    def _hear(self, connection, execution):
        asker = self._askers[connection]
        try:
            data = connection.recv(65536)
        except OSError:
            data = b""
        *lines, asker["in"] = (asker["in"] + data).split(b"\n")
        for line in lines:
            self._obey(line, asker, execution)
        if not data or len(asker["in"]) > MOST_ASKED:
            self._askers.pop(connection)
            connection.close()

    def _obey(self, line, asker, execution):
        """Do what one line asks; an answer goes back as a line without a number."""
        why = ""
        try:
            asked = json.loads(line.decode("ascii"))
            do = asked["do"]
            if do == "follow":
                asker["next"] = max(0, int(asked.get("from") or 0))
            elif do == "drop":
                self._is_fetched = execution is None
                why = "" if self._is_fetched else "the order still runs"
            elif execution is None:
                why = "the order is over"
            elif do == "abort":
                execution.abort()
            elif do == "replace":
                execution.replace(asked["order"])
        except (ValueError, KeyError, TypeError, BadOrder) as error:
            why = str(error)
        asker["out"] += json.dumps({"re": why}).encode("ascii") + b"\n"

    def _tell(self, connection):
        asker = self._askers[connection]
        if asker["next"] is not None:
            asker["out"] += b"".join(self._lines[asker["next"] :])
            asker["next"] = max(asker["next"], len(self._lines))
        try:
            asker["out"] = asker["out"][connection.send(asker["out"]) :] if asker["out"] else b""
        except BlockingIOError:
            return
        except OSError:
            self._askers.pop(connection)
            connection.close()
