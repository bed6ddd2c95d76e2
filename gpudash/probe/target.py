"""One process that an order names: bound once, looked at again right before each signal.

A pid is used again, a process becomes another program, a user changes: so a target is bound by a
descriptor where the kernel has one (pidfd, 5.3), and whatever the descriptor says, boot, pid,
start time, user and executable are compared with the plan's each time. What differs gets nothing.
"""

import ctypes
import errno
import os
import resource
import select
import signal

from gpudash.probe.line import read_file

PIDFD_OPEN = 434  # the same number on every architecture
PIDFD_SEND_SIGNAL = 424
SPARE_FDS = 128
NOT_HERE = (errno.ENOSYS, errno.EPERM, errno.EINVAL)  # an old kernel, a sandbox that forbids it


class Refused(Exception):
    """This is not the process that was meant, or it is there no more.

    `word` is one of the report's: gone, changed, forbidden.
    """

    def __init__(self, word, why=""):
        Exception.__init__(self, why or word)
        self.word = word


def look(pid):
    """Return [start ticks, uid, [device, inode] of the executable or None, state, threads].

    None when there is no such process. Threads are those that live; a zombie leader has some.
    """
    stat = read_file("/proc/%d/stat" % pid)
    status = read_file("/proc/%d/status" % pid)
    fields = (stat or b"").rpartition(b")")[2].split()
    if len(fields) < 20 or not status:
        return None
    uid = None
    for line in status.splitlines():
        if line.startswith(b"Uid:"):
            uid = int(line.split()[1])
    state = fields[0].decode("ascii", "replace")
    threads = int(fields[17]) - (1 if state == "Z" else 0)
    return [int(fields[19]), uid, executable(pid), state, threads]


def executable(pid):
    """Return device and inode of what a process runs, or None where that can't be read."""
    try:
        found = os.stat("/proc/%d/exe" % pid)
    except OSError:
        return None
    return [found.st_dev, found.st_ino]


def difference(wanted, found):
    """Say what differs between a planned identity and what is there now; empty when nothing does.

    `wanted` is [start, uid, exe]; an executable counts where both sides could read it. One that
    was known and can't be read now is refused, but for a leader that has ended: the kernel forgets
    a dead thread's executable.
    """
    start, uid, exe = wanted
    if found is None:
        return "no such process"
    if found[0] != start:
        return "another process has its pid now"
    if found[1] != uid:
        return "its user changed"
    is_leaderless = found[3] == "Z"
    if exe is not None and list(exe) != found[2] and not (found[2] is None and is_leaderless):
        return "it runs another program now"
    return ""


def is_over(found):
    """Tell whether what `look` found is a process no more: absent, or dead to its last thread."""
    return found is None or (found[3] in ("Z", "X", "x") and found[4] < 1)


def _system_call(number, *arguments):
    """Make a system call that this Python has no name for. Raises OSError."""
    call = ctypes.CDLL(None, use_errno=True).syscall
    result = call(ctypes.c_long(number), *arguments)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def open_descriptor(pid):
    """Return a descriptor of a process. Raises OSError, ESRCH among others."""
    by_name = getattr(os, "pidfd_open", None)
    if by_name is not None:
        return by_name(pid)
    fd = _system_call(PIDFD_OPEN, ctypes.c_int(pid), ctypes.c_uint(0))
    os.set_inheritable(fd, False)
    return fd


def is_spare(fd):
    """Tell whether enough descriptors are left beside this one: /proc must stay readable.

    What can't be read for want of a descriptor would look as if it had ended.
    """
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft == resource.RLIM_INFINITY or fd < soft - SPARE_FDS


def send_by_descriptor(fd, number):
    """Signal what a descriptor stands for. Raises OSError."""
    by_name = getattr(signal, "pidfd_send_signal", None)
    if by_name is not None:
        by_name(fd, number)
    else:
        _system_call(
            PIDFD_SEND_SIGNAL,
            ctypes.c_int(fd),
            ctypes.c_int(number),
            ctypes.c_void_p(None),
            ctypes.c_uint(0),
        )


class Target(object):
    """A bound process."""

    def __init__(self, pid, wanted, has_handle=None):
        """Bind it. Raises Refused where it is not what was planned.

        `has_handle(pid)` tells whether a living thread of a leader that has ended holds one of
        the plan's devices: such a leader has no executable to compare.
        """
        self.pid = pid
        self.wanted = wanted
        self._has_handle = has_handle
        self.fd = None
        self.why_no_fd = ""
        self.is_gone = False
        try:
            self.fd = open_descriptor(pid)
        except OSError as error:
            if error.errno == errno.ESRCH:
                raise Refused("gone", "no such process")
            self.why_no_fd = errno.errorcode.get(error.errno or 0, str(error.errno))
        if self.fd is not None and not is_spare(self.fd):
            self.why_no_fd = "EMFILE"
            self.close()
        # The descriptor first, then the look: what is compared is what the descriptor holds.
        try:
            self._compare()
        except Refused:
            self.close()
            raise

    def _compare(self):
        found = look(self.pid)
        if is_over(found) and (found is None or found[0] == self.wanted[0]):
            raise Refused("gone", "no such process")
        why = difference(self.wanted, found)
        if why:
            raise Refused("changed", why)
        if found[3] == "Z" and self._has_handle is not None and not self._has_handle(self.pid):
            raise Refused("changed", "its main thread has ended, no living thread holds the device")

    def state(self):
        """Return the state's letter, or an empty text where it is gone."""
        found = look(self.pid)
        return found[3] if found is not None and found[0] == self.wanted[0] else ""

    def send(self, number):
        """Send one signal after a last look; return whether it went by the bare pid.

        Raises Refused, or OSError with the kernel's reason. By a descriptor the signal can reach
        nobody but the process that was bound: where that has ended, nobody. By a bare pid (no
        pidfd here, or a sandbox that lets it be opened and not be used) there are some
        microseconds between the last look and the signal in which a pid that becomes free may be
        given to another; so it is looked at once more right before, and the report says so.
        """
        self._compare()
        try:
            if self.fd is not None and self._is_delivered(number):
                return False
            self._compare()
            os.kill(self.pid, number)
            return True
        except OSError as error:
            if error.errno == errno.ESRCH:
                raise Refused("gone", "no such process")
            raise

    def _is_delivered(self, number):
        """Signal by the descriptor; return False where that call is not here. Raises OSError.

        A sandbox may know the one call and not the other; whoever may not signal is told so by
        kill as well.
        """
        try:
            send_by_descriptor(self.fd, number)
        except OSError as error:
            if error.errno not in NOT_HERE:
                raise
            return False
        return True

    def has_ended(self):
        """Tell whether every thread of it is gone; its device files are closed by then."""
        if not self.is_gone:
            if self.fd is not None:
                poll = select.poll()
                poll.register(self.fd, select.POLLIN)
                self.is_gone = bool(poll.poll(0))
            else:
                found = look(self.pid)
                self.is_gone = is_over(found) or found[0] != self.wanted[0]
        return self.is_gone

    def close(self):
        """Let the descriptor go."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None
