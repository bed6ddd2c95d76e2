"""Finds the command and runs it; every error ends here as one sentence and an exit code.

`check` on this machine starts its probe before anything else is imported: the child needs 50 ms
to come up, and the imports here run beside it.
"""

from __future__ import annotations

import os
import sys

COMMANDS = (
    "baseline",
    "check",
    "clean",
    "config",
    "demo",
    "doctor",
    "explain",
    "follow",
    "hosts",
    "run",
    "stream",
    "themes",
    "wait",
)

USAGE = """\
usage: gpudash [HOST …]                 dashboard; no HOST = this machine
       gpudash demo [SCENARIO]          simulated fleet, no GPU needed
       gpudash check [HOST …] [--gpu I,…] [--expect zero|healthy|free:N] [--hold 10s] [--strict]
       gpudash wait [HOST …] (--zero | --gpus N [--free SIZE]) [--hold 10s] [--timeout 5m]
                    [-- CMD …]          until that is proven; then run CMD
       gpudash clean [HOST …] [--dry-run] [--yes] [--gpu I,…] [--leftovers] [--pid N]
                    end who holds GPUs, by a plan, and prove that they are free
       gpudash run [--host H] [--clean] [--zero | --gpus N] [--preflight NAME] -- CMD …
                    check, clean, prove, start CMD, follow it until READY
       gpudash baseline accept|list|forget [HOST …]   idle readings above zero that pass
       gpudash explain [RUN]            what a cleanup or a proof did, from its record
       gpudash stream [HOST …] [--interval 1s]    samples as JSON lines
       gpudash follow (--log FILE|--pid N|--unit U|--container C|…) [--host H] [--once]
                    a start-up until it is ready, or the line that says why not
       gpudash doctor [HOST …]          what works here or there, and what to do where not
       gpudash hosts [HOST …]           what names and groups expand to
       gpudash config [validate|path] [--defaults]   what counts, and where it comes from
       gpudash themes [list|validate FILE …]   what themes there are; what is wrong with one
       gpudash COMMAND --help           more of one command
       gpudash --version

exit codes: 0 zero or ok, 1 held, 2 usage, 3 unreachable, 4 unknown, 5 timed out,
            6 stuck or needs a reset, 7 the start-up failed, 130 interrupted
"""


def run(words: list[str]) -> int:
    """Run what the words say and return the exit code."""
    try:
        return _dispatch(words)
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        return _ended_by(error)


def _dispatch(words: list[str]) -> int:
    first = words[0] if words else ""
    if devices := os.environ.get("GPUDASH_DEVICE_MAP"):
        from gpudash.core.standins import standin_options

        standin_options(devices)
    match first:
        case "-h" | "--help" | "help":
            return _write(USAGE)
        case "-V" | "--version":
            from gpudash import __version__

            return _write(f"gpudash {__version__}\n")
        case "check":
            from gpudash.cli.commands import check

            return check.run(words[1:])
        case "clean":
            from gpudash.cli.commands import clean

            return clean.run(words[1:])
        case "stream":
            from gpudash.cli.commands import stream

            return stream.run(words[1:])
        case "wait":
            from gpudash.cli.commands import wait

            return wait.run(words[1:])
        case "baseline":
            from gpudash.cli.commands import baseline

            return baseline.run(words[1:])
        case "explain":
            from gpudash.cli.commands import explain

            return explain.run(words[1:])
        case "doctor":
            from gpudash.cli.commands import doctor

            return doctor.run(words[1:])
        case "follow":
            from gpudash.cli.commands import follow

            return follow.run(words[1:])
        case "run":
            from gpudash.cli.commands import run

            return run.run(words[1:])
        case "hosts":
            from gpudash.cli.commands import hosts

            return hosts.run(words[1:])
        case "config":
            from gpudash.cli.commands import config

            return config.run(words[1:])
        case "themes":
            from gpudash.cli.commands import themes

            return themes.run(words[1:])
        case "demo":
            from gpudash.cli.commands import demo

            return demo.run(words[1:])
        case _:
            from gpudash.cli import first_word

            first_word.refuse_typo(words, COMMANDS)
            from gpudash.cli.commands import dashboard

            return dashboard.run(words, COMMANDS)


def _write(text: str) -> int:
    from gpudash.cli import output

    output.write(text)
    return 0


def _ended_by(error: Exception) -> int:
    """Say what went wrong in one sentence; return the exit code."""
    from gpudash.cli.diagnostics import report
    from gpudash.cli.output import Closed
    from gpudash.core.errors import GpudashError, ReadingError

    if isinstance(error, Closed):
        return 0
    if isinstance(error, GpudashError):
        return report(error)
    # Python's own exit code for a traceback is 1, which would read as HELD.
    _print_traceback()
    return report(ReadingError(f"this is a bug in gpudash: {type(error).__name__}"))


def _print_traceback() -> None:
    import traceback

    if sys.stderr is not None:
        traceback.print_exc()
