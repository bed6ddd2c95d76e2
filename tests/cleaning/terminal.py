"""A person's terminal for scenes: what gpudash shows there, and what is typed."""

from __future__ import annotations

import os
import pty
import select
import subprocess

from tests.cli.running import PATIENCE_S, command
from tests.isolation.stage import Stage


class Terminal:
    """A gpudash at a terminal of its own."""

    def __init__(self, stage: Stage, *words: str, typed_ahead: bytes = b"") -> None:
        self.master, slave = pty.openpty()
        if typed_ahead:
            os.write(self.master, typed_ahead)
        home, env = stage.surroundings()
        self.process = subprocess.Popen(
            command(*words), env=env, cwd=home, stdin=slave, stdout=slave, stderr=slave
        )
        os.close(slave)
        self.seen = b""

    def read_until(self, words: bytes) -> None:
        while words not in self.seen:
            assert select.select([self.master], [], [], PATIENCE_S)[0], self.seen.decode()
            try:
                data = os.read(self.master, 4096)
            except OSError:
                data = b""
            assert data, self.seen.decode()
            self.seen += data

    def type(self, data: bytes) -> None:
        os.write(self.master, data)

    def code(self) -> int:
        while self.process.poll() is None:
            if select.select([self.master], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.master, 4096)
                except OSError:
                    return self.process.wait(PATIENCE_S)
        return self.process.returncode
