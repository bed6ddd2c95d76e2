"""What a plan must know of one process: who, since when, from where, in which room.

Everything is read once and may fail by itself; what is not readable is None or empty. Of its
environment only named variables are taken, none that holds a secret.
"""

import os

from gpudash.probe.line import now, read_file
from gpudash.probe.processes import MAX_ARGV, argv_of, text, uid_of, user_name

KTHREAD = 0x00200000  # PF_KTHREAD of the flags in /proc/PID/stat
NO_SESSION = 4294967295
MAX_ENVIRONMENT = 256 * 1024
MAX_TEXT = 300
HINTS = frozenset(
    """
    RANK LOCAL_RANK WORLD_SIZE GROUP_RANK MASTER_ADDR MASTER_PORT
    TORCHELASTIC_RUN_ID TORCHELASTIC_MAX_RESTARTS
    OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_LOCAL_RANK PMIX_NAMESPACE PMIX_RANK PMI_RANK
    RAY_JOB_ID SLURM_JOB_ID SLURM_STEP_ID SLURM_PROCID
    KUBERNETES_SERVICE_HOST POD_NAME POD_NAMESPACE HOSTNAME container
    TMUX TMUX_PANE STY SSH_CONNECTION SSH_TTY XDG_SESSION_ID
    CUDA_VISIBLE_DEVICES CUDA_MPS_PIPE_DIRECTORY NVIDIA_VISIBLE_DEVICES
    JPY_PARENT_PID INVOCATION_ID SUPERVISOR_PROCESS_NAME SUPERVISOR_GROUP_NAME pm_id
    """.split()
)
TICKS = float(os.sysconf("SC_CLK_TCK"))
PAGE = os.sysconf("SC_PAGE_SIZE")


class Stat(object):
    """/proc/PID/stat: the cheap part that is read of everybody."""

    def __init__(self, pid, data):
        """Raises ValueError, IndexError for what is no such line."""
        head, _, tail = data.rpartition(b")")
        fields = tail.split()
        self.pid = pid
        self.comm = text(head.partition(b"(")[2])
        self.state = text(fields[0])
        self.parent = int(fields[1])
        self.group = int(fields[2])
        self.session = int(fields[3])
        self.terminal = max(0, int(fields[4]))
        self.is_kernel = bool(int(fields[6]) & KTHREAD)
        self.cpu_ticks = int(fields[11]) + int(fields[12])
        # A main thread that ended is counted as long as others live.
        self.living = int(fields[17]) - (self.state in "ZX")
        self.start = int(fields[19])
        self.rss = int(fields[21]) * PAGE

    @property
    def is_dead(self):
        """Tell whether nothing of it runs."""
        return self.state in "ZX" and self.living < 1


def stat_of(pid):
    """Return the stat of a pid, or None where there is none."""
    try:
        return Stat(pid, read_file("/proc/%d/stat" % pid) or b"")
    except (ValueError, IndexError):
        return None


def row_of(one, handles, is_readable):
    """Return all that is told of one process, but for its connections; None when it has gone."""
    pid = one.pid
    status = read_file("/proc/%d/status" % pid)
    uid = uid_of(status or b"")
    if uid is None:
        return None
    return {
        "pid": pid,
        "start": one.start,
        "uid": uid,
        "exe": _file("/proc/%d/exe" % pid),
        "ppid": one.parent,
        "pgrp": one.group,
        "sid": one.session,
        "tty": one.terminal,
        "user": user_name(uid),
        "comm": one.comm,
        "argv": argv_of(pid, MAX_ARGV),
        "path": _link("/proc/%d/exe" % pid),
        "cwd": _link("/proc/%d/cwd" % pid),
        "state": one.state,
        "threads": one.living,
        "age": round(max(0.0, now() - one.start / TICKS), 2),
        "cpu": one.cpu_ticks,
        "rss": one.rss,
        "cgroup": cgroup_of(read_file("/proc/%d/cgroup" % pid) or b""),
        "pidns": _inode("/proc/%d/ns/pid" % pid),
        "nspid": _namespace_pids(status, pid),
        "login": _login(pid),
        "env": hints_of(read_file("/proc/%d/environ" % pid, MAX_ENVIRONMENT) or b""),
        "ports": [],
        "clients": 0,
        "handles": handles,
        "readable": is_readable,
        "kernel": one.is_kernel,
    }


def _file(path):
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_dev, status.st_ino]


def _inode(path):
    try:
        return os.stat(path).st_ino
    except OSError:
        return None


def _link(path):
    try:
        return os.fsencode(os.readlink(path)).decode("utf-8", "replace")[:MAX_TEXT]
    except OSError:
        return None


def _namespace_pids(status, pid):
    for line in status.splitlines():
        if line.startswith(b"NSpid:"):
            return [int(word) for word in line.split()[1:]]
    return [pid]


def _login(pid):
    data = (read_file("/proc/%d/sessionid" % pid) or b"").strip()
    number = int(data) if data.isdigit() else NO_SESSION
    return None if number == NO_SESSION else number


def cgroup_of(data):
    """Return the path that says most: the unified one, systemd's, then any that is not the root."""
    paths = {}
    for line in text(data).splitlines():
        _, _, rest = line.partition(":")
        name, _, path = rest.partition(":")
        paths.setdefault(name, path)
    best = [paths.get("", ""), paths.get("name=systemd", ""), *paths.values()]
    named = [path for path in best if path not in ("", "/")]
    return (named or [path for path in best if path] or [""])[0][: 2 * MAX_TEXT]


def hints_of(environment):
    """Return the named variables of an environment."""
    found = {}
    for entry in environment.split(b"\0"):
        name, _, value = text(entry[: 2 * MAX_TEXT]).partition("=")
        if name in HINTS:
            found[name] = value[:MAX_TEXT]
    return found
