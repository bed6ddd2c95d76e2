"""Stands for python3 on a host: passes on what goes to and from it, until it is told to hold.

    python gate.py FOLDER PYTHON WORDS …

FOLDER/spec.json has `steps`, pairs of a direction (`in`, `out`) and a text that must go by there,
one after the other, and `then`, what is held from the last one on: `out` (with the line of that
step), `in` (likewise), or `samples` of the other program. FOLDER/held says that it is so, FOLDER/
open lets everything by from now on. It ends with its program. Standard library only.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

LOOK_S = 0.005
SAMPLE = b'"t":"sample"'


class Gate:
    def __init__(self, folder: Path, child: subprocess.Popen[bytes]) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self.folder = folder
        self.child = child
        spec = json.loads((folder / "spec.json").read_text())
        self.steps = [(way, text.encode()) for way, text in spec["steps"]]
        self.then = spec["then"]
        self.has_steps = bool(self.steps)
        self.seen = b""
        self.kept = b""
        self.is_cut = False

    @property
    def is_open(self) -> bool:
        return (self.folder / "open").exists()

    @property
    def is_holding(self) -> bool:
        return self.has_steps and not self.steps and not self.is_open

    def step(self, way: str, text: bytes) -> bool:
        """Take the step that a text is; tell whether it was the last one."""
        if not self.steps or self.steps[0][0] != way or self.steps[0][1] not in text:
            return False
        self.steps.pop(0)
        return not self.steps

    def hold(self) -> None:
        if self.then == "samples":
            (self.folder / "hold-samples").touch()
            while not ((self.folder / "samples-held").exists() or self.is_open):
                select.select([], [], [], LOOK_S)
        (self.folder / "held").touch()

    def take_in(self, data: bytes) -> None:
        assert self.child.stdin is not None
        self.seen = self.seen[-64:] + data
        if self.step("in", self.seen):
            self.seen = b""
            self.hold()
        if self.is_holding and self.then == "in":
            return
        try:
            self.child.stdin.write(data)
            self.child.stdin.flush()
        except BrokenPipeError:
            return

    def give_out(self, line: bytes) -> None:
        if self.step("out", line):
            self.hold()
        if self.is_holding and self.then == "out":
            self.kept += line
        elif self.then == "samples" and SAMPLE in line and self.holds_samples():
            (self.folder / "samples-held").touch()
        else:
            self.write(line)

    def holds_samples(self) -> bool:
        return (self.folder / "hold-samples").exists() and not self.is_open

    def write(self, data: bytes) -> None:
        try:
            while data and not self.is_cut:
                data = data[os.write(1, data) :]
        except OSError:
            self.is_cut = True

    def run(self) -> int:
        """Pass on until the program ends."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        out = self.child.stdout.fileno()
        rest = b""
        fds = [0, out]
        while True:
            if self.kept and self.is_open:
                self.write(self.kept)
                self.kept = b""
            ready = select.select(fds, [], [], LOOK_S if self.kept else None)[0]
            if 0 in ready:
                data = os.read(0, 65536)
                if data:
                    self.take_in(data)
                else:
                    fds.remove(0)
                    self.is_cut = True
                    self.child.stdin.close()
            if out in ready:
                data = os.read(out, 65536)
                if not data:
                    self.write(rest)
                    return self.child.wait()
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self.give_out(line + b"\n")


def main() -> None:
    folder, argv = Path(sys.argv[1]), sys.argv[2:]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    sys.exit(Gate(folder, child).run())


if __name__ == "__main__":
    main()
