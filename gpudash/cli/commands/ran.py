"""What `run` prints and leaves: the start-up on stdout, and a report that says who spoke."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from gpudash.cli import output
from gpudash.cli.commands.follow import show
from gpudash.core.errors import GpudashError, UsageError
from gpudash.core.launch.checks import Result as Result
from gpudash.core.startup.following import Followed


def require_writable(path: str | None) -> None:
    """Raise UsageError for a report that could not be written when all is over."""
    if path is None:
        return
    folder = Path(path).parent
    if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise UsageError(f"--report {path} can't be written")


def report(told: Mapping[str, object], followed: Followed | None, wanted: str) -> None:
    """Print how it ended; where nobody reads, the exit code still counts."""
    with contextlib.suppress(output.Closed):
        match wanted:
            case "json":
                output.write_json(told)
            case "jsonl":
                output.write_line(told)
            case _ if followed is not None:
                show(followed.startup, wanted)


def write(path: str | None, told: Mapping[str, object]) -> None:
    """Write the report, in one step. Raises GpudashError."""
    if path is None:
        return
    temporary = Path(f"{path}.{os.getpid()}")
    try:
        temporary.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        raise GpudashError(f"--report {path}: {error.strerror}") from error
