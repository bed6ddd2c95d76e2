"""Starts a program that outlives the hand, the link and the terminal, and tells how it ends.

The hand forks twice. What comes of it, the keeper, starts the program in a session of its own and
waits for it: only a parent is told an exit code. The keeper ends with the hand; then the program
belongs to nobody, and nothing of ours is left but its log. A program that could not be executed is
an error with a reason, never a start.
"""

import _thread
import errno
import json
import os
import pwd
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

from gpudash.probe.carrier import let_go
from gpudash.probe.details import stat_of

LOGIN_S = 20.0
MOST_NAMES = 100
MARK = b"\0gpudash environment\0"
_TELL = "import os,sys;sys.stdout.buffer.write(%r+b'\\0'.join(k+b'='+v for k,v in %s)+%r)" % (
    MARK,
    "os.environb.items()",
    MARK,
)
ALWAYS = {"PYTHONUNBUFFERED": "1", "COLUMNS": "400"}


class NotLaunched(Exception):
    """Nothing was started; the text says why."""


def check(command):
    """Raise NotLaunched unless every part of a command is what it must be."""
    argv, env = command.get("argv"), command.get("env") or {}
    if not isinstance(argv, list) or not argv or not all(map(_is_word, argv)) or not argv[0]:
        raise NotLaunched("argv must be a list of words")
    if not isinstance(env, dict) or not all(map(_is_word, env.values())):
        raise NotLaunched("env must be names and values")
    if not all(_is_word(name) and name and "=" not in name for name in env):
        raise NotLaunched("a variable's name has no = in it")
    for name in ("cwd", "log", "venv"):
        if command.get(name) is not None and not (_is_word(command[name]) and command[name]):
            raise NotLaunched("%s must be a path" % name)


def _is_word(value):
    return isinstance(value, str) and "\0" not in value


# -- where, with what ------------------------------------------------------------------------------


def folder_of(path):
    """Return the folder that a program starts in, absolute. Raises NotLaunched."""
    folder = os.path.abspath(os.path.expanduser(path or "."))
    if not os.path.isdir(folder):
        raise NotLaunched("%s: no such folder" % folder)
    return folder


def login_environment():
    """Return what a login shell of this user sets. Raises NotLaunched."""
    shell = pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
    words = "'%s' -ISBc '%s'" % (sys.executable or "python3", _TELL.replace("'", '"'))
    # Any shell takes a dash before its own name for a login.
    name = "-" + os.path.basename(shell)
    try:
        done = subprocess.run(
            [name, "-c", words],
            executable=shell,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            timeout=LOGIN_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotLaunched("the login shell %s gave no environment: %s" % (shell, error))
    parts = done.stdout.split(MARK)
    if len(parts) != 3:
        raise NotLaunched("the login shell %s gave no environment" % shell)
    pairs = (one.partition(b"=") for one in parts[1].split(b"\0"))
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs if name}


def environment(command, folder):
    """Return the whole environment of a program. Raises NotLaunched."""
    env = login_environment() if command.get("login") else dict(os.environ)
    env.update(ALWAYS)
    if command.get("venv"):
        venv = os.path.join(folder, os.path.expanduser(command["venv"]))
        programs = os.path.join(venv, "bin")
        if not os.path.isdir(programs):
            raise NotLaunched("%s: no virtual environment is there" % venv)
        env.pop("PYTHONHOME", None)
        env["VIRTUAL_ENV"] = venv
        env["PATH"] = programs + os.pathsep + env.get("PATH", os.defpath)
    env["PWD"] = folder
    env.update(command.get("env") or {})
    return env


# -- its log ---------------------------------------------------------------------------------------


class Log(object):
    """The file that takes a program's output from its first byte on."""

    def __init__(self, command, folder):
        """Open or make it. Raises NotLaunched."""
        self.is_new = False
        named = command.get("log")
        if named:
            self._open(os.path.join(folder, os.path.expanduser(named)), 0)
            return
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in _name_of(command))
        base = os.path.join(folder, "%s-%s" % (name, time.strftime("%Y%m%d-%H%M%S")))
        for number in range(1, MOST_NAMES):
            try:
                self._open("%s%s.log" % (base, "-%d" % number if number > 1 else ""), os.O_EXCL)
                return
            except FileExistsError:
                continue
        raise NotLaunched("%s.log: there are too many of that name" % base)

    def _open(self, path, flags):
        self.path = path
        was_there = os.path.lexists(path)
        try:
            # Not to wait for the other end of a pipe.
            wanted = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | flags
            self.fd = os.open(path, wanted, 0o666)
        except FileExistsError:
            raise
        except OSError as error:
            raise NotLaunched("the log %s can't be written: %s" % (path, error.strerror))
        status = os.fstat(self.fd)
        if not stat.S_ISREG(status.st_mode):
            os.close(self.fd)
            raise NotLaunched("the log %s is no file" % path)
        os.set_blocking(self.fd, True)
        self.is_new = not was_there
        self.inode = status.st_ino
        self.size = status.st_size

    def forget(self):
        """Take back a file that was made for nothing."""
        if self.is_new:
            try:
                os.unlink(self.path)
            except OSError:
                return  # somebody else did


def _name_of(command):
    name = command.get("name")
    return (name if isinstance(name, str) and name else os.path.basename(command["argv"][0]))[:80]


# -- the start -------------------------------------------------------------------------------------


def start(argv, folder, env, output):
    """Start a program in a session of its own. Raises NotLaunched."""
    try:
        return _started(argv, folder, env, output)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise NotLaunched(why_not(argv[0], folder, env, error))
    # A script without its first line: a shell takes it for its own.
    path = shutil.which(
        os.path.join(folder, argv[0]) if "/" in argv[0] else argv[0], path=env.get("PATH")
    )
    try:
        return _started(["/bin/sh", path or argv[0]] + argv[1:], folder, env, output)
    except OSError as error:
        raise NotLaunched(why_not(argv[0], folder, env, error))


def _started(argv, folder, env, output):
    return subprocess.Popen(
        argv,
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        start_new_session=True,
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
        try:
            child = start(command["argv"], folder, env, log.fd)
        except NotLaunched as error:
            _say(line, error=str(error))
            os._exit(0)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.close(log.fd)
        one = stat_of(child.pid)
        _say(line, pid=child.pid, start=one.start if one else 0)
        _thread.start_new_thread(_wait, (child, line))
        # The hand says nothing more: what comes is its end.
        line.recv(1)
    finally:
        os._exit(0)


def _wait(child, line):
    try:
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
