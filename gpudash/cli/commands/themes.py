"""`gpudash themes`: what themes there are and where they come from; what is wrong with one."""

from __future__ import annotations

import argparse
import os

from gpudash.cli import arguments, diagnostics, output
from gpudash.config.themes import (
    ThemeFile,
    read_theme_file,
    theme_paths,
    user_theme_folder,
)
from gpudash.core.contrast import LEAST, faint_pairs
from gpudash.core.errors import ExitCode, UsageError
from gpudash.core.units import plural

SCHEMA = "gpudash.themes/1"
HEADER = ("name", "kind", "path")
ACTIONS = ("list", "validate")


def run(words: list[str]) -> int:
    """List themes, or check files."""
    plan = _parse(words)
    if plan.action == "validate":
        return _validate(plan.files)
    if plan.files:
        raise UsageError("list takes no files", hint="gpudash themes validate FILE …")
    return _list(plan.format)


def _parse(words: list[str]) -> argparse.Namespace:
    parser = arguments.Parser(
        prog="gpudash themes",
        description="The themes that --theme, t and the configuration can name. Your own stand as "
        "TOML files in themes/ beside the configuration; validate names everything that is wrong "
        "with a file (exit 2), and text that is hard to read on its background.",
    )
    parser.add_argument(
        "action", nargs="?", default="list", metavar="ACTION", help=", ".join(ACTIONS)
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="default: your own themes")
    parser.add_argument("--format", default="table", metavar="F", help=" | ".join(output.FORMATS))
    plan = parser.parse_words(words)
    plan.action = arguments.choose(plan.action, ACTIONS, "action")
    plan.format = arguments.choose(plan.format, output.FORMATS, "format")
    return plan


def _kind(theme: ThemeFile) -> str:
    return "mono" if theme.is_mono else "dark" if theme.is_dark else "light"


def _list(wanted: str) -> int:
    themes: dict[str, tuple[str, str]] = {}
    faults = []
    for path in theme_paths((user_theme_folder(os.environ),)):
        theme, wrong = read_theme_file(path)
        if theme is not None:
            themes[theme.name] = (_kind(theme), path)
        faults += [wrong] if wrong else []
    rows = [(name, *rest) for name, rest in sorted(themes.items())]
    documents = [dict(zip(HEADER, row, strict=True)) for row in rows]
    match wanted:
        case "json":
            output.write_json({"schema": SCHEMA, "themes": documents, "faults": faults})
        case "jsonl":
            for document in documents:
                output.write_line({"schema": SCHEMA, **document})
        case "csv":
            output.write_csv(HEADER, rows)
        case _:
            output.write(output.table([[name.upper() for name in HEADER], *map(list, rows)]))
    for wrong in faults:
        diagnostics.say(f"gpudash: {wrong}")
    return int(ExitCode.OK)


def _validate(files: list[str]) -> int:
    paths = tuple(files) or tuple(
        path
        for path in theme_paths((user_theme_folder(os.environ),))
        if os.path.dirname(path) == user_theme_folder(os.environ)
    )
    if not paths:
        output.write(f"No themes of your own in {user_theme_folder(os.environ)}\n")
    code = ExitCode.OK
    for path in paths:
        theme, wrong = read_theme_file(path)
        if theme is None:
            output.write(f"{wrong}\n")
            code = ExitCode.USAGE
        else:
            output.write(f"{path}: {theme.name}, {_kind(theme)}: {_readable(theme)}\n")
    return int(code)


def _readable(theme: ThemeFile) -> str:
    """Say how well its texts can be read."""
    faint = () if theme.is_mono else faint_pairs(theme.colours)
    if not faint:
        return "fine"
    worst = faint[0]
    return (
        f"loads; {plural(len(faint), 'text')} below a contrast of {LEAST}, the faintest "
        f"{worst.text} on {worst.paper} with {worst.ratio:.1f}"
    )
