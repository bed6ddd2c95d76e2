"""Theme files: TOML that gives each variable of the dashboard a colour.

What is wrong with a file is returned as words, never raised, so that one bad file costs only
itself.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    Folder = str | Path

VARIABLES = tuple(
    """
    app-bg raised row-cursor bar-track bar-plan bar-ghost border border-focus text text-strong
    text-muted decor key key-cap alive alive-bar alive-bar-2 leftover leftover-bar foreign
    foreign-bar unknown unknown-bar stale-bar clear clear-bar holding spark-1 spark-2 spark-3
    spark-base badge-clear badge-holding badge-use badge-cleaning badge-bad badge-unknown
    tint-clear tint-holding tint-use tint-cleaning tint-bad tint-unknown cell-leftover cell-alive
    cell-foreign cell-clear on-cell on-badge on-badge-loud
    """.split()  # noqa: SIM905
)
"""All variables (mockups spec §5); `on-badge-loud` is the text on bad, cleaning and unknown."""

_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_PLAIN = re.compile(r'(?P<key>[\w-]+) = (?:"(?P<text>[\w# -]*)"|(?P<flag>true|false))', re.ASCII)
_HEAD = {"name", "dark", "mono", "mix_cells", "colours"}
_LIMIT_BYTES = 64 << 10
MOST_FILES = 100
"""So many themes of a folder are looked at."""


class ThemeFile(NamedTuple):
    """What a file says."""

    name: str
    colours: Mapping[str, str]
    """Each variable as `#rrggbb`; empty in a mono theme."""
    is_dark: bool = True
    is_mono: bool = False
    mixes_cells: bool = True


def parse_theme_file(text: str, source: str) -> tuple[ThemeFile | None, str]:
    """Read a theme file's text; without a theme the second part says what is wrong with it."""
    table = _plain_table(text)
    if table is None:
        # Only where it is needed: with its own imports it delays the first frame by 20 ms.
        import tomllib

        try:
            table = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            return None, f"{source}: not TOML: {error}"
    wrong = _fault(table)
    if wrong:
        return None, f"{source}: {wrong}"
    return _made(table), ""


def _made(table: dict[str, Any]) -> ThemeFile:
    if table.get("mono"):
        return ThemeFile(table["name"], {}, is_mono=True)
    return ThemeFile(
        table["name"],
        table["colours"],
        is_dark=table.get("dark", True),
        mixes_cells=table.get("mix_cells", True),
    )


def _plain_table(text: str) -> dict[str, Any] | None:
    """Read TOML that is written as the shipped themes are; None for any other."""
    table: dict[str, Any] = {}
    into = table
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line == "[colours]" and into is table:
            into = table["colours"] = {}
            continue
        found = _PLAIN.fullmatch(line)
        if found is None or found["key"] in into:
            return None
        into[found["key"]] = found["flag"] == "true" if found["flag"] else found["text"]
    return table


def _fault(table: dict[str, Any]) -> str:
    if unknown := sorted(table.keys() - _HEAD):
        return f"unknown key {unknown[0]}{_nearest(unknown[0], tuple(_HEAD))}"
    name = table.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[\w-]{1,40}", name):
        return "name must be letters, digits and hyphens"
    for key in ("dark", "mono", "mix_cells"):
        if not isinstance(table.get(key, True), bool):
            return f"{key} must be true or false"
    colours = table.get("colours", {})
    if table.get("mono") is True:
        return "a mono theme has no colours" if colours else ""
    if not isinstance(colours, dict):
        return "colours must be a table"
    return _colour_fault(colours)


def _colour_fault(colours: dict[str, Any]) -> str:
    if unknown := sorted(colours.keys() - set(VARIABLES)):
        return f"unknown colour {unknown[0]}{_nearest(unknown[0], VARIABLES)}"
    if missing := [name for name in VARIABLES if name not in colours]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        return f"missing colour {missing[0]}{more}"
    for name, value in colours.items():
        if not isinstance(value, str) or not _HEX.fullmatch(value):
            return f"{name} must be a colour like #1b2530"
    return ""


def _nearest(word: str, known: tuple[str, ...]) -> str:
    import difflib

    near = difflib.get_close_matches(word, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


def theme_folder() -> str:
    """Return where the shipped themes are: in the installed package, else in the checkout."""
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    installed = os.path.join(package, "themes")
    if os.path.isdir(installed):
        return installed
    return os.path.join(os.path.dirname(package), "themes")


def user_theme_folder(env: Mapping[str, str]) -> str:
    """Return where the user's own themes are: beside the configuration file."""
    from gpudash.config.folders import user_file

    return os.path.join(os.path.dirname(user_file(env)), "themes")


def theme_paths(folders: tuple[Folder, ...] = ()) -> tuple[str, ...]:
    """Return all theme files: shipped ones first, then those of each folder, by name."""
    found: list[str] = []
    for folder in (theme_folder(), *folders):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        found += [
            os.path.join(folder, name)
            for name in sorted(names)[:MOST_FILES]
            if name.endswith(".toml")
        ]
    return tuple(found)


def read_theme_file(path: str) -> tuple[ThemeFile | None, str]:
    """Read one file; without a theme the second part says what is wrong."""
    name = os.path.basename(path)
    try:
        text = _text(path)
    except (OSError, UnicodeDecodeError) as error:
        return None, f"{name}: {error}"
    if text is None:
        return None, f"{name}: too large for a theme, or no file"
    return parse_theme_file(text, name)


def _text(path: str) -> str | None:
    import stat

    from gpudash.config.files import open_at_once

    # A pipe or a device in the folder must not hold up the screen.
    with open(path, "rb", opener=open_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            return None
        data = file.read(_LIMIT_BYTES + 1)
    return None if len(data) > _LIMIT_BYTES else data.decode()
