"""Themes: shipped ones are whole, broken ones are named, style keys resolve."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from gpudash.config import themes
from gpudash.ui.paint.ansi import Depth, sgr, to_ansi
from gpudash.ui.paint.frame import FrameView, frame_rows
from gpudash.ui.theme import MONO, Look, load_all, load_theme, parse_theme
from tests.ui import fleets

DARK = Path(themes.theme_folder(), "gpudash-dark.toml").read_text()


def test_shipped_themes_load() -> None:
    loaded, faults = load_all()
    assert not faults
    assert set(loaded) >= {"gpudash-dark", "gpudash-light", "gpudash-mono"}
    for theme in loaded.values():
        assert theme.is_mono or set(theme.colours) == set(themes.VARIABLES)


def test_plain_lines_read_as_tomllib_reads_them() -> None:
    texts = {path.stem: path.read_text() for path in Path(themes.theme_folder()).glob("*.toml")}
    plain = {name: themes._plain_table(text) for name, text in texts.items()}
    assert plain == {name: tomllib.loads(text) for name, text in texts.items()}


@pytest.mark.parametrize(
    "line", ['a = "\\u00e9"', "a = 'x'", 'a="x"', 'a = "x" # why', "a.b = true", "[other]", "a = 1"]
)
def test_other_lines_are_left_to_tomllib(line: str) -> None:
    assert themes._plain_table(line) is None


def luminance(colour: str) -> float:
    channels = [value / 255 for value in bytes.fromhex(colour[1:])]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    "name", ["gpudash-dark", "gpudash-light", "gpudash-colour-blind", "gpudash-high-contrast"]
)
def test_text_can_be_read(name: str) -> None:
    colours = load_theme(name)[0].colours
    tints = [key for key in colours if key.startswith("tint-")]
    for text in (
        "text",
        "text-strong",
        "text-muted",
        "alive",
        "leftover",
        "foreign",
        "unknown",
        "clear",
        "holding",
        "key",
    ):
        for paper in ("app-bg", "raised", "row-cursor", *tints):
            assert contrast(colours[text], colours[paper]) >= 4.5, (text, paper)
    for badge in ("clear", "holding", "use", "cleaning", "bad", "unknown"):
        loud = badge in ("cleaning", "bad", "unknown")
        text = colours["on-badge-loud" if loud else "on-badge"]
        assert contrast(text, colours[f"badge-{badge}"]) >= 4.5, badge


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("=", "not TOML"),
        ('name = "a b"', "name must be"),
        ('name = "x"\ncolors = 1', "unknown key colors; did you mean colours?"),
        ('name = "x"\ncolours = 1', "colours must be a table"),
        ('name = "x"\ndark = 1', "dark must be true or false"),
        ('name = "x"', "missing colour app-bg and 49 more"),
        (DARK.replace("text-muted =", "text-mutd ="), "unknown colour text-mutd; did you mean"),
        (DARK.replace('"#0e1217"', '"blue"'), "app-bg must be a colour like"),
        (DARK.replace('"#0e1217"', "7"), "app-bg must be a colour like"),
        ('name = "x"\nmono = true\n[colours]\ntext = "#ffffff"', "a mono theme has no colours"),
    ],
)
def test_what_is_wrong_is_said(text: str, words: str) -> None:
    theme, wrong = parse_theme(text, "mine.toml")
    assert theme is None
    assert wrong.startswith("mine.toml: ")
    assert words in wrong


def test_users_themes_win_and_bad_ones_cost_only_themselves(tmp_path: Path) -> None:
    (tmp_path / "gpudash-dark.toml").write_text(DARK.replace("#0e1217", "#010203"))
    (tmp_path / "bad.toml").write_text("=")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe")
    loaded, faults = load_all((tmp_path,))
    assert loaded["gpudash-dark"].colour("app-bg") == "#010203"
    assert sorted(fault.split(":")[0] for fault in faults) == ["bad.toml", "binary.toml"]
    assert load_theme("gpudash-dark", (tmp_path,))[0].colour("app-bg") == "#010203"
    assert load_theme("bad", (tmp_path,))[0] is MONO
    assert "no theme nowhere" in load_theme("nowhere")[1]


def test_style_keys() -> None:
    theme = load_theme("gpudash-dark")[0]
    assert theme.look("text") == Look("#d5dce4", None, False, False, False)
    assert theme.look("key b on key-cap") == Look("#6db3f2", "#24405c", True, False, False)
    assert theme.look("on-cell on cell-alive~40").bg == "#264462"
    assert MONO.look("text-muted").is_dim
    assert MONO.look("text-strong").is_bold
    assert MONO.look("on-badge b on badge-use").is_reversed
    with pytest.raises(KeyError):
        theme.look("nonsense")


@pytest.mark.parametrize("depth", list(Depth))
@pytest.mark.parametrize("name", ["gpudash-dark", "gpudash-light", "gpudash-mono"])
def test_every_style_of_a_frame_is_known(name: str, depth: Depth) -> None:
    theme = load_theme(name)[0]
    for fleet in (fleets.three_hosts(), fleets.errors(), fleets.idle(), fleets.many(9)):
        for width in (40, 80, 160):
            for row in frame_rows(FrameView(fleet=fleet, now_s=fleets.NOW), width, 40):
                line = to_ansi(row, theme, depth)
                assert line.endswith("\x1b[0m")
                assert re.sub(r"\x1b\[[\d;]*m", "", line) == "".join(text for text, _ in row)


def test_depths() -> None:
    theme = load_theme("gpudash-dark")[0]
    assert sgr("text b", theme, Depth.TRUE) == "1;38;2;213;220;228;48;2;14;18;23"
    assert sgr("leftover b", theme, Depth.FEW) == "1;91"
    assert sgr("text on row-cursor", theme, Depth.FEW) == ""
    assert sgr("text-strong", theme, Depth.NONE) == "1"
    assert re.fullmatch(r"38;5;\d+;48;5;\d+", sgr("text", theme, Depth.MANY))
