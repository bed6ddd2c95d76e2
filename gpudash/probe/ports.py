"""Who listens on a port of this host, and whether it can be had."""

import errno
import os
import socket

from gpudash.probe.connections import LISTENING, MAX_TABLE
from gpudash.probe.processes import process

MOST_OWNERS = 8


def listening(port):
    """Return the inodes of the sockets that listen on a port."""
    found = set()
    for name in ("tcp", "tcp6"):
        for line in _table(name).decode("ascii", "replace").splitlines()[1:]:
            words = line.split()
            if len(words) < 10 or words[3] != LISTENING:
                continue
            if int(words[1].rpartition(":")[2], 16) == port:
                found.add("socket:[%s]" % words[9])
    return found


def _table(name):
    """Return a table of sockets whole: the kernel gives a page of it at a time."""
    try:
        with open("/proc/self/net/%s" % name, "rb") as table:
            return table.read(MAX_TABLE)
    except OSError:
        return b""


def owners_of(port):
    """Return the pids that have a socket open which listens on a port, as far as can be seen."""
    inodes = listening(port)
    if not inodes:
        return []
    found = []
    for name in sorted(os.listdir("/proc"), key=lambda name: (len(name), name)):
        if name.isdigit() and _has_one(name, inodes):
            found.append(int(name))
    return found[:MOST_OWNERS]


def _has_one(pid, inodes):
    folder = "/proc/%s/fd" % pid
    try:
        return any(_link(folder, name) in inodes for name in os.listdir(folder))
    except OSError:
        return False


def _link(folder, name):
    try:
        return os.readlink("%s/%s" % (folder, name))
    except OSError:
        return ""


def owner_words(port):
    """Return `pid 4711 python server.py (ana)` of whoever listens; empty where nobody is seen."""
    said = []
    for pid in owners_of(port):
        row = process(pid)
        if row is not None:
            words = " ".join(row["argv"]) or row["comm"]
            said.append("pid %d %s (%s)" % (pid, words[:120], row["user"]))
    return ", ".join(said)


def why_taken(port, host=""):
    """Return why a port can't be listened on; empty where it can."""
    try:
        kind = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(kind, socket.SOCK_STREAM) as one:
            # As servers do: connections that just ended are in nobody's way.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind((host, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return "taken by %s" % (owner_words(port) or "somebody who can't be seen from here")
        return error.strerror or str(error)
    if listening(port):
        # On another address: whoever asks the port may get that one's answer.
        return "taken by %s" % (owner_words(port) or "somebody who can't be seen from here")
    return ""
