"""Keeps what a stalled reader has not taken, so that no tick waits for it.

A line is written only while the pipe has room, so no write blocks; stdout is never made
non-blocking, for others may share it. What waits is bounded: samples are dropped from the oldest
on, which their numbers show, and the newest one is always there.
"""

import collections
import os
import select

from gpudash.probe.line import Wire, now

KEPT_S = 30.0
KEPT_BYTES = 1 << 20
SURE = 4096  # a writable pipe takes so much at once without blocking (PIPE_BUF)
LEAVE_S = 5.0


class Backlog(Wire):
    """A wire that never blocks; what can't be written yet waits for `flush`."""

    def __init__(self, token):
        self._waiting = collections.deque()  # (when, is a sample, line)
        self._begun = b""  # rest of a line that is partly written
        self._size = 0
        Wire.__init__(self, token)

    def fileno(self):
        """Return the descriptor to wait for while anything is pending."""
        return self._fd

    @property
    def is_pending(self):
        """Tell whether anything waits for the reader."""
        return bool(self._begun or self._waiting)

    def flush(self):
        """Write what the reader takes now."""
        with self._lock:
            self._flush(0)

    def drain(self):
        """Write all that waits, before the program leaves; give up on a reader that takes none."""
        with self._lock:
            self._flush(LEAVE_S)

    def _write(self, data):
        with self._lock:
            at = now()
            self._waiting.append((at, data.startswith(b'{"t":"sample"'), data))
            self._size += len(data)
            self._flush(0)
            self._drop(at)

    def _flush(self, patience):
        try:
            while self._begun or self._waiting:
                if not select.select([], [self._fd], [], patience)[1]:
                    return
                if not self._begun:
                    self._begun = self._waiting.popleft()[2]
                    self._size -= len(self._begun)
                self._begun = self._begun[os.write(self._fd, self._begun[:SURE]) :]
        except OSError:
            os._exit(0)

    def _drop(self, at):
        """Drop samples that are too old or too many, but never the newest line."""
        if not self._waiting or (self._size <= KEPT_BYTES and at - self._waiting[0][0] <= KEPT_S):
            return
        kept = collections.deque()
        newest = self._waiting.pop()
        excess = self._size - KEPT_BYTES
        for entry in self._waiting:
            when, is_sample, line = entry
            if is_sample and (excess > 0 or at - when > KEPT_S):
                excess -= len(line)
                self._size -= len(line)
            else:
                kept.append(entry)
        kept.append(newest)
        self._waiting = kept
