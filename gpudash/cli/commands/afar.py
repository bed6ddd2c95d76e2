"""What `doctor` finds on other hosts: where ssh goes, how it gets there, what answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from gpudash.cli.commands.findings import Finding, problem_finding, reading_findings
from gpudash.cli.commands.reading import read
from gpudash.core.distance import clock_words, round_trip_words
from gpudash.core.model import Host
from gpudash.core.names import clean_text
from gpudash.core.ways import Way
from gpudash.sources.base import SourceError


def look_at(ways: tuple[Way, ...]) -> list[Finding]:
    """Reach each host once; findings carry its name."""
    fleet = read(ways)
    found: list[Finding] = []
    for way in ways:
        its = [*_address(way), *_host(fleet.host(way.name))]
        found += [replace(item, what=f"{way.name}: {item.what}") for item in its]
    return found


def _address(way: Way) -> list[Finding]:
    if way.is_local:
        return [Finding(what="sudo", state="ok", found="the probe starts by sudo -n")]
    if way.command:
        return [Finding(what="command", state="ok", found=" ".join(way.command))]
    from gpudash.sources.ssh.resolve import Destination, has_openssh, resolve

    to = Destination(address=way.address, options=way.options, configuration=way.configuration)
    try:
        settings = asyncio.run(resolve(to))
    except SourceError as error:
        return [
            Finding(
                what="ssh configuration",
                state="fail",
                found=clean_text(error.problem.detail, 400),
                advice=error.problem.advice,
                code=error.problem.exit_code,
            )
        ]
    through = f" through {settings.proxy_jump}" if settings.proxy_jump else ""
    findings = [Finding(what="ssh", state="ok", found=f"{settings.place}{through}")]
    if not has_openssh():
        findings.append(
            Finding(
                what="ssh configuration",
                state="note",
                found="OpenSSH is not installed here: Match exec, ControlMaster and "
                "StrictHostKeyChecking are not understood",
                advice="Install the OpenSSH client on this machine.",
            )
        )
    return findings


def _distance(host: Host) -> list[Finding]:
    found = (
        [Finding(what="round trip", state="ok", found=words)]
        if (words := round_trip_words(host))
        else []
    )
    if words := clock_words(host):
        advice = "Does it keep time (chrony, systemd-timesyncd)? Times of its logs are off by that."
        found.append(Finding(what="clock", state="note", found=words, advice=advice))
    return found


def _host(host: Host) -> list[Finding]:
    findings = [
        Finding(
            what="host key",
            state="note",
            found=note,
            advice="Anybody in between could answer; remove that line from the ssh configuration.",
        )
        for note in host.link_notes
    ]
    if host.transport:
        findings.append(Finding(what="transport", state="ok", found=clean_text(host.transport)))
    findings += _distance(host)
    facts = host.facts
    if facts is not None and facts.source == "nvidia-smi":
        findings.append(
            Finding(
                what="probe",
                state="note",
                found="can't run; read through nvidia-smi, which lacks: "
                + "; ".join(facts.unsupported),
                advice="Install python3 (3.6 or newer) there.",
            )
        )
    elif facts is not None:
        python = clean_text(facts.python or "unknown", 40)
        findings.append(Finding(what="probe", state="ok", found=f"Python {python}"))
    if host.problem is not None:
        what = "driver" if facts is not None else "connection"
        return [*findings, replace(problem_finding(host), what=what)]
    return [*findings, *reading_findings(host)]
