"""Asks managers about their own: units, containers, jobs. Only questions, never an order.

Each question is one command without a shell. All run side by side, and none longer than a few
seconds: a manager that hangs counts as one that can't be asked.
"""

import os
import select
import subprocess

from gpudash.probe.line import now

PATIENCE_S = 3.0
MOST_QUESTIONS = 64
AT_ONCE = 8
MOST_SAID = 4096
MOST_LINES = 12
MOST_CELLS = 300
NOT_THERE = 127  # as a shell says it

ALLOWED = {
    "systemctl": ("show", "--user"),
    "docker": ("inspect",),
    "podman": ("inspect",),
    "squeue": ("-h",),
    "crictl": ("pods",),
    "kubectl": ("get",),
    "supervisorctl": ("status",),
}
"""Programs and what their first word must be: whatever else is asked for is refused."""


def is_question(words):
    """Tell whether words are one of the questions that may be asked."""
    if not isinstance(words, list) or len(words) < 2:
        return False
    if any(not isinstance(word, str) or "\0" in word for word in words):
        return False
    return words[1] in ALLOWED.get(words[0], ())


def start(words, output):
    """Start a command; None where it is not there or may not be started."""
    env = dict(os.environ, LC_ALL="C", SYSTEMD_COLORS="0")
    try:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=env
        )
    except OSError:
        return None


class Question(object):
    """One command that runs."""

    def __init__(self, place, words):
        self.place = place
        self.code = None
        self.said = b""
        self.output, write = os.pipe()
        self._child = start(words, write)
        os.close(write)
        if self._child is None:
            self.code = NOT_THERE

    def take(self):
        """Take what it said; return False at its end."""
        data = os.read(self.output, 65536) if self._child is not None else b""
        self.said = (self.said + data)[:MOST_SAID]
        return bool(data)

    def end(self):
        """End it and keep its exit code; one whose time is over has none."""
        if self._child is not None:
            try:
                self.code = self._child.wait(0.5)
            except subprocess.TimeoutExpired:
                # Not waited for any longer: what hangs in the kernel would hang us as well.
                self._child.kill()
        os.close(self.output)

    def row(self):
        """Return place, exit code or null, and the first lines of what it said."""
        lines = self.said.decode("utf-8", "replace").splitlines()[:MOST_LINES]
        return [self.place, self.code, [line[:MOST_CELLS] for line in lines]]


def answer_managers(command, wire):
    """Run the questions of a command and answer with rows of (place, code, text)."""
    asked = command.get("ask")
    if not isinstance(asked, list) or len(asked) > MOST_QUESTIONS:
        wire.ack(command, "ask must be a list of at most %d commands" % MOST_QUESTIONS)
        return
    if not all(is_question(words) for words in asked):
        wire.ack(command, "one of these is no question to a manager")
        return
    waiting = list(enumerate(asked))
    running = []
    rows = []
    until = now() + PATIENCE_S
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            running.append(Question(*waiting.pop(0)))
        left = until - now()
        outputs = [one.output for one in running]
        ready = select.select(outputs, [], [], max(0.0, left))[0] if left > 0 else outputs
        for one in [one for one in running if one.output in ready]:
            if left > 0 and one.take():
                continue
            one.end()
            running.remove(one)
            rows.append(one.row())
        if left <= 0:
            waiting = []
    wire.ack(command, answers=sorted(rows))
