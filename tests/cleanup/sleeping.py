"""Ways to be asleep in the kernel: behind a frozen disk, and while a child runs after vfork."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SIZE = 8 << 20
_VFORK = """
#include <unistd.h>
int main(void) {
    if (vfork() == 0) {
        for (;;) pause();
    }
    return 0;
}
"""


@dataclass(frozen=True, slots=True)
class Disk:
    """A mounted file system that lets nobody write."""

    folder: Path


def tool(name: str) -> str:
    """Return the path of a system program."""
    found = shutil.which(name, path="/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin")
    assert found, f"{name} is needed"
    return found


@contextmanager
def frozen_disk(folder: Path) -> Iterator[Disk]:
    """Mount a small disk with a `file` on it and freeze it; whoever writes to it sleeps."""
    image, place = folder / "image", folder / "disk"
    with image.open("wb") as file:
        file.truncate(_SIZE)
    place.mkdir()
    subprocess.run([tool("mkfs.ext4"), "-q", "-F", str(image)], check=True)
    subprocess.run([tool("mount"), "-o", "loop", str(image), str(place)], check=True)
    try:
        (place / "file").write_bytes(b"")
        subprocess.run([tool("fsfreeze"), "-f", str(place)], check=True)
        try:
            yield Disk(place)
        finally:
            subprocess.run([tool("fsfreeze"), "-u", str(place)], check=True)
    finally:
        subprocess.run([tool("umount"), "-l", str(place)], check=True)


def vforked(folder: Path) -> Path:
    """Build a program that sleeps in vfork as long as its child does."""
    source, program = folder / "vforked.c", folder / "vforked"
    source.write_text(_VFORK)
    subprocess.run([tool("cc"), "-O1", "-o", str(program), str(source)], check=True)
    return program
