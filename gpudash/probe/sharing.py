"""Who has which segment of /dev/shm mapped or open, wherever its file system is mounted.

A segment may be reached by another path: a bind mount, a container that shares it, a process whose
root is elsewhere. So nobody is judged by a path, but by device and inode; and no file of another
file system is touched to learn these, as one on a dead server would never answer.
"""

import os

from gpudash.probe.devices import INITIAL_PID_NAMESPACE, lists_own_pids
from gpudash.probe.line import pid_namespace
from gpudash.probe.scan import hiding_note

FOLDER = "/dev/shm"
MAX_MAPS = 16 * 1024 * 1024
MAX_MOUNTS = 4 * 1024 * 1024


class Users(object):
    """Who has which segment mapped or open, by inode."""

    def __init__(self, options, pids=None):
        """Look at everybody, or at these alone."""
        self.of = {}
        self.unread = 0
        self._device = 0
        self._mounts = {}
        self._seen = set()
        self._inodes = _inodes()
        if pids is None:
            pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        try:
            self._device = os.stat(FOLDER).st_dev
        except OSError:
            pids = []  # no such folder, so nothing is in it
        for pid in pids:
            self._note_mounts(pid)
        for pid in pids:
            self._look(pid)
        if hiding_note():
            self.unread += 1
        is_whole = lists_own_pids(options) if options.get("devices") is not None else False
        if not is_whole and pid_namespace() != INITIAL_PID_NAMESPACE:
            self.unread += 1  # whoever is outside of this container may map it as well

    def _note_mounts(self, pid):
        """Learn the device of each mount that a process sees; their numbers are the kernel's."""
        folder = "/proc/%d" % pid
        try:
            room = (os.readlink(folder + "/ns/mnt"), os.readlink(folder + "/root"))
            if room in self._seen:
                return
            text = _whole(folder + "/mountinfo", MAX_MOUNTS)
        except OSError:
            return  # gone, or not to be looked into: then its descriptors are neither
        self._seen.add(room)
        for line in text.split(b"\n"):
            words = line.split(None, 3)
            if len(words) == 4:
                self._mounts[int(words[0])] = _device(words[2], 10)

    def _look(self, pid):
        try:
            if self._maps(pid, "/proc/%d" % pid):
                self._open(pid, "/proc/%d" % pid)
                return
            # The kernel's own have no memory; neither has a leader that ended before its threads.
            for name in os.listdir("/proc/%d/task" % pid):
                folder = "/proc/%d/task/%s" % (pid, name)
                self._maps(pid, folder)
                self._open(pid, folder)
        except PermissionError:
            self.unread += 1
        except OSError:
            return  # it ended meanwhile

    def _maps(self, pid, folder):
        """Note what is mapped; return whether anything at all is."""
        text = _whole(folder + "/maps", MAX_MAPS)
        if len(text) >= MAX_MAPS:
            self.unread += 1
        for line in text.split(b"\n"):
            words = line.split(None, 5)
            if len(words) > 4 and _device(words[3], 16) == self._device:
                self._add(int(words[4]), pid)
        return bool(text)

    def _open(self, pid, folder):
        for name in os.listdir(folder + "/fd"):
            try:
                self._descriptor(pid, folder, name)
            except PermissionError:
                raise
            except OSError:
                continue  # closed meanwhile

    def _descriptor(self, pid, folder, name):
        link = os.readlink("%s/fd/%s" % (folder, name))
        if not link.startswith("/") or link.startswith("/memfd:"):
            return  # a socket, a pipe, memory without a name in any folder
        told = _fields(_whole("%s/fdinfo/%s" % (folder, name), 65536))
        device = self._mounts.get(told.get(b"mnt_id"))
        if device is None and link.startswith("/dev/") and "shm" not in link:
            return  # a device file of a room that is not seen
        if device is not None and device != self._device:
            return
        inode = told.get(b"ino")
        if inode is None and device == self._device:
            inode = os.stat("%s/fd/%s" % (folder, name)).st_ino
        if inode is None:
            # A kernel before 5.14, and a mount that was taken away under it: it may be any file.
            self.unread += 1
            return
        self._add(inode, pid)

    def _add(self, inode, pid):
        if inode in self._inodes:
            pids = self.of.setdefault(inode, [])
            if pid not in pids:
                pids.append(pid)


def names():
    """Return the names in the folder."""
    try:
        return sorted(os.listdir(FOLDER))
    except OSError:
        return []


def _inodes():
    """Return the inodes of all files in the folder."""
    found = set()
    for name in names():
        try:
            found.add(os.lstat("%s/%s" % (FOLDER, name)).st_ino)
        except OSError:
            continue  # it went away meanwhile
    return found


def _device(text, base):
    """Return a device number: mountinfo writes its halves to base 10, maps to base 16."""
    major, _, minor = text.partition(b":")
    try:
        return os.makedev(int(major, base), int(minor, base))
    except ValueError:
        return None


def _whole(path, most):
    """Return a file of /proc as bytes, at most so many. Raises OSError."""
    with open(path, "rb") as file:
        return file.read(most)


def _fields(text):
    """Return the numbers of an fdinfo by name."""
    found = {}
    for line in text.split(b"\n"):
        name, _, value = line.partition(b":")
        if value.strip().isdigit():
            found[name] = int(value)
    return found
