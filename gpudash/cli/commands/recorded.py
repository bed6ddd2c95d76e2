"""The record of one command: begun before anything happens, ended whatever happens."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from gpudash.cli import diagnostics
from gpudash.cli.interrupted import interrupts_raise
from gpudash.core.errors import ExitCode, GpudashError
from gpudash.core.record import ended
from gpudash.core.ways import Way
from gpudash.services.proof_record import first_line
from gpudash.services.recorder import CLOSE_S, Recorder, Run


@contextlib.contextmanager
def recording(topic: str, command: Sequence[str], ways: tuple[Way, ...]) -> Iterator[Run]:
    """Begin a record and wait at the end until it is written; who ends it says how it went."""
    interrupts_raise()
    recorder = Recorder(tell=lambda problem: diagnostics.say(f"gpudash: {problem}"))
    run = recorder.begin(topic)
    try:
        run.begin_durably(first_line(command, tuple(way.name for way in ways)))
        yield run
    except GpudashError as error:
        _end(run, int(error.exit_code), error.message)
        raise
    except KeyboardInterrupt:
        _end(run, int(ExitCode.INTERRUPTED), "interrupted")
        raise
    except BaseException as error:
        _end(run, int(ExitCode.UNKNOWN), f"this is a bug in gpudash: {type(error).__name__}")
        raise
    finally:
        _end(run, int(ExitCode.UNKNOWN), "it ended without a word")
        if not recorder.end(CLOSE_S):
            diagnostics.say(f"gpudash: the record is not whole: {run.path}: the disk hangs")


def _end(run: Run, code: int, says: str) -> None:
    if not run.has_ended:
        run.end(ended(code, says))
