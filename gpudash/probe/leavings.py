"""What dead processes leave behind: shared memory with a name, and ports that are not free yet.

A segment is removed only by request, and only where nobody has it mapped or open, its file is the
very one that was seen before, and the maps of every process could be read.
"""

import ctypes
import os
import re
import stat

from gpudash.probe.connections import LISTENING, TIME_WAIT
from gpudash.probe.devices import INITIAL_PID_NAMESPACE, lists_own_pids
from gpudash.probe.line import pid_namespace, read_file
from gpudash.probe.scan import hiding_note

FOLDER = "/dev/shm"
MAX_MAPS = 16 * 1024 * 1024
MOST_ROWS = 200
MOST_USERS = 8
IPC_RMID = 0
BY_PID = re.compile(r"(?:sgl_shm|torch|vllm|multi_tokenizer_args|sglang|cuda\.shm|nccl|psm)[_.-]")


class Users(object):
    """Who has which segment mapped or open, by device and inode."""

    def __init__(self, options, pids=None):
        """Look at everybody, or at these alone."""
        self.of = {}
        self.unread = 0
        if pids is None:
            pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        self._device = 0
        try:
            self._device = os.stat(FOLDER).st_dev
        except OSError:
            pids = []  # no such folder, so nothing is in it
        for pid in pids:
            self._look(pid)
        if hiding_note():
            self.unread += 1
        is_whole = lists_own_pids(options) if options.get("devices") is not None else False
        if not is_whole and pid_namespace() != INITIAL_PID_NAMESPACE:
            self.unread += 1  # whoever is outside of this container may map it as well

    def _look(self, pid):
        try:
            self._maps(pid)
            self._open(pid)
        except PermissionError:
            self.unread += 1
        except OSError:
            return  # it ended meanwhile

    def _maps(self, pid):
        with open("/proc/%d/maps" % pid, "rb") as maps:
            text = maps.read(MAX_MAPS)
        if len(text) >= MAX_MAPS:
            self.unread += 1
        for line in text.split(b"\n"):
            words = line.split(None, 5)
            if len(words) < 6:
                continue
            major, _, minor = words[3].partition(b":")
            if os.makedev(int(major, 16), int(minor, 16)) == self._device:
                self._add(int(words[4]), pid)

    def _open(self, pid):
        folder = "/proc/%d/fd" % pid
        for name in os.listdir(folder):
            try:
                link = os.readlink("%s/%s" % (folder, name))
                if "shm" not in link:
                    continue
                status = os.stat("%s/%s" % (folder, name))
            except PermissionError:
                raise
            except OSError:
                continue  # closed meanwhile
            if status.st_dev == self._device and stat.S_ISREG(status.st_mode):
                self._add(status.st_ino, pid)

    def _add(self, inode, pid):
        pids = self.of.setdefault(inode, [])
        if pid not in pids:
            pids.append(pid)


def files(users, pids, known):
    """Return the segments with a file that are of these processes, as rows."""
    rows = []
    for name in _names():
        try:
            status = os.lstat("%s/%s" % (FOLDER, name))
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode):
            continue
        using = users.of.get(status.st_ino, [])
        is_ours = status.st_ino in known or bool(set(using) & pids) or _is_named(name, pids)
        if is_ours:
            rows.append(
                {
                    "kind": "file",
                    "name": name,
                    "id": status.st_ino,
                    "size": status.st_size,
                    "uid": status.st_uid,
                    "users": using[:MOST_USERS],
                }
            )
    return rows


def _names():
    try:
        return sorted(os.listdir(FOLDER))
    except OSError:
        return []


def _is_named(name, pids):
    """Tell whether a framework's segment carries one of these pids in its name."""
    if not BY_PID.match(name):
        return False
    return any(word.isdigit() and int(word) in pids for word in re.split(r"[_.-]", name))


def tables(pids, numbers=()):
    """Return the System V segments that these processes made, and those of these numbers."""
    rows = []
    text = read_file("/proc/sysvipc/shm", 1024 * 1024) or b""
    for line in text.decode("ascii", "replace").splitlines()[1:]:
        words = line.split()
        if len(words) < 8:
            continue
        number, creator, attached = int(words[1]), int(words[4]), int(words[6])
        if number in numbers or creator in pids:
            rows.append(
                {
                    "kind": "sysv",
                    "name": "key %s" % words[0],
                    "id": number,
                    "size": int(words[3]),
                    "uid": int(words[7]),
                    "users": [0] * min(attached, MOST_USERS),
                }
            )
    return rows


def ports_of(wanted):
    """Return how many sockets still stand on these ports: [port, listening, ended]."""
    found = {port: [0, 0] for port in wanted}
    for name in ("tcp", "tcp6"):
        text = read_file("/proc/self/net/%s" % name, 16 * 1024 * 1024) or b""
        for line in text.decode("ascii", "replace").splitlines()[1:]:
            words = line.split()
            if len(words) < 10:
                continue
            port = int(words[1].rpartition(":")[2], 16)
            if port in found and words[3] in (LISTENING, TIME_WAIT):
                found[port][words[3] == TIME_WAIT] += 1
    return [[port, counts[0], counts[1]] for port, counts in sorted(found.items()) if any(counts)]


def remove(row, options, uids):
    """Remove one segment after a last look; return why not, or an empty text."""
    if row["uid"] not in uids:
        return "it is another user's"
    if row["kind"] == "sysv":
        if any(one["users"] for one in tables((), {row["id"]})):
            return "it is attached"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.shmctl(ctypes.c_int(row["id"]), ctypes.c_int(IPC_RMID), None) < 0:
            return os.strerror(ctypes.get_errno())
        return ""
    users = Users(options)
    if users.unread:
        return "not every process could be looked into"
    if users.of.get(row["id"]):
        return "it is mapped or open"
    path = "%s/%s" % (FOLDER, row["name"])
    try:
        if os.lstat(path).st_ino != row["id"]:
            return "it is another file now"
        os.unlink(path)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def answer_leavings(command, wire, options):
    """Answer what these processes have left, or have; remove it where that is asked for."""
    told = [command.get(name) or [] for name in ("pids", "known", "ports", "uids")]
    if any(type(value) is not int for values in told for value in values):
        wire.ack(command, "pids, known, ports and uids must be numbers")
        return
    pids, known, ports, uids = (set(values) for values in told)
    users = Users(options, pids if command.get("only") else None)
    rows = (files(users, pids, known) + tables(pids))[:MOST_ROWS]
    for row in rows if command.get("remove") else []:
        if row["users"]:
            row["why"] = "it is mapped or open"
        elif row["kind"] == "file" and users.unread:
            row["why"] = "not every process could be looked into"
        else:
            row["why"] = remove(row, options, uids)
            row["removed"] = not row["why"]
    wire.send(t="leavings", id=command["id"], rows=rows, unread=users.unread, ports=ports_of(ports))
    wire.ack(command)
