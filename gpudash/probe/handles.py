"""Which devices one process has open or mapped.

What is open is read link by link, which never waits; only a link that may be a device is asked
for its number. A file on a network file system is none, and asking could wait for a dead server.
"""

import os
import stat

from gpudash.probe.line import read_file

THREADED = 1  # seen in a thread's table only
BY_PATH = 2  # a mapping whose device number could not be asked for
MAX_MAPS = 4 * 1024 * 1024
NETWORK = ("nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "9p", "afs", "beegfs", "gpfs", "autofs")


class Mounts(object):
    """Where network file systems are mounted, by mount namespace."""

    def __init__(self):
        self._remote = {}

    def remote_of(self, pid):
        """Return where a process's files may lie with a server."""
        try:
            namespace = os.stat("/proc/%d/ns/mnt" % pid).st_ino
        except OSError:
            namespace = None
        places = self._remote.get(namespace)
        if places is None:
            places = self._remote[namespace] = _remote_places(pid)
        return places


def _remote_places(pid):
    places = []
    table = read_file("/proc/%d/mountinfo" % pid, 1024 * 1024) or b""
    for line in table.decode("utf-8", "surrogateescape").splitlines():
        front, _, back = line.partition(" - ")
        kind = back.split(" ", 1)[0]
        words = front.split(" ")
        if len(words) > 4 and (kind in NETWORK or kind.startswith("fuse")):
            places.append(words[4].replace("\\040", " ").rstrip("/"))
    return places


class Open(object):
    """What one process has open: devices, and the sockets behind its descriptors."""

    def __init__(self, devices, mounts, pid):
        self._devices = devices
        self._mounts = mounts
        self._pid = pid
        self._known = {}
        self._remote = None
        self.found = {}  # (kind, gpu) to [count, flags]
        self.sockets = []
        self.links = set()  # beyond the first three descriptors: those come from whoever started it
        self.files = []  # (descriptor, path, when written, inode) of plain files

    def look(self, folder, flags=0):
        """Look at one table of descriptors. Raises OSError where it can't be read."""
        table = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            known = self._known
            readlink = os.readlink
            for name in os.listdir(table):
                try:
                    link = readlink(name, dir_fd=table)
                except PermissionError:
                    raise  # to list a table may be allowed where following it is not
                except OSError:
                    continue  # closed meanwhile
                if link[0] == "s":  # socket:[INODE]
                    self.sockets.append(link)
                    if len(name) > 1 or name > "2":
                        self.links.add(link)
                elif link[0] == "p":  # pipe:[INODE]
                    if len(name) > 1 or name > "2":
                        self.links.add(link)
                elif link[0] == "/":
                    if link not in known:
                        known[link] = self._device(link, name, table)
                    if known[link] is not None:
                        self._add(known[link], 1, flags)
        finally:
            os.close(table)

    def _device(self, link, name, table):
        if "/dev/" not in link and self._is_remote(link):
            return None
        try:
            status = os.stat(name, dir_fd=table)
        except OSError:
            return None
        if stat.S_ISREG(status.st_mode):
            self.files.append((name, link, status.st_mtime, status.st_ino))
            if link.startswith("/dev/shm/"):
                self.links.add("shm:[%d]" % status.st_ino)
        return self._devices.of(status.st_rdev) if stat.S_ISCHR(status.st_mode) else None

    def _is_remote(self, path):
        if self._remote is None:
            self._remote = self._mounts.remote_of(self._pid)
        return any(path == place or path.startswith(place + "/") for place in self._remote)

    def _add(self, device, count, flags):
        seen = self.found.get(device)
        if seen is None:
            self.found[device] = [count, flags]
        else:
            seen[0] += count
            seen[1] &= flags

    @property
    def has_gpu(self):
        """Tell whether a GPU of its own was found."""
        return any(kind == "gpu" for kind, _ in self.found)

    @property
    def has_uvm(self):
        """Tell whether the node of unified memory is open."""
        return any(kind == "uvm" for kind, _ in self.found)

    def look_at_maps(self):
        """Add what is mapped and not open. Raises OSError where that can't be read.

        The device column of maps is the file system's; the device's own number is told by
        map_files, which root may follow, else by the path as we see it.
        """
        with open("/proc/%d/maps" % self._pid, "rb") as maps:
            lines = maps.read(MAX_MAPS).split(b"\n")
        seen = set()
        for line in lines:
            words = line.split(None, 5)
            if len(words) < 6 or b"/dev/" not in words[5] or words[5].startswith(b"/dev/shm/"):
                continue
            if words[5] not in seen:
                seen.add(words[5])
                self._map(words[0].decode("ascii"), words[5])

    def _map(self, span, path):
        flags = 0
        try:
            status = os.stat("/proc/%d/map_files/%s" % (self._pid, span))
        except OSError:
            flags = BY_PATH
            try:
                status = os.stat(path)
            except OSError:
                return
        device = self._devices.of(status.st_rdev) if stat.S_ISCHR(status.st_mode) else None
        if device is not None and device not in self.found:
            self.found[device] = [0, flags]

    def rows(self):
        """Return the handles for the wire."""
        order = sorted(self.found.items(), key=lambda item: (item[0][0], item[0][1] or ""))
        return [[kind, gpu, count, flags] for (kind, gpu), (count, flags) in order]


def look(devices, mounts, one):
    """Return what a process has open, and whether that could be read.

    `one` is a `scan.Stat`. Where the main thread has ended its table is gone, and the living
    threads have it.
    """
    seen = Open(devices, mounts, one.pid)
    try:
        if one.state == "Z":
            if one.living:
                _look_at_threads(seen, one.pid)
        else:
            seen.look("/proc/%d/fd" % one.pid)
    except (PermissionError, FileNotFoundError, ProcessLookupError) as error:
        return seen, not isinstance(error, PermissionError)
    return seen, True


def has_cuda(pid):
    """Tell whether a process has libcuda mapped, a living thread's where its leader has ended.

    None where that can't be read, or is not told in what is read.
    """
    text = _maps(pid, "maps")
    if text == b"":
        threads = [name for name in _names("/proc/%d/task" % pid) if int(name) != pid]
        text = _maps(pid, "task/%s/maps" % threads[0]) if threads else None
    if not text:
        return None
    if b"/libcuda.so" in text:
        return True
    return False if len(text) < MAX_MAPS else None


def _maps(pid, name):
    try:
        with open("/proc/%d/%s" % (pid, name), "rb") as maps:
            return maps.read(MAX_MAPS)
    except OSError:
        return None


def _names(folder):
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _look_at_threads(seen, pid):
    for thread in os.listdir("/proc/%d/task" % pid):
        if int(thread) == pid:
            continue
        try:
            seen.look("/proc/%d/task/%s/fd" % (pid, thread), THREADED)
        except (FileNotFoundError, ProcessLookupError):
            continue  # this one has just ended; another one has the table as well
        if seen.found:
            return  # threads share one table
