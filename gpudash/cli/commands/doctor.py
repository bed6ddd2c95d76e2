"""`gpudash doctor`: what works here, what does not, and what to do about it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import replace

from gpudash import __version__
from gpudash.cli import arguments, output
from gpudash.cli.commands.findings import Finding, problem_finding, reading_findings
from gpudash.cli.ways import ways_of
from gpudash.core.errors import ExitCode, ReadingError, worst
from gpudash.core.families import INITIAL_PID_NAMESPACE
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.standins import VARIABLE
from gpudash.sources import oneshot, shipping
from gpudash.sources.smi_once import smi_events

SCHEMA = "gpudash.doctor/1"


def run(words: list[str]) -> int:
    """Look at everything that gpudash needs here; 0, or the code that check would give."""
    parser = arguments.Parser(
        prog="gpudash doctor", description="What works here, and what to do where it does not."
    )
    parser.add_argument("hosts", nargs="*", metavar="HOST", help=arguments.HOST_HELP)
    parser.add_argument("--format", default="table", help=" | ".join(output.FORMATS))
    parser.add_argument(
        "--show-probe", action="store_true", help="print what is sent to a host and run there"
    )
    plan = parser.parse_words(words)
    wanted = arguments.choose(plan.format, output.FORMATS, "format")
    if plan.show_probe:
        output.write(probe_text())
        return int(ExitCode.OK)
    ways = ways_of(plan.hosts)
    findings = _here()
    bare = [way for way in ways if way.is_local and not way.has_sudo]
    if bare:
        findings += _driver()
    if len(bare) < len(ways):
        from gpudash.cli.commands.afar import look_at

        findings += look_at(tuple(way for way in ways if way not in bare))
    _print(findings, wanted)
    return int(worst([ExitCode.OK, *(finding.code for finding in findings)]))


def probe_text() -> str:
    """Return the command and the text of everything that a host is given to run."""
    import json

    try:
        document = json.loads(shipping.sampler_payload())
    except OSError as error:
        raise ReadingError(f"the probe can't be put together: {error}") from error
    hand = json.loads(shipping.hand_payload())
    whole = [*document["modules"], *document["spare"], *hand["modules"], *hand["spare"]]
    modules = dict(whole)
    parts = [f"# command: python3 -ISBc {shipping.COMMAND!r}\n"]
    parts.append(f"# ---- gpudash.probe.bootstrap\n{document['bootstrap']}")
    parts += [f"# ---- {name}\n{text}" for name, text in modules.items()]
    return "\n".join(parts)


def _here() -> list[Finding]:
    size = shutil.get_terminal_size((0, 0))
    terminal = f"{os.environ.get('TERM', 'none')}, {size.columns}×{size.lines}"
    in_tmux = ", in tmux" if os.environ.get("TMUX") else ""
    smi = shutil.which("nvidia-smi") or shutil.which("nvidia-smi", path="/usr/lib/wsl/lib")
    return [
        Finding(
            what="gpudash", state="ok", found=f"{__version__}, Python {sys.version.split()[0]}"
        ),
        Finding(what="system", state="ok", found=f"{platform.system()} {platform.release()}"),
        Finding(what="terminal", state="ok", found=terminal + in_tmux),
        _encoding(),
        Finding(
            what="nvidia-smi",
            state="ok" if smi else "note",
            found=smi or "not on PATH; it is only the fallback",
        ),
        _namespace(),
        *_standins(),
    ]


def _standins() -> list[Finding]:
    """Say that nothing here is about real GPUs while stand-in devices are mapped."""
    devices = os.environ.get(VARIABLE)
    if not devices:
        return []
    found = f"SIMULATED: stand-in devices take the place of GPUs ({devices})"
    return [Finding(what="devices", state="note", found=found, advice=f"Unset {VARIABLE}.")]


def _encoding() -> Finding:
    encoding = ((sys.stdout and sys.stdout.encoding) or "").lower()
    if "utf" in encoding:
        return Finding(what="encoding", state="ok", found=encoding)
    return Finding(
        what="encoding",
        state="note",
        found=encoding or "unknown",
        advice="Set LANG=C.UTF-8 for the full set of glyphs.",
    )


def _namespace() -> Finding:
    try:
        inode = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
    except OSError:
        return Finding(what="pid namespace", state="note", found="unknown")
    if inode == INITIAL_PID_NAMESPACE:
        return Finding(what="pid namespace", state="ok", found="the host's own")
    return Finding(
        what="pid namespace",
        state="note",
        found="a container's: the driver lists host pids, names can't be looked up",
        advice="Run gpudash on the host to see who holds memory.",
    )


def _driver() -> list[Finding]:
    try:
        binding = shipping.binding_path()
        probe = oneshot.begin()
    except OSError as error:
        return [
            Finding(
                what="probe",
                state="fail",
                found=str(error),
                advice="Install gpudash again: pip install --force-reinstall gpudash",
                code=ExitCode.UNKNOWN,
            )
        ]
    fleet = new_fleet(("local",), 0.0)
    try:
        for event in oneshot.finish(probe):
            fleet = apply(fleet, "local", event, 0.0)
    finally:
        probe.end()
    host = fleet.hosts[0]
    found = [Finding(what="binding", state="ok", found=binding)]
    if host.problem is None:
        return [*found, *reading_findings(host)]
    failed = problem_finding(host)
    events = smi_events()
    if events is None:
        return [*found, failed]
    # As check does: what nvidia-smi reads counts, and what stood in NVML's way is still said.
    fleet = new_fleet(("local",), 0.0)
    for event in events:
        fleet = apply(fleet, "local", event, 0.0)
    by_smi = replace(failed, state="note", code=ExitCode.OK, found=f"NVML: {failed.found}")
    return [*found, by_smi, *reading_findings(fleet.hosts[0])]


def _print(findings: list[Finding], wanted: str) -> None:
    rows = [(item.what, item.state, item.found, item.advice) for item in findings]
    match wanted:
        case "json":
            output.write_json({"schema": SCHEMA, "findings": [_object(item) for item in findings]})
        case "jsonl":
            for item in findings:
                output.write_line({"schema": SCHEMA, **_object(item)})
        case "csv":
            output.write_csv(("what", "state", "found", "advice"), rows)
        case _:
            lines = []
            for item in findings:
                lines.append((item.state, item.what, item.found))
                if item.advice:
                    lines.append(("", "", f"→ {item.advice}"))
            output.write(output.table(lines))


def _object(item: Finding) -> dict[str, object]:
    return {
        "what": item.what,
        "state": item.state,
        "found": item.found,
        "advice": item.advice or None,
    }
