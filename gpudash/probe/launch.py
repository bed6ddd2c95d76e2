"""Starts a program that outlives the hand, the link and the terminal, and tells how it ends.

The hand forks twice. What comes of it, the keeper, starts the program in a session of its own and
waits for it: only a parent is told an exit code. The keeper ends with the hand; then the program
belongs to nobody, and nothing of ours is left but its log. A program that could not be executed is
an error with a reason, never a start.
"""

import _thread
import errno
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import termios

from gpudash.probe.carrier import let_go
from gpudash.probe.details import stat_of
from gpudash.probe.surroundings import Log, NotLaunched, check, environment, folder_of


def start(argv, folder, env, output, enter=None):
    """Start a program in a session of its own, after calling `enter` in it. Raises NotLaunched."""
    try:
        return _started(argv, folder, env, output, enter)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise NotLaunched(why_not(argv[0], folder, env, error))
    # A script without its first line: a shell takes it for its own.
    path = shutil.which(
        os.path.join(folder, argv[0]) if "/" in argv[0] else argv[0], path=env.get("PATH")
    )
    try:
        return _started(["/bin/sh", path or argv[0]] + argv[1:], folder, env, output, enter)
    except OSError as error:
        raise NotLaunched(why_not(argv[0], folder, env, error))


def _started(argv, folder, env, output, enter):
    return subprocess.Popen(
        argv,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
        preexec_fn=enter,
    )


def why_not(program, folder, env, error):
    """Return why a program could not be executed."""
    words = error.strerror or str(error)
    if error.errno == errno.ENOENT:
        if error.filename == folder:
            return "%s: %s" % (folder, words)
        found = os.path.join(folder, program) if "/" in program else ""
        found = found or shutil.which(program, path=env.get("PATH")) or ""
        if found and os.path.exists(found):
            return "%s: the program that its first line names is not there" % program
        if "/" not in program:
            return "%s: no such program in PATH" % program
    return "%s: %s" % (program, words)


def _keep(command, folder, env, log, line):
    """Start the program and wait for its end, as a process of its own; never returns."""
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        let_go({line.fileno(), log.fd})
        size = command.get("pty")
        master, output = terminal(size) if size else (-1, log.fd)
        try:
            child = start(command["argv"], folder, env, output, own_terminal if size else None)
        except NotLaunched as error:
            _say(line, error=str(error))
            os._exit(0)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.close(output)
        one = stat_of(child.pid)
        _say(line, pid=child.pid, start=one.start if one else 0)
        _thread.start_new_thread(_wait, (child, line, master, log.fd))
        # The hand says nothing more: what comes is its end.
        line.recv(1)
    finally:
        os._exit(0)


def terminal(size):
    """Return both ends of a terminal of so many rows and columns; it ends with the keeper."""
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", size[0], size[1], 0, 0))
    return master, slave


def own_terminal():
    """Make the output the terminal of this session: it hangs up when the keeper ends."""
    fcntl.ioctl(1, termios.TIOCSCTTY, 0)


def _wait(child, line, master, log):
    """Copy what a terminal shows to the log, wait for the program's end, and tell it."""
    try:
        while master >= 0:
            try:
                data = os.read(master, 65536)
            except OSError:
                break  # nobody has it open any more
            while data:
                data = data[os.write(log, data) :]
        _say(line, code=child.wait())
    finally:
        os._exit(0)


def _say(line, **fields):
    line.sendall(json.dumps(fields).encode("ascii") + b"\n")


class Launched(object):
    """One program that was started, as its keeper tells of it."""

    def __init__(self, command, line):
        self.id = command["id"]
        self.line = line
        self.pid = 0
        self._rest = b""

    def first(self):
        """Return the keeper's first word; empty where it ended without one."""
        while b"\n" not in self._rest:
            data = self.line.recv(4096)
            if not data:
                return {}
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\n")
        told = json.loads(text.decode("ascii"))
        self.pid = told.get("pid", 0)
        return told

    def take(self):
        """Return True and its exit code, where it is over; None where nobody knows the code."""
        data = self.line.recv(4096)
        self._rest += data
        if b"\n" in self._rest:
            return True, json.loads(self._rest.decode("ascii"))["code"]
        return not data, None


class Launches(object):
    """All programs that this hand started."""

    def __init__(self, wire):
        self._wire = wire
        self._running = {}

    def connections(self):
        """Return what is readable when one has ended."""
        return list(self._running)

    def obey(self, command):
        """Start a program and answer."""
        try:
            check(command)
            folder = folder_of(command.get("cwd"))
            env = environment(command, folder)
            log = Log(command, folder)
        except NotLaunched as error:
            self._wire.ack(command, str(error))
            return
        try:
            self._begin(command, folder, env, log)
        except (NotLaunched, OSError) as error:
            log.forget()
            self._wire.ack(command, str(error))
        finally:
            os.close(log.fd)

    def _begin(self, command, folder, env, log):
        ours, its = socket.socketpair()
        child = os.fork()
        if child == 0:
            _keep(command, folder, env, log, its)
        its.close()
        os.waitpid(child, 0)
        one = Launched(command, ours)
        told = one.first()
        if not one.pid:
            ours.close()
            raise NotLaunched(told.get("error") or "it could not be started")
        self._running[ours] = one
        self._wire.send(
            t="launched",
            id=one.id,
            pid=one.pid,
            start=told["start"],
            log=log.path,
            inode=log.inode,
            offset=log.size,
            cwd=folder,
        )
        self._wire.ack(command)
        if select.select([ours], [], [], 0)[0]:
            self.pump(ours)

    def pump(self, connection):
        """Tell how a program ended."""
        one = self._running[connection]
        is_over, code = one.take()
        if is_over:
            connection.close()
            del self._running[connection]
            self._wire.send(t="exited", id=one.id, pid=one.pid, code=code)
