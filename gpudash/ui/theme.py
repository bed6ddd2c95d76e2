"""Themes: TOML files that give each variable of the dashboard a colour.

A theme is a value. What is wrong with a file is returned as words, never raised, so that one bad
file costs only itself.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
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

DEFAULT = "gpudash-dark"
_HEX = re.compile(r"#[0-9a-fA-F]{6}")
_PLAIN = re.compile(r'(?P<key>[\w-]+) = (?:"(?P<text>[\w# -]*)"|(?P<flag>true|false))', re.ASCII)
_HEAD = {"name", "dark", "mono", "mix_cells", "colours"}
_STRONG = ("text-strong", "border-focus")
_QUIET = (
    "text-muted",
    "decor",
    "border",
    "stale-bar",
    "bar-track",
    "spark-base",
    "spark-1",
    "spark-2",
    "spark-3",
)
_LIMIT_BYTES = 64 << 10


class Look(NamedTuple):
    """A style key, resolved."""

    fg: str | None
    """`#rrggbb`; None is the terminal's own."""
    bg: str | None
    is_bold: bool
    is_dim: bool
    is_reversed: bool


class Theme:
    """One theme; do not change it: looks are cached."""

    def __init__(
        self,
        name: str,
        colours: dict[str, str],
        *,
        is_dark: bool = True,
        is_mono: bool = False,
        mixes_cells: bool = True,
    ) -> None:
        self.name = name
        self.is_dark = is_dark
        self.is_mono = is_mono
        self._colours = dict(colours)
        self._mixes_cells = mixes_cells
        self._looks: dict[str, Look] = {}

    def colour(self, variable: str) -> str | None:
        """Return a variable as `#rrggbb`; None in a mono theme. Raises KeyError."""
        return None if self.is_mono else self._colours[variable]

    @property
    def colours(self) -> dict[str, str]:
        """Return a copy of all variables; empty in a mono theme."""
        return dict(self._colours)

    def look(self, key: str) -> Look:
        """Resolve a style key (see `gpudash.ui.paint.spans`). Raises KeyError."""
        known = self._looks.get(key)
        if known is None:
            known = self._looks[key] = self._resolve(key)
        return known

    def _resolve(self, key: str) -> Look:
        front, _, background = key.partition(" on ")
        variable, *flags = front.split()
        if self.is_mono:
            return _mono_look(variable, flags, background)
        return Look(
            fg=self._mixed(variable),
            bg=self._mixed(background) if background else None,
            is_bold="b" in flags,
            is_dim="d" in flags,
            is_reversed="r" in flags,
        )

    def _mixed(self, variable: str) -> str:
        name, _, share = variable.partition("~")
        colour = self._colours[name]
        if not share or not self._mixes_cells:
            return colour
        return mixed(colour, self._colours["bar-track"], int(share))


def _mono_look(variable: str, flags: list[str], background: str) -> Look:
    is_filled = background.startswith(("badge-", "key-cap", "cell-"))
    return Look(
        fg=None,
        bg=None,
        is_bold="b" in flags or variable in _STRONG,
        is_dim=not is_filled and variable in _QUIET,
        is_reversed=is_filled or "r" in flags,
    )


def mixed(colour: str, base: str, percent: int) -> str:
    """Return so many per cent of one colour over another."""
    pairs = zip(bytes.fromhex(colour[1:]), bytes.fromhex(base[1:]), strict=True)
    channels = (round((a * percent + b * (100 - percent)) / 100) for a, b in pairs)
    return "#" + bytes(channels).hex()


MONO = Theme("gpudash-mono", {}, is_mono=True)


def parse_theme(text: str, source: str) -> tuple[Theme | None, str]:
    """Read a theme file's text; without a theme the second part says what is wrong with it."""
    table = _plain_table(text)
    if table is None:
        # Only where it is needed: with its own imports it delays the first frame by 20 ms.
        import tomllib

        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            return None, f"{source}: not TOML: {error}"
    wrong = _fault(table)
    if wrong:
        return None, f"{source}: {wrong}"
    name = table["name"]
    if table.get("mono"):
        return Theme(name, {}, is_mono=True), ""
    theme = Theme(
        name,
        table["colours"],
        is_dark=table.get("dark", True),
        mixes_cells=table.get("mix_cells", True),
    )
    return theme, ""


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


def load_theme(name: str, folders: tuple[Folder, ...] = ()) -> tuple[Theme, str]:
    """Return a theme by name, from the user's folders first.

    Where it can't be had, the second part says why and the theme is mono, which always works.
    """
    for folder in (*folders, theme_folder()):
        path = os.path.join(folder, f"{name}.toml")
        if os.path.isfile(path):
            theme, wrong = read_theme(path)
            return theme or MONO, wrong
    return MONO, f"no theme {name} in {theme_folder()}"


def read_theme(path: str) -> tuple[Theme | None, str]:
    """Read one file; without a theme the second part says what is wrong."""
    name = os.path.basename(path)
    try:
        with open(path, "rb") as file:
            data = file.read(_LIMIT_BYTES + 1)
        if len(data) > _LIMIT_BYTES:
            return None, f"{name}: too large for a theme"
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        return None, f"{name}: {error}"
    return parse_theme(text, name)


def load_all(folders: tuple[Folder, ...] = ()) -> tuple[dict[str, Theme], tuple[str, ...]]:
    """Return all themes by name, and what is wrong with those that are left out."""
    themes: dict[str, Theme] = {}
    faults: list[str] = []
    # Later folders win: the user's own come last.
    for folder in (theme_folder(), *folders):
        names = os.listdir(folder) if os.path.isdir(folder) else ()
        for name in sorted(name for name in names if name.endswith(".toml")):
            theme, wrong = read_theme(os.path.join(folder, name))
            if theme is not None:
                themes[theme.name] = theme
            if wrong:
                faults.append(wrong)
    return themes, tuple(faults)
