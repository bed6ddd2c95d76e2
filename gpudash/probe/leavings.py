"""What dead processes leave behind: shared memory with a name, and ports that are not free yet.

A segment is removed only by request, and only where it is provably of a process that ended (which
had it mapped or open, made it, or gave it its name), is no older than these unless a framework
named it (a data set that somebody put there is no segment of whoever reads it), nobody has it
mapped or open, its file is the very one that was seen before, and the maps of every process could
be read.
"""

import ctypes
import os
import re
import stat
import time

from gpudash.probe.connections import LISTENING, TIME_WAIT
from gpudash.probe.line import now, read_file
from gpudash.probe.sharing import FOLDER, Users, names

MOST_ROWS = 200
MOST_USERS = 8
IPC_RMID = 0
BY_PID = re.compile(r"(?:sgl_shm|torch|vllm|multi_tokenizer_args|sglang|cuda\.shm|nccl|psm)[_.-]")

FRAMEWORKS = re.compile(
    r"(?:psm_|sem\.|sgl_shm|nccl-|cuda\.shm\.|torch_\d|vllm_offload_|multi_tokenizer_args_)"
)
SLACK_S = 0.1  # the clock of a file system is coarser


class Born(object):
    """When each of the processes began, so that an older thing of the same number is none of them.

    A pid in a segment's name, or as its maker, is one that was used before as well.
    """

    def __init__(self, pids, starts):
        """`starts` has the ticks since boot at which each of `pids` began."""
        ticks = float(os.sysconf("SC_CLK_TCK"))
        self._at = {pid: start / ticks for pid, start in zip(pids, starts)}
        self._booted = time.time() - now()

    def made(self, pid, changed, slack=0.0):
        """Tell whether what changed then (by the wall clock) can be this process's."""
        began = self._at.get(pid)
        return began is not None and changed - self._booted + slack >= began

    def were_there(self, changed):
        """Tell whether any of these processes was there when something changed."""
        return any(self.made(pid, changed, SLACK_S) for pid in self._at)


def files(users, pids, known, born, is_living):
    """Return the segments with a file that are of these processes, as rows.

    While they live, what they have mapped or open is theirs; afterwards what was `known` then,
    and what a framework named after one of them.
    """
    rows = []
    for name in names():
        try:
            status = os.lstat("%s/%s" % (FOLDER, name))
        except OSError:
            continue
        if not stat.S_ISREG(status.st_mode):
            continue
        using = users.of.get(status.st_ino, [])
        is_theirs = is_living and bool(set(using) & pids)
        if is_theirs or status.st_ino in known or _is_named(name, status.st_ctime, born):
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


def _is_named(name, changed, born):
    """Tell whether a framework's segment carries one of these pids in its name, and is its."""
    if not BY_PID.match(name):
        return False
    numbers = [int(word) for word in re.split(r"[_.-]", name) if word.isdigit()]
    return any(born.made(number, changed) for number in numbers)


def tables(born, numbers=()):
    """Return the System V segments that these processes made, and those of these numbers."""
    rows = []
    text = read_file("/proc/sysvipc/shm", 1024 * 1024) or b""
    for line in text.decode("ascii", "replace").splitlines()[1:]:
        words = line.split()
        if len(words) < 14:
            continue
        number, creator, attached = int(words[1]), int(words[4]), int(words[6])
        # The table has whole seconds.
        if number in numbers or (born and born.made(creator, int(words[13]), 1.0)):
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


def remove(row, options, uids, born):
    """Remove one segment after a last look; return why not, or an empty text."""
    if row["uid"] not in uids:
        return "it is another user's"
    if row["kind"] == "sysv":
        if any(one["users"] for one in tables(None, {row["id"]})):
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
        found = os.lstat(path)
        if found.st_ino != row["id"]:
            return "it is another file now"
        if not (FRAMEWORKS.match(row["name"]) or born.were_there(found.st_ctime)):
            return "it was there before the family"
        if found.st_nlink != 1:
            return "it has another name"
        os.unlink(path)
    except OSError as error:
        return error.strerror or str(error)
    return ""


def answer_leavings(command, wire, options):
    """Answer what these processes have left, or have; remove it where that is asked for."""
    told = [command.get(name) or [] for name in ("pids", "starts", "known", "ports", "uids")]
    if any(type(value) is not int for values in told for value in values):
        wire.ack(command, "pids, starts, known, ports and uids must be numbers")
        return
    born = Born(told[0], told[1])
    pids, _, known, ports, uids = (set(values) for values in told)
    is_living = bool(command.get("only"))
    users = Users(options, pids if is_living else None)
    rows = (files(users, pids, known, born, is_living) + tables(born))[:MOST_ROWS]
    for row in rows if command.get("remove") else []:
        if row["users"]:
            row["why"] = "it is mapped or open"
        elif row["kind"] == "file" and users.unread:
            row["why"] = "not every process could be looked into"
        else:
            row["why"] = remove(row, options, uids, born)
            row["removed"] = not row["why"]
    wire.send(t="leavings", id=command["id"], rows=rows, unread=users.unread, ports=ports_of(ports))
    wire.ack(command)
