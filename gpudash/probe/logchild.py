"""Reads a log from a command that prints it: containers, pods, the journal. No shell.

The command ends with us, whatever ends us: the kernel sends it SIGKILL. It is taken up again after
the last line that was passed on: `--since` says about where, and what repeats is left out.
"""

import os
import select
import signal
import subprocess

from gpudash.probe.logfile import PIECE, Piece, Unreadable

MOST_WORDS = 300
MOST_ERRORS = 4096
PR_SET_PDEATHSIG = 1


def dies_with_us():
    """Return what a child calls before it becomes the command, or None where that can't be had."""
    try:
        import ctypes

        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (ImportError, OSError, AttributeError):
        return None
    return lambda: prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


class Plain(object):
    """Lines as the command prints them; it prints the same again when it is started again."""

    def __init__(self, cursor):
        self._passed = cursor[0] if cursor else 0
        self._skip = self._passed

    def feed(self, data):
        """Return what is new."""
        new = data[self._skip :]
        self._skip -= len(data) - len(new)
        self._passed += len(new)
        return new

    def cursor(self):
        return [self._passed]


class LogChild(object):
    """A command whose output is followed."""

    inode = None

    def __init__(self, argv, lines, merges=False):
        """Start it. `merges`: what it says on stderr is log too. Raises Unreadable."""
        self.offset = 0
        self._lines = lines
        self._merges = merges
        self._errors = b""
        self._has_ended = False
        try:
            self._child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=dict(os.environ, LC_ALL="C", SYSTEMD_COLORS="0", SYSTEMD_PAGER=""),
                preexec_fn=dies_with_us(),
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            raise Unreadable("%s can't be started: %s" % (argv[0], error))
        both = (self._child.stdout, self._child.stderr)
        self._streams = [one for one in both if one is not None]
        self._open = [one.fileno() for one in self._streams]
        self._stderr = self._open[1]

    def head(self):
        """A command has none."""
        return

    def is_at_end(self):
        """Tell whether nothing waits now."""
        return not self._open or not select.select(self._open, [], [], 0)[0]

    def wait(self, event, seconds):
        """Wait until it says something, or for so long."""
        if self._open:
            select.select(self._open, [], [], seconds)
        else:
            event.wait(seconds)

    def read(self):
        """Return the next piece, the end once, or None when there is nothing now."""
        if self._has_ended:
            return None
        if self._open:
            for descriptor in select.select(self._open, [], [], 0)[0]:
                data = os.read(descriptor, PIECE // 2)
                if not data:
                    self._open.remove(descriptor)
                    continue
                piece = self._taken(descriptor, data)
                if piece is not None:
                    return piece
            if self._open:
                return None
        return self._end()

    def _taken(self, descriptor, data):
        if descriptor == self._stderr:
            self._errors = (self._errors + data)[-MOST_ERRORS:]
            if not self._merges:
                return None
        new = self._lines.feed(data)
        if not new:
            return None
        at, self.offset = self.offset, self.offset + len(new)
        return Piece(at, new[:PIECE], cursor=self._lines.cursor())

    def _end(self):
        self._has_ended = True
        code = self._child.wait()
        lines = self._errors.decode("utf-8", "replace").strip().splitlines()
        words = lines[-1][:MOST_WORDS] if lines and code else ""
        return Piece(self.offset, note="ended", code=code, words=words)

    def close(self):
        """End it."""
        if self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        for stream in self._streams:
            stream.close()
