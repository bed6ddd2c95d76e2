"""Arguments of `follow`."""

from __future__ import annotations

import argparse

from gpudash.cli import arguments, output
from gpudash.core.errors import UsageError
from gpudash.core.startup.following import FollowSpec, LogSource

_SOURCES = {
    "log": ("path", "FILE", "a log file; - is stdin"),
    "pid": ("pid", "N", "the output of a process, where it goes into a file or a tmux pane"),
    "unit": ("unit", "U", "the journal of a systemd unit"),
    "container": ("container", "C", "docker logs of a container"),
    "podman": ("podman", "C", "podman logs of a container"),
    "pod": ("pod", "[NS/]P", "kubectl logs of a pod"),
    "pane": ("pane", "T", "a tmux pane: %%3, or SESSION:WINDOW.PANE"),
}


def parse(words: list[str]) -> argparse.Namespace:
    """Parse the words. Raises UsageError."""
    parser = arguments.Parser(
        prog="gpudash follow",
        usage="gpudash follow (--log FILE|--pid N|--unit U|--container C|--podman C|--pod P|\n"
        "                       --pane T) [--host H] [--url URL] [--gpu I,…] [--timeout D]\n"
        "                      [--stay] [--once] [--format F]",
        description="Follow a start-up until it is ready: phases, READY, or the line that says why "
        "not. The server goes on running. Exit 0 ready, 7 failed (also after ready), 4 the log "
        "ended with neither, 5 timed out, 3 host unreachable, 130 interrupted.",
    )
    for flag, (_, metavar, text) in _SOURCES.items():
        parser.add_argument(f"--{flag}", metavar=metavar, help=text)
    parser.add_argument("--host", metavar="H", help="where it runs (default: this machine)")
    parser.add_argument(
        "--url", metavar="URL", help="health URL as the host sees it; READY needs its 200"
    )
    parser.add_argument("--gpu", action="append", metavar="0-3|UUID|BUS-ID,…", help="its GPUs")
    parser.add_argument("--timeout", metavar="D", help="give up after (default: never)")
    parser.add_argument("--stay", action="store_true", help="go on after READY, until it ends")
    parser.add_argument("--once", action="store_true", help="the log is finished: report and leave")
    parser.add_argument("--format", default="table", metavar="F", help=" | ".join(output.FORMATS))
    plan = parser.parse_words(words)
    plan.source = _source(plan, parser.prog)
    if plan.once and plan.stay:
        raise UsageError("--once reads what is there; --stay waits for more: one of them")
    if plan.url is not None and not plan.url.startswith(("http://", "https://")):
        raise UsageError(f"--url {plan.url}: begins with http:// or https://")
    plan.format = arguments.choose(plan.format, output.FORMATS, "format")
    return plan


def _source(plan: argparse.Namespace, prog: str) -> LogSource:
    given = [
        (flag, kind, getattr(plan, flag))
        for flag, (kind, _, _) in _SOURCES.items()
        if getattr(plan, flag) is not None
    ]
    flags = ", ".join(f"--{flag}" for flag in _SOURCES)
    if not given:
        raise UsageError("which log?", hint=f"One of {flags}. See: {prog} --help")
    if len(given) > 1:
        names = " and ".join(f"--{flag}" for flag, _, _ in given)
        raise UsageError(f"{names}: one log at a time")
    flag, kind, value = given[0]
    if not value:
        raise UsageError(f"--{flag} is empty", hint="Is a variable unset?")
    if kind == "pid" and not (value.isascii() and value.isdigit() and int(value) > 1):
        raise UsageError(f"--pid {value}: not a pid")
    if kind == "path" and value == "-":
        if plan.host is not None:
            raise UsageError("--log - is this machine's stdin; --host is another one")
        return LogSource(kind="stdin", value="-")
    return LogSource(kind=kind, value=value)


def spec_of(plan: argparse.Namespace, host: str) -> FollowSpec:
    """Return what is to be followed. Raises UsageError."""
    from gpudash.core.scope import parse_scope

    source = plan.source
    return FollowSpec(
        host=host,
        source=source,
        url=plan.url,
        pid=int(source.value) if source.kind == "pid" else None,
        scope=parse_scope(",".join(plan.gpu)) if plan.gpu else None,
        stays=plan.stay,
        start="start" if plan.once else "anchor",
        is_finished=plan.once,
    )
