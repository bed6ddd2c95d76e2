"""`gpudash hosts [WORD …]`: what host words expand to, and what the configuration knows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from gpudash.cli import arguments, diagnostics, output
from gpudash.cli.rules import judge
from gpudash.config.hosts import HostSettings, groups_of, named_hosts
from gpudash.config.load import Config, load
from gpudash.config.schema import in_toml
from gpudash.core.errors import ExitCode
from gpudash.core.hostranges import fold
from gpudash.core.hostspec import HostSpec
from gpudash.core.units import plural

SCHEMA = "gpudash.hosts/1"
HEADER = ("name", "address", "user", "port", "groups", "transport", "readonly", "sudo")
KNOWN_HEADER = ("kind", "name", "hosts", "means", "from")


def run(words: list[str]) -> int:
    """List the hosts that words name; without a word, the groups and host sections."""
    parser = arguments.Parser(
        prog="gpudash hosts",
        description="What names expand to and what the configuration says about each host; "
        "without a word, all groups and host sections. Nothing is connected to.",
    )
    parser.add_argument(
        "words", nargs="*", metavar="HOST", help="'node[01-32]', @lab, 'ssh …', '@lab!node07'"
    )
    parser.add_argument("--format", default="table", metavar="F", help=" | ".join(output.FORMATS))
    plan = parser.parse_words(words)
    wanted = arguments.choose(plan.format, output.FORMATS, "format")
    config = load(os.environ)
    for warning in config.warnings:
        diagnostics.say(f"gpudash: {warning}")
    if plan.words:
        _list(config, named_hosts(plan.words, config), wanted)
    else:
        _list_known(config, wanted)
    return int(ExitCode.OK)


def _list(config: Config, specs: tuple[HostSpec, ...], wanted: str) -> None:
    groups = _membership(config)
    hosts = [(spec, settings) for spec, settings, _ in judge(config, specs)]
    documents = [_document(spec, found, groups.get(spec.name, ())) for spec, found in hosts]
    _write(documents, HEADER, "hosts", wanted)
    said = dict.fromkeys(warning for _, found in hosts for warning in found.warnings)
    for spec in specs:
        said |= dict.fromkeys(f"{spec.name}: {note}" for note in spec.notes)
    for sentence in said:
        diagnostics.say(f"gpudash: {sentence}")


def _membership(config: Config) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for group, members in groups_of(config).items():
        for spec in members:
            found[spec.name] = (*found.get(spec.name, ()), group)
    return found


def _document(spec: HostSpec, found: HostSettings, groups: tuple[str, ...]) -> dict[str, object]:
    return {
        "name": spec.name,
        "address": spec.address,
        "user": found.user,
        "port": found.port,
        "groups": groups,
        "transport": found.reached_by,
        "readonly": found.readonly,
        "sudo": found.sudo,
    }


def _list_known(config: Config, wanted: str) -> None:
    documents: list[dict[str, object]] = []
    for name, members in groups_of(config).items():
        names = [spec.name for spec in members]
        documents.append(
            {
                "kind": "group",
                "name": f"@{name}",
                "hosts": len(names),
                "means": fold(names),
                "from": config.group_entries[name].where,
            }
        )
    for section in (section for layer in config.layers for section in layer.sections):
        said = (f"{name} = {in_toml(value.value)}" for name, value in section.values.items())
        documents.append(
            {
                "kind": "section",
                "name": section.pattern,
                "hosts": None if section.globs else len(section.exact),
                "means": ", ".join(said),
                "from": section.where,
            }
        )
    if wanted == "table" and not documents:
        output.write(f"No groups and no host sections in {config.user.path}\n")
        return
    _write(documents, KNOWN_HEADER, "known", wanted)
    if wanted == "table":
        groups = sum(document["kind"] == "group" for document in documents)
        sections = len(documents) - groups
        output.write(f"\n{plural(groups, 'group')}, {plural(sections, 'host section')}\n")


def _write(
    documents: Sequence[Mapping[str, object]], header: Sequence[str], key: str, wanted: str
) -> None:
    match wanted:
        case "json":
            output.write_json({"schema": SCHEMA, key: documents})
        case "jsonl":
            for document in documents:
                output.write_line({"schema": SCHEMA, **document})
        case "csv":
            output.write_csv(
                header, [[_cell(one[name], "") for name in header] for one in documents]
            )
        case _:
            rows = [[_cell(one[name], "–") for name in header] for one in documents]
            output.write(output.table([[name.upper() for name in header], *rows]))


def _cell(value: object, nothing: str) -> str:
    match value:
        case None:
            return nothing
        case bool():
            return "yes" if value else "no"
        case tuple():
            return " ".join(value) or nothing
        case _:
            return str(value)
