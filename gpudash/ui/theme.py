"""Themes: what each style key of the painters looks like, from theme files.

A theme is a value. What is wrong with a file is returned as words, never raised.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from gpudash.config.themes import (
    ThemeFile,
    parse_theme_file,
    read_theme_file,
    theme_folder,
    theme_paths,
)

if TYPE_CHECKING:
    from gpudash.config.themes import Folder

DEFAULT = "gpudash-dark"
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

    @property
    def mixes_cells(self) -> bool:
        """Tell whether cells of the heat map fade with their fill level."""
        return self._mixes_cells

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


def theme_of(file: ThemeFile) -> Theme:
    """Return the theme that a file describes."""
    return Theme(
        file.name,
        dict(file.colours),
        is_dark=file.is_dark,
        is_mono=file.is_mono,
        mixes_cells=file.mixes_cells,
    )


def parse_theme(text: str, source: str) -> tuple[Theme | None, str]:
    """Read a theme file's text; without a theme the second part says what is wrong with it."""
    file, wrong = parse_theme_file(text, source)
    return (None if file is None else theme_of(file)), wrong


def load_theme(name: str, folders: tuple[Folder, ...] = ()) -> tuple[Theme, str]:
    """Return a theme by name, from the user's folders first.

    Where it can't be had, the second part says why and the theme is mono, which always works.
    """
    for folder in (*folders, theme_folder()):
        path = os.path.join(folder, f"{name}.toml")
        if os.path.isfile(path):
            file, wrong = read_theme_file(path)
            return (MONO if file is None else theme_of(file)), wrong
    return MONO, f"no theme {name} in {theme_folder()}"


def load_all(folders: tuple[Folder, ...] = ()) -> tuple[dict[str, Theme], tuple[str, ...]]:
    """Return all themes by name, and what is wrong with those that are left out."""
    themes: dict[str, Theme] = {}
    faults: list[str] = []
    # Later folders win: the user's own come last.
    for path in theme_paths(folders):
        file, wrong = read_theme_file(path)
        if file is not None:
            themes[file.name] = theme_of(file)
        if wrong:
            faults.append(wrong)
    return themes, tuple(faults)
