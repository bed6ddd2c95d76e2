"""Who a pid is: what /proc says of a process and of the way up from it."""

import json
import os
import pwd

from gpudash.probe.line import now, read_file

MAX_ANSWER = 48 * 1024
MAX_ARGV = 600
MAX_UP_ARGV = 300
MAX_UP = 24
PID_LENGTH = 9  # of one in a list, at most
PID_MAX = 4194304  # of a 64-bit kernel; os.kill refuses what does not fit into 32 bits


def process(pid, max_argv=MAX_ARGV):
    """Return what /proc says of a pid, without its ancestors; None when it can't be read."""
    stat = read_file("/proc/%d/stat" % pid)
    status = read_file("/proc/%d/status" % pid)
    if not stat or not status:
        return None
    head, _, tail = stat.rpartition(b")")
    fields = tail.split()
    uid = uid_of(status)
    if len(fields) < 20 or uid is None:
        return None
    start = int(fields[19])
    return {
        "pid": pid,
        "ppid": int(fields[1]),
        "start": start,
        "uid": uid,
        "user": user_name(uid),
        "comm": text(head.partition(b"(")[2]),
        "argv": argv_of(pid, max_argv),
        "state": text(fields[0]),
        "age": round(max(0.0, now() - start / float(os.sysconf("SC_CLK_TCK"))), 2),
    }


def identity(pid):
    """Return when a pid's process started and its notable state; None when it can't be read."""
    fields = (read_file("/proc/%d/stat" % pid) or b"").rpartition(b")")[2].split()
    if len(fields) < 20:
        return None
    return int(fields[19]), _notable(text(fields[0]))


def _notable(state):
    """Keep a state that means something; who works changes between the others all the time."""
    return state if state in ("Z", "T", "t") else ""


def uid_of(status):
    """Return the real uid; the owner of /proc/PID is root for a process that can't be dumped."""
    for line in status.splitlines():
        if line.startswith(b"Uid:"):
            return int(line.split()[1])
    return None


def argv_of(pid, limit):
    data = read_file("/proc/%d/cmdline" % pid, limit) or b""
    words = text(data).split("\0")
    while words and not words[-1]:
        words.pop()
    return words


def text(data):
    return data.decode("utf-8", "replace")


def user_name(uid):
    """Return the login name, else the number."""
    try:
        return pwd.getpwuid(uid).pw_name
    except (KeyError, OSError):
        return str(uid)


def with_ancestors(row):
    """Add the way up from a process, without pid 1."""
    up = []
    seen = {row["pid"]}
    parent = row.pop("ppid")
    while parent > 1 and parent not in seen and len(up) < MAX_UP:
        step = process(parent, MAX_UP_ARGV)
        if step is None:
            break
        seen.add(parent)
        up.append([parent, step["start"], step["uid"], step["comm"], step["argv"]])
        parent = step["ppid"]
    row["up"] = up
    return row


def is_gone(pid):
    """Tell whether no process of that pid exists: hidepid hides the living, kill(0) does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def is_pid(value):
    return bool(type(value) is int and 0 < value <= PID_MAX)


def _told(command):
    """Return the identities that the asker knows already, by pid."""
    told = {}
    known = command.get("known")
    for row in known if isinstance(known, list) else ():
        if isinstance(row, list) and len(row) == 3 and is_pid(row[0]):
            told[row[0]] = (row[1], _notable(row[2]))
    return told


def answer_process(command, wire):
    """Answer about the pids of a command, in lines that fit the wire.

    `known` lists [pid, start, state]: nothing is said of those that are still so.
    """
    pids = command.get("pids")
    if not isinstance(pids, list) or not all(is_pid(pid) for pid in pids):
        wire.ack(command, "pids must be a list of numbers")
        return
    told = _told(command)
    rows = []
    gone = []
    size = 0
    for pid in pids:
        if pid in told and identity(pid) == told[pid]:
            continue
        row = process(pid)
        if row is None:
            if is_gone(pid):
                gone.append(pid)
            continue
        row = with_ancestors(row)
        length = len(json.dumps(row))
        if rows and size + length + PID_LENGTH * len(gone) > MAX_ANSWER:
            wire.ack(command, processes=rows, gone=[], more=True)
            rows = []
            size = 0
        rows.append(row)
        size += length
    if rows and size + PID_LENGTH * len(gone) > MAX_ANSWER:
        wire.ack(command, processes=rows, gone=[], more=True)
        rows = []
    wire.ack(command, processes=rows, gone=gone)
