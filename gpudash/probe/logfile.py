"""Reads a log file as it grows: rotated, truncated, deleted, not there yet, found again later.

A place in it is (inode, offset), and the checksum of the file's first bytes says that it still is
that file: an inode is given away again, and a truncated file grows back past the old offset.
Only plain files are opened: reading a pipe would take from others what is theirs.
"""

import errno
import os
import stat
import time
import zlib

from gpudash.probe.logstart import READ_BACK, last_start, line_at

PIECE = 45000  # bytes; fits into a line of the wire as base64
HEAD = 256
MOST_NAMES = 4096


class Unreadable(Exception):
    """A path is no log; the words say why."""


class Piece(object):
    """What was read: bytes at a place, or a note that something happened to the file."""

    def __init__(self, offset, data=b"", note="", **more):
        self.offset = offset
        self.data = data
        self.note = note
        self.more = more  # `line`: number of the line that begins here; `age`: since it was written


def why_no_log(status, path):
    """Return why what stands at a path can't be followed, or an empty text."""
    kind = stat.S_IFMT(status.st_mode)
    if kind == stat.S_IFREG:
        return ""
    words = {
        stat.S_IFDIR: "is a folder",
        stat.S_IFIFO: "is a pipe: reading it would take the lines from whoever reads it",
        stat.S_IFSOCK: "is a socket",
        stat.S_IFCHR: "is a device",
        stat.S_IFBLK: "is a device",
    }
    return "%s %s" % (path, words.get(kind, "is no plain file"))


