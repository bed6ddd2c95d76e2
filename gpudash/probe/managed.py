"""Runs the commands of a manager that stops what is its own, without a shell."""

import os
import subprocess

from gpudash.probe.line import now

MOST_WORDS = 300


class Managed(object):
    """The commands of one family, one after the other."""

    def __init__(self, family, tell):
        self.number = family["f"]
        self._commands = [list(words) for words in family["run"]]
        self._until = now() + float(family["for"])
        self._tell = tell
        self._place = 0
        self._child = None
        self._output = -1
        self._said = b""
        self.killed = {}
        self.is_over = False

    def living(self):
        """Return nobody: who ends is the manager's affair."""
        return []

    def stop(self):
        """Begin no further command; one under way is left to its manager."""
        self._commands = self._commands[: self._place + (self._child is not None)]
        self.is_over = self._child is None

    def note_ends(self):
        """Nobody of ours ends here."""

    def replace(self, _family):
        """Go on as before: a manager is never forced."""

    def advance(self, at):
        """Go on with the commands; return when to look again."""
        while not self.is_over:
            child = self._child
            if child is None:
                self._start()
                continue
            self._hear()
            code = child.poll()
            if code is None and at < self._until:
                return at + 0.05
            if code is None:
                # Our own child and nobody's else: the manager itself goes on.
                child.kill()
                child.wait()
            self._hear()
            self._end(code)
        return at + 60.0

    def _start(self):
        if self._place >= len(self._commands):
            self.is_over = True
            return
        self._output, write = os.pipe()
        os.set_blocking(self._output, False)
        try:
            self._child = subprocess.Popen(
                self._commands[self._place],
                stdin=subprocess.DEVNULL,
                stdout=write,
                stderr=subprocess.STDOUT,
            )
        except OSError as error:
            self._said = str(error).encode("utf-8", "replace")
            self._end(None)
            return
        finally:
            os.close(write)
        self._said = b""

    def _hear(self):
        try:
            data = os.read(self._output, 65536)
        except OSError:
            return
        self._said = (self._said + data)[-4096:]

    def _end(self, code):
        words = self._said.decode("utf-8", "replace").strip().splitlines()
        self._tell(
            "ran",
            f=self.number,
            c=self._place,
            code=code,
            words=words[-1][:MOST_WORDS] if words else "",
        )
        os.close(self._output)
        self._child = None
        self._place += 1
        if code != 0:
            self.is_over = True

    def close(self):
        """Nothing is kept."""
