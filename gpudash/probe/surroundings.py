"""What a program is started with: its folder, its environment, the file that takes its output.

Whatever is missing or can't be had is an error with a reason, before anything was started.
"""

import os
import pwd
import shutil
import stat
import subprocess
import sys
import time

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
    size = command.get("pty")
    if size is not None and not (isinstance(size, list) and [type(n) for n in size] == [int, int]):
        raise NotLaunched("pty must be rows and columns")
    for name in ("cwd", "log", "venv"):
        if command.get(name) is not None and not (_is_word(command[name]) and command[name]):
            raise NotLaunched("%s must be a path" % name)


def _is_word(value):
    """Tell whether a value is a text that this system can take."""
    if not isinstance(value, str) or "\0" in value:
        return False
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True


# -- where, with what ------------------------------------------------------------------------------


def at_home(path):
    """Return a path with its ~ replaced, where it has one and somebody of that name is known."""
    try:
        return os.path.expanduser(path)
    except KeyError:
        return path


def folder_of(path):
    """Return the folder that a program starts in, absolute. Raises NotLaunched."""
    folder = os.path.abspath(at_home(path or "."))
    if not os.path.isdir(folder):
        raise NotLaunched("%s: no such folder" % folder)
    return folder


def login_environment():
    """Return what a login shell of this user sets. Raises NotLaunched."""
    try:
        shell = pwd.getpwuid(os.getuid()).pw_shell or "/bin/sh"
    except KeyError:
        shell = "/bin/sh"  # a user without a name
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
    if command.get("pty"):
        env["COLUMNS"] = str(command["pty"][1])
        env.setdefault("TERM", "xterm-256color")
    if command.get("venv"):
        venv = os.path.join(folder, at_home(command["venv"]))
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
            self._open(os.path.join(folder, at_home(named)), 0)
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


def why_not_launchable(command):
    """Return why a command can't be started as it is; empty where nothing is seen against it."""
    try:
        check(command)
        folder = folder_of(command.get("cwd"))
        env = environment(command, folder)
    except NotLaunched as error:
        return str(error)
    program = command["argv"][0]
    if "/" in program:
        path = os.path.join(folder, program)
        if not os.path.exists(path):
            return "%s: no such program" % program
        if os.path.isdir(path) or not os.access(path, os.X_OK):
            return "%s may not be executed" % program
    elif shutil.which(program, path=env.get("PATH", os.defpath)) is None:
        return "%s: no such program in PATH" % program
    log = os.path.join(folder, at_home(command.get("log") or ""))
    place = log if os.path.exists(log) else os.path.dirname(log)
    if not os.access(place, os.W_OK) or (command.get("log") and os.path.isdir(log)):
        return "the log %s can't be written" % log
    return ""
