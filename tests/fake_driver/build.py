"""Compile the fake library once per source text, outside the tree."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

SONAME = "libnvidia-ml.so.1"
_SOURCE = Path(__file__).parent
_WARNINGS = ("-Wall", "-Wextra", "-Werror")
_FLAGS = (
    *("-std=gnu11", "-O2", *_WARNINGS, "-shared", "-fPIC"),
    *("-fvisibility=hidden", f"-Wl,-soname,{SONAME}"),
)


class CompilerMissing(Exception):
    """No C compiler here: the fake driver cannot be built."""


@cache
def library_folder(old_450: bool = False) -> Path:
    """Return the folder that holds `libnvidia-ml.so.1`, building it if no one has.

    `old_450` leaves out the symbols that a 450 driver lacks. Several processes may call this at
    once: each builds under a name of its own and moves the result into place.
    """
    sources = sorted(_SOURCE.glob("*.[ch]"))
    flags = (*_FLAGS, "-DFAKE_OLD_450") if old_450 else _FLAGS
    digest = hashlib.sha256("\0".join(flags).encode())
    for source in sources:
        digest.update(source.read_bytes())
    folder = _cache_folder() / digest.hexdigest()[:16]
    if not (folder / SONAME).exists():
        folder.mkdir(parents=True, exist_ok=True)
        _compile([str(s) for s in sources if s.suffix == ".c"], flags, folder)
    return folder


def _cache_folder() -> Path:
    folder = Path(tempfile.gettempdir()) / f"gpudash-fake-driver-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.stat().st_uid != os.getuid():
        raise PermissionError(f"{folder} belongs to another user")
    return folder


def _compile(sources: list[str], flags: tuple[str, ...], folder: Path) -> None:
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise CompilerMissing("neither gcc nor cc on PATH")
    handle, name = tempfile.mkstemp(dir=folder, suffix=".so")
    os.close(handle)
    try:
        command = [compiler, *flags, "-o", name, *sources, "-lpthread"]
        subprocess.run(command, check=True, capture_output=True, text=True)
        os.chmod(name, 0o755)
        os.replace(name, folder / SONAME)
    except subprocess.CalledProcessError as error:
        os.unlink(name)
        raise RuntimeError(f"the fake driver does not compile:\n{error.stderr}") from error
