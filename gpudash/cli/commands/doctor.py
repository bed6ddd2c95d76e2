"""`gpudash doctor`: what works here, what does not, and what to do about it."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import dataclass

from gpudash import __version__
from gpudash.cli import arguments, output
from gpudash.core.errors import ExitCode, ReadingError, worst
from gpudash.core.families import INITIAL_PID_NAMESPACE, listed_pids
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import Fleet, GpuState, Host
from gpudash.core.names import clean_text
from gpudash.core.units import plural
from gpudash.core.verify import judge_fleet
from gpudash.sources import oneshot, shipping

SCHEMA = "gpudash.doctor/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    what: str
    state: str
    """`ok`, `note` or `fail`."""
    found: str
    advice: str = ""
    code: ExitCode = ExitCode.OK


def run(words: list[str]) -> int:
    """Look at everything that gpudash needs here; 0, or the code that check would give."""
    parser = arguments.Parser(
        prog="gpudash doctor", description="What works here, and what to do where it does not."
    )
    parser.add_argument("hosts", nargs="*", metavar="HOST", help="local; default: this machine")
    parser.add_argument("--format", default="table", help=" | ".join(output.FORMATS))
    parser.add_argument(
        "--show-probe", action="store_true", help="print what is sent to a host and run there"
    )
    plan = parser.parse_words(words)
    arguments.local_hosts(plan.hosts)
    wanted = arguments.choose(plan.format, output.FORMATS, "format")
    if plan.show_probe:
        output.write(probe_text())
        return int(ExitCode.OK)
    findings = [*_here(), *_driver()]
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
    modules = dict([*document["modules"], *hand["modules"]])
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
    ]


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
    if host.problem is not None:
        return [*found, _problem(host)]
    return [*found, *_readings(fleet, host)]


def _problem(host: Host) -> Finding:
    assert host.problem is not None
    return Finding(
        what="driver",
        state="fail",
        found=clean_text(f"{host.problem.sentence} {host.problem.detail}", 2000),
        advice=host.problem.advice,
        code=host.problem.exit_code,
    )


def _readings(fleet: Fleet, host: Host) -> list[Finding]:
    facts = host.facts
    names = sorted({clean_text(gpu.info.name or "?") for gpu in host.gpus})
    driver = f"{facts.driver}, NVML {facts.nvml}" if facts else "unknown"
    found = [
        Finding(what="driver", state="ok", found=driver),
        Finding(what="GPUs", state="ok", found=f"{len(host.gpus)} × {', '.join(names)}"),
    ]
    bad = [gpu for gpu in judge_fleet(fleet).hosts[0].gpus if gpu.gpu.state is not GpuState.READ]
    found += [
        Finding(
            what=f"GPU {gpu.gpu.info.index}",
            state="fail",
            found=gpu.reason,
            advice="gpudash check says more.",
            code=gpu.exit_code,
        )
        for gpu in bad
    ]
    unlisted = [gpu for gpu in host.gpus if gpu.reading and gpu.reading.processes is None]
    if unlisted:
        found.append(
            Finding(
                what="process lists",
                state="note",
                found=f"not readable on {plural(len(unlisted), 'GPU')}",
                advice="Memory is still read; who holds it stays unknown.",
            )
        )
    else:
        listed = plural(len(listed_pids(host)), "process", "processes")
        found.append(Finding(what="process lists", state="ok", found=f"{listed} listed"))
    return found


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