class LogFile(object):
    """One path, read from a place on."""

    def __init__(self, path, start="start", inode=None, head=None, anchors=()):
        """`start` is `start`, `end`, `anchor` or an offset; `head` is [length, checksum]."""
        self._path = path
        self._start = start
        self._wanted = (inode, head)
        self._anchors = anchors
        self._fd = -1
        self._head = b""
        self._told = ""
        self._seen = None
        self.inode = inode
        self.offset = start if type(start) is int else 0

    def head(self):
        """Return length and checksum of the first bytes, by which the file is known again."""
        return [len(self._head), zlib.crc32(self._head) & 0xFFFFFFFF]

    def close(self):
        """Give the file back."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def file(self):
        """Return the stat of what is read, or None."""
        return None if self._fd < 0 else os.fstat(self._fd)

    def is_at_end(self):
        """Tell whether all that is there was read."""
        return self._fd < 0 or os.fstat(self._fd).st_size <= self.offset

    def wait(self, event, seconds):
        """Wait until it may have grown, or until the event is set."""
        event.wait(seconds)

    def read(self):
        """Return the next piece, or None when there is none now. Raises Unreadable."""
        if self._fd < 0:
            return self._open()
        status = os.fstat(self._fd)
        if status.st_size < self.offset or not self._is_same(status):
            return self._anew()
        data = self._next(status.st_size)
        if data:
            piece = Piece(self.offset, data)
            self.offset += len(data)
            self._told = "" if self._told == "gone" else self._told
            return piece
        return self._look_at_path()

    # -- opening -----------------------------------------------------------------------------

    def _open(self):
        """Open what stands at the path and go to where reading begins."""
        try:
            fd = self._opened(self._path)
        except OSError as error:
            return self._missing(error)
        inode, head = self._wanted
        if type(self._start) is int:
            fd, note = self._found_again(fd, inode, head)
            self._take(fd)
            return self._noted(note) if note else self.read()
        self._take(fd)
        self._told = ""
        status = os.fstat(fd)
        size = status.st_size
        if self._start == "end":
            self.offset = size
        elif self._start == "anchor" and size > READ_BACK:
            self.offset = last_start(fd, size, self._anchors)
        line = line_at(fd, self.offset)
        self._start = self.offset
        age = max(0.0, time.time() - status.st_mtime) if size else 0.0
        return Piece(self.offset, note="opened", line=line, age=round(age, 1), words=self._path)

    def _opened(self, path):
        """Open a plain file. Raises OSError, Unreadable."""
        words = why_no_log(os.stat(path), path)
        if words:
            raise Unreadable(words)
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        words = why_no_log(os.fstat(fd), path)
        if words:
            os.close(fd)
            raise Unreadable(words)
        return fd

    def _missing(self, error):
        if error.errno in (errno.ENOENT, errno.ESTALE):
            return self._say("waiting")
        if error.errno in (errno.EACCES, errno.EPERM):
            return self._say("denied")
        raise Unreadable("%s: %s" % (self._path, os.strerror(error.errno or 0)))

    def _say(self, note):
        """Return a note once."""
        if self._told == note:
            return None
        self._told = note
        return Piece(self.offset, note=note)

    def _take(self, fd):
        self.close()
        self._fd = fd
        self._head = b""
        self._seen = None
        self.inode = os.fstat(fd).st_ino
        self._learn_head()

    def _found_again(self, fd, inode, head):
        """Return the file that was read before, and what became of it."""
        status = os.fstat(fd)
        if status.st_ino == inode and status.st_size >= self.offset and _has_head(fd, head):
            return fd, ""
        if status.st_ino == inode:
            self.offset = 0
            return fd, "truncated"
        old = self._by_inode(inode, head)
        if old is not None:
            os.close(fd)
            return old, ""
        self.offset = 0
        return fd, "replaced"

    def _by_inode(self, inode, head):
        """Open the file that was read before under its new name beside the path; else None."""
        folder = os.path.dirname(self._path) or "."
        try:
            names = os.listdir(folder)[:MOST_NAMES]
        except OSError:
            return None
        for name in names:
            path = os.path.join(folder, name)
            try:
                if os.lstat(path).st_ino != inode:
                    continue
                fd = self._opened(path)
            except (OSError, Unreadable):
                continue
            if os.fstat(fd).st_size >= self.offset and _has_head(fd, head):
                return fd
            os.close(fd)
        return None

    # -- reading -----------------------------------------------------------------------------

    def _next(self, size):
        """Return the next bytes; a hole in the file is skipped."""
        if self.offset >= size:
            return b""
        data = os.pread(self._fd, PIECE, self.offset)
        if data[:1] == b"\0":
            self.offset = self._behind_hole()
            data = os.pread(self._fd, PIECE, self.offset)
        if len(self._head) < HEAD:
            self._learn_head()
        return data

    def _behind_hole(self):
        """Return where data begins, at or behind the offset."""
        try:
            return os.lseek(self._fd, self.offset, os.SEEK_DATA)
        except OSError:
            return self.offset

    def _learn_head(self):
        self._head = os.pread(self._fd, HEAD, 0)

    def _is_same(self, status):
        """Tell whether the file still begins as it did."""
        seen = (status.st_size, status.st_mtime)
        if seen == self._seen:
            return True
        self._seen = seen
        return not self._head or os.pread(self._fd, len(self._head), 0) == self._head

    def _anew(self):
        self.offset = 0
        self._learn_head()
        return self._noted("truncated")

    def _noted(self, note):
        return Piece(self.offset, note=note, line=1 if self.offset == 0 else None)

    def _look_at_path(self):
        """At the end: see whether another file stands at the path now."""
        try:
            status = os.stat(self._path)
        except OSError:
            return self._say("gone")
        mine = os.fstat(self._fd)
        if (status.st_dev, status.st_ino) == (mine.st_dev, mine.st_ino):
            return None
        if not status.st_size or why_no_log(status, self._path):
            # Whoever writes may still write to the old one.
            return None
        rest = os.pread(self._fd, PIECE, self.offset)
        if rest:
            return self.read()
        try:
            fd = self._opened(self._path)
        except (OSError, Unreadable):
            return self._say("denied")
        self.offset = 0
        self._told = ""
        self._take(fd)
        return self._noted("rotated")


def _has_head(fd, head):
    """Tell whether a file begins with the bytes of this length and checksum."""
    if not isinstance(head, list) or len(head) != 2:
        return True
    data = os.pread(fd, min(HEAD, int(head[0])), 0)
    return len(data) == head[0] and zlib.crc32(data) & 0xFFFFFFFF == head[1]
