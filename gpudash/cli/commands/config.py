"""`gpudash config`: what counts and where it comes from; path, defaults, validation."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator

from gpudash.cli import arguments, diagnostics, output
from gpudash.config.defaults import defaults_text
from gpudash.config.folders import user_file
from gpudash.config.hosts import groups_of, section_warnings
from gpudash.config.layers import Value
from gpudash.config.load import Config, load, survey
from gpudash.config.schema import ALERT_KEYS, CLEANUP_KEYS, TOP_KEYS, in_toml
from gpudash.core.errors import ExitCode

SCHEMA = "gpudash.config/1"
HEADER = ("key", "value", "from")
ACTIONS = ("show", "path", "validate")


def run(words: list[str]) -> int:
    """Show, locate or check the configuration."""
    plan = _parse(words)
    if plan.defaults:
        output.write(defaults_text())
        return int(ExitCode.OK)
    match plan.action:
        case "path":
            output.write(f"{user_file(os.environ)}\n")
            return int(ExitCode.OK)
        case "validate":
            return _validate()
        case _:
            return _show(load(os.environ), plan.format)


def _parse(words: list[str]) -> argparse.Namespace:
    parser = arguments.Parser(
        prog="gpudash config",
        description="Every setting that counts and where it comes from. path prints where your "
        "file is or would be; validate names everything that is wrong (exit 2).",
    )
    parser.add_argument(
        "action", nargs="?", default="show", metavar="ACTION", help=", ".join(ACTIONS)
    )
    parser.add_argument(
        "--defaults", action="store_true", help="print a file with every key at its default"
    )
    parser.add_argument("--format", default="table", metavar="F", help=" | ".join(output.FORMATS))
    plan = parser.parse_words(words)
    plan.action = arguments.choose(plan.action, ACTIONS, "action")
    plan.format = arguments.choose(plan.format, output.FORMATS, "format")
    return plan


def _validate() -> int:
    config, problems = survey(os.environ)
    for problem in problems:
        output.write(f"{problem.sentence}\n")
        if problem.hint:
            output.write(f"    {problem.hint}\n")
    if problems:
        return int(ExitCode.USAGE)
    groups_of(config)
    _narrate(config)
    output.write("".join(f"{line}\n" for line in _files(config)))
    return int(ExitCode.OK)


def _files(config: Config) -> Iterator[str]:
    for layer in (config.site, config.user):
        yield f"{layer.path}: {'fine' if layer.is_there else 'not there'}"


def _show(config: Config, wanted: str) -> int:
    rows = list(_rows(config))
    match wanted:
        case "json":
            output.write_json(
                {
                    "schema": SCHEMA,
                    "files": [
                        {"kind": layer.origin.value, "path": layer.path, "found": layer.is_there}
                        for layer in (config.site, config.user)
                    ],
                    "settings": [_object(key, value) for key, value in rows],
                }
            )
        case "jsonl":
            for key, value in rows:
                output.write_line({"schema": SCHEMA, **_object(key, value)})
        case "csv":
            output.write_csv(HEADER, _cells(rows))
        case _:
            output.write(output.table([[name.upper() for name in HEADER], *_cells(rows)]))
    _narrate(config)
    return int(ExitCode.OK)


def _rows(config: Config) -> Iterator[tuple[str, Value]]:
    """Yield every key that counts: the top level, groups, then what each section says."""
    for name in TOP_KEYS:
        yield name, config.top(name)
    for name in CLEANUP_KEYS:
        yield f"cleanup.{name}", config.cleanup(name)
    for layer in (config.site, config.user):
        for rule in layer.protect:
            yield f"cleanup.protect.{rule.name}", Value(value=rule.why, where=layer.path or "")
    for name in ALERT_KEYS:
        yield f"alerts.{name}", config.alert(name)
    for id_, value in config.keys.items():
        yield f"keys.{in_toml(id_)}", value
    for name, group in config.group_entries.items():
        yield f"groups.{name}", Value(value=group.words, where=group.where)
    for layer in config.layers:
        for section in layer.sections:
            for name, value in section.values.items():
                yield f"hosts.{in_toml(section.pattern)}.{name}", value


def _cells(rows: list[tuple[str, Value]]) -> list[list[str]]:
    return [[key, in_toml(value.value), value.where] for key, value in rows]


def _object(key: str, value: Value) -> dict[str, object]:
    return {"key": key, "value": value.value, "from": value.where}


def _narrate(config: Config) -> None:
    for warning in (*config.warnings, *section_warnings(config)):
        diagnostics.say(f"gpudash: {warning}")
