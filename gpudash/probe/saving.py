"""Whether a process writes something big that it would be a pity to cut off."""

import os
import stat

O_ACCMODE, O_RDONLY = 3, 0
LEAST_GROWTH = 256 * 1024  # between two looks: a log seldom grows so fast
LOGS = (".log", ".out", ".err", ".txt", ".jsonl", ".csv")


def written(pid):
    """Return size by (device, inode) of regular files that a process has open for writing."""
    sizes = {}
    folder = "/proc/%d/fd" % pid
    try:
        names = os.listdir(folder)
    except OSError:
        return sizes
    for name in names:
        try:
            link = os.readlink("%s/%s" % (folder, name))
            if not link.startswith("/") or link.endswith(LOGS):
                continue
            if not os.lstat("%s/%s" % (folder, name)).st_mode & stat.S_IWUSR:
                continue  # the link's mode is that of the open file
            status = os.stat("%s/%s" % (folder, name))
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            sizes[(status.st_dev, status.st_ino)] = status.st_size
    return sizes


class Saving(object):
    """Files of a family, from one look to the next."""

    def __init__(self):
        self._sizes = {}

    def note(self, pids):
        """Look for the first time."""
        self._sizes = {}
        for pid in pids:
            self._sizes.update(written(pid))

    def goes_on(self, pids):
        """Tell whether a file grew since the last look."""
        before = self._sizes
        self.note(pids)
        return any(size - before.get(key, 0) >= LEAST_GROWTH for key, size in self._sizes.items())
