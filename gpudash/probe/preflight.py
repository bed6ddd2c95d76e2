"""Looks before a launch whether it can go well: ports, paths, space, and the user's own commands.

Each question is answered by itself: whether it holds, and one clause. All run in a thread of their
own, so that a disk that hangs or a slow command keeps nobody waiting for other answers.
"""

import _thread
import os
import select
import subprocess

from gpudash.probe.line import now
from gpudash.probe.ports import why_taken
from gpudash.probe.surroundings import at_home, why_not_launchable

MOST_CHECKS = 32
COMMAND_S = 30.0
MOST_SAID = 4096
MOST_WORDS = 300
SHM = "/dev/shm"


def _path_of(check):
    path = check["path"]
    folder = at_home(check.get("cwd") or ".")
    return os.path.abspath(os.path.join(folder, at_home(path)))


def port_free(check):
    """Tell whether a port can be listened on, and else who has it."""
    port = check["port"]
    if type(port) is not int or not 0 < port < 65536:
        raise ValueError("no such port")
    why = why_taken(port, check.get("host") or "")
    return not why, "port %d is %s" % (port, why or "free")


def path_exists(check):
    """Tell whether a path is there and may be read."""
    path = _path_of(check)
    if not os.path.lexists(path):
        return False, "%s is not there" % path
    if not os.access(path, os.R_OK):
        return False, "%s may not be read" % path
    return True, "%s is there" % path


def free_disk(check):
    """Tell whether a disk has so much space for this user."""
    path = _path_of(check)
    there = path
    while not os.path.exists(there):
        there = os.path.dirname(there)
    return _space(there, path, check["bytes"])


def shm(check):
    """Tell whether shared memory has so much space."""
    return _space(SHM, SHM, check["bytes"])


def _space(path, name, wanted):
    if type(wanted) is not int or wanted < 0:
        raise ValueError("bytes must be a number")
    status = os.statvfs(path)
    free = status.f_bavail * status.f_frsize
    words = "%s has %s free" % (name, size(free))
    return free >= wanted, words if free >= wanted else "%s, wanted are %s" % (words, size(wanted))


def size(count):
    """Return `12.3 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return "%d B" % count if unit == "B" else "%.1f %s" % (count, unit)
        count /= 1024.0
    return "%.1f TiB" % count


def command(check):
    """Tell whether a command ends with 0 in its time; its last words are what is said."""
    words = check["argv"]
    if not isinstance(words, list) or not words or not all(isinstance(one, str) for one in words):
        raise ValueError("argv must be a list of words")
    limit = float(check.get("timeout_s") or COMMAND_S)
    env = dict(os.environ, **check.get("env") or {})
    folder = at_home(check.get("cwd") or ".")
    read, write = os.pipe()
    try:
        child = subprocess.Popen(
            words, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=write, stderr=write
        )
    except OSError as error:
        os.close(read)
        return False, "%s: %s" % (words[0], error.strerror or error)
    finally:
        os.close(write)
    try:
        code, said = _outcome(child, read, now() + limit)
    finally:
        os.close(read)
    last = said.decode("utf-8", "replace").strip().splitlines()[-1:]
    tail = ": %s" % last[0][:MOST_WORDS] if last else ""
    if code is None:
        return False, "%s did not end within %g s%s" % (words[0], limit, tail)
    return code == 0, "%s ended with %d%s" % (words[0], code, tail)


def _outcome(child, read, until):
    """Return exit code and last words; None for one that was ended because its time was over."""
    said = b""
    while True:
        left = until - now()
        if left <= 0:
            # Our own child and nobody else: what it started is not ours to end.
            child.kill()
            child.wait()
            return None, said
        if not select.select([read], [], [], min(left, 0.05))[0]:
            if child.poll() is not None:
                return child.returncode, said
            continue
        data = os.read(read, 65536)
        said = (said + data)[-MOST_SAID:]
        if not data:
            try:
                return child.wait(max(0.0, until - now())), said
            except subprocess.TimeoutExpired:
                continue


def launchable(check):
    """Tell whether a command could be started: its folder, environment, program and log."""
    why = why_not_launchable(check["of"])
    return not why, why or "%s can be started" % check["of"]["argv"][0]


KINDS = {
    "launchable": launchable,
    "port_free": port_free,
    "path_exists": path_exists,
    "free_disk": free_disk,
    "shm": shm,
    "command": command,
}


def result_of(check):
    """Return whether a check holds, and what it says."""
    try:
        return KINDS[check["kind"]](check)
    except (OSError, ValueError, KeyError, TypeError) as error:
        why = getattr(error, "strerror", None) or error
        return False, "it could not be looked at: %s" % (why,)


def answer_preflight(asked, wire):
    """Look at everything a command asks for, beside what else is asked."""
    checks = asked.get("checks")
    if not isinstance(checks, list) or len(checks) > MOST_CHECKS:
        wire.ack(asked, "checks must be a list of at most %d" % MOST_CHECKS)
        return
    if not all(isinstance(one, dict) and one.get("kind") in KINDS for one in checks):
        wire.ack(asked, "one of the checks is of no known kind")
        return
    _thread.start_new_thread(_answer, (asked, checks, wire))


def _answer(asked, checks, wire):
    results = [[ok, said[:MOST_WORDS]] for ok, said in map(result_of, checks)]
    wire.send(t="preflight", id=asked["id"], results=results)
    wire.ack(asked)
