"""Reads what a tmux pane shows, again and again, and passes on what is new.

A picture is no stream: what scrolled out of the history between two looks is lost. The lowest line
may still change: it comes as it is and again, behind CR, when it changes, and is a line once it
stood still.
"""

import subprocess

from gpudash.probe.logfile import PIECE, Piece, Unreadable

HISTORY = 2000  # lines
LOOK_S = 1.0
PATIENCE_S = 5.0


def tmux(*words):
    """Return what tmux answers, as lines of bytes. Raises Unreadable."""
    try:
        done = subprocess.run(
            ("tmux",) + words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            timeout=PATIENCE_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise Unreadable("tmux can't be asked: %s" % error)
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()[:200]
        raise Unreadable("tmux: %s" % (said or "exit code %d" % done.returncode))
    return done.stdout.split(b"\n")[:-1]


def pane_of_tty(path):
    """Return the pane whose terminal this is, or None."""
    try:
        rows = tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_tty}")
    except Unreadable:
        return None
    for row in rows:
        pane, _, tty = row.decode("utf-8", "replace").partition(" ")
        if tty == path:
            return pane
    return None


def pid_of_pane(pane):
    """Return the pid of the program that the pane was opened with."""
    rows = tmux("display-message", "-p", "-t", pane, "#{pane_pid}")
    return int(rows[0]) if rows and rows[0].isdigit() else None


def news(before, after, is_settled):
    """Return the bytes that lead from one picture to the next.

    The lowest line has no end yet, unless it `is_settled`.
    """
    if not before:
        return b"\n".join(after)
    known, lowest = before[:-1], before[-1]
    joint = b"" if is_settled else b"\n"
    for begin in range(len(known) + 1):
        kept = known[begin:]
        if after[: len(kept)] != kept or len(after) <= len(kept):
            continue
        first, rest = after[len(kept)], after[len(kept) + 1 :]
        if first == lowest:
            return joint + b"\n".join(rest) if rest else b""
        if is_settled:
            return b"\n".join([first] + rest)
        if first.startswith(lowest):
            return b"\n".join([first[len(lowest) :]] + rest)
        return b"\r" + b"\n".join([first] + rest)
    return joint + b"\n".join(after)


class LogPane(object):
    """One pane that is followed."""

    inode = None

    def __init__(self, pane):
        """Look once, so that a pane that is not there is told at once. Raises Unreadable."""
        self._pane = pane
        self._seen = []
        self._is_settled = False
        self._data = b""
        self._is_due = True
        self.offset = 0
        self._look()

    def head(self):
        """A picture has none."""
        return

    def is_at_end(self):
        """Tell whether what was seen is passed on."""
        return not self._data and not self._is_due

    def wait(self, event, _seconds):
        """Wait until it is time to look again."""
        event.wait(LOOK_S)
        self._is_due = True

    def read(self):
        """Return what is new."""
        if not self._data and self._is_due:
            try:
                self._look()
            except Unreadable as error:
                return Piece(self.offset, note="ended", words=str(error))
        if not self._data:
            return None
        piece = Piece(self.offset, self._data[:PIECE])
        self._data = self._data[PIECE:]
        self.offset += len(piece.data)
        return piece

    def _look(self):
        self._is_due = False
        start = "-%d" % HISTORY
        lines = tmux("capture-pane", "-p", "-J", "-t", self._pane, "-S", start)
        while lines and not lines[-1].strip():
            lines.pop()
        lines = [line.rstrip() for line in lines]
        if lines == self._seen and not self._is_settled:
            # It stood still for a look: READY is often the last line for a long time.
            self._is_settled = True
            self._data += b"\n"
        elif lines and lines != self._seen:
            self._data += news(self._seen, lines, self._is_settled)
            self._seen = lines
            self._is_settled = False

    def close(self):
        """Nothing is kept."""
