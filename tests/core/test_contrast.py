"""Contrast against known values, and who cannot tell which colours of the themes apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudash.config.themes import VARIABLES, read_theme_file, theme_folder
from gpudash.core.contrast import LEAST, contrast, faint_pairs, text_pairs

FOLDER = Path(theme_folder())
COLOURED = [path.stem for path in sorted(FOLDER.glob("*.toml")) if "mono" not in path.stem]


def colours(name: str) -> dict[str, str]:
    theme, wrong = read_theme_file(str(FOLDER / f"{name}.toml"))
    assert theme is not None, wrong
    return dict(theme.colours)


@pytest.mark.parametrize(
    ("one", "other", "ratio"),
    [
        ("#000000", "#ffffff", 21.0),
        ("#777777", "#ffffff", 4.48),
        ("#767676", "#ffffff", 4.54),
        ("#ff0000", "#ffffff", 4.0),
        ("#123456", "#123456", 1.0),
    ],
)
def test_known_contrasts(one: str, other: str, ratio: float) -> None:
    assert contrast(one, other) == pytest.approx(ratio, abs=0.01)
    assert contrast(other, one) == contrast(one, other)


@pytest.mark.parametrize("name", COLOURED)
def test_every_text_of_a_shipped_theme_reaches_aa(name: str) -> None:
    assert faint_pairs(colours(name)) == ()


def test_every_colour_that_is_a_background_of_text_is_looked_at() -> None:
    papers = {pair.paper for pair in text_pairs(colours("gpudash-dark"))}
    named = {one for one in VARIABLES if one.startswith(("tint-", "badge-", "cell-"))}
    assert papers == named | {"app-bg", "raised", "row-cursor", "key-cap"}


def test_a_faint_text_is_found() -> None:
    faint = faint_pairs(colours("gpudash-dark") | {"text-muted": "#3a424c"})
    assert {pair.text for pair in faint} == {"text-muted"}
    assert all(pair.ratio < LEAST for pair in faint)
    assert [pair.ratio for pair in faint] == sorted(pair.ratio for pair in faint)


@pytest.mark.parametrize("name", COLOURED)
@pytest.mark.parametrize("owner", ["alive-bar", "leftover-bar", "foreign-bar"])
def test_bars_stand_out_from_their_track(name: str, owner: str) -> None:
    found = colours(name)
    assert contrast(found[owner], found["bar-track"]) >= 2.95


# Viénot, Brettel, Mollon 1999, "Digital video colourmaps for checking the legibility of displays by
# dichromats": linear RGB to LMS, and what a missing cone makes of it.
TO_LMS = (
    (17.8824, 43.5161, 4.11935),
    (3.45565, 27.1554, 3.86714),
    (0.0299566, 0.184309, 1.46709),
)
FROM_LMS = (
    (0.080944, -0.130504, 0.116721),
    (-0.0102485, 0.0540194, -0.113615),
    (-0.000365294, -0.00412163, 0.693513),
)
TO_XYZ = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
WHITE = (0.95047, 1.0, 1.08883)


def times(matrix: tuple[tuple[float, ...], ...], vector: list[float]) -> list[float]:
    return [sum(a * b for a, b in zip(row, vector, strict=True)) for row in matrix]


def linear(colour: str) -> list[float]:
    shares = [value / 255 for value in bytes.fromhex(colour[1:])]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares]


def seen(colour: str, kind: str) -> list[float]:
    """Return the Lab coordinates of a colour as somebody sees it."""
    rgb = linear(colour)
    if kind != "all cones":
        long, middle, short = times(TO_LMS, rgb)
        if kind == "protan":
            long = 2.02344 * middle - 2.52581 * short
        else:
            middle = 0.494207 * long + 1.24827 * short
        rgb = [min(1.0, max(0.0, one)) for one in times(FROM_LMS, [long, middle, short])]
    x, y, z = (
        (a / w) ** (1 / 3) if a / w > 0.008856 else 7.787 * a / w + 16 / 116
        for a, w in zip(times(TO_XYZ, rgb), WHITE, strict=True)
    )
    return [116 * y - 16, 500 * (x - y), 200 * (y - z)]


def apart(one: str, other: str) -> float:
    """Return how far apart (CIE76) two colours are for whoever sees it worst."""
    return min(
        sum((a - b) ** 2 for a, b in zip(seen(one, kind), seen(other, kind), strict=True)) ** 0.5
        for kind in ("protan", "deutan")
    )


@pytest.mark.parametrize(
    ("one", "other", "least"),
    [
        ("badge-clear", "badge-bad", 100),
        ("badge-clear", "badge-unknown", 60),
        ("leftover-bar", "alive-bar", 70),
        ("leftover-bar", "foreign-bar", 70),
        ("alive-bar", "foreign-bar", 25),
        ("cell-clear", "cell-leftover", 60),
        ("leftover", "unknown", 30),
        ("clear", "leftover", 70),
        ("leftover", "alive", 60),
    ],
)
def test_the_colour_blind_theme_is_told_apart_without_a_cone(
    one: str, other: str, least: float
) -> None:
    found = colours("gpudash-colour-blind")
    assert apart(found[one], found[other]) >= least


def test_the_simulation_sees_what_the_dark_theme_loses() -> None:
    found = colours("gpudash-dark")
    assert apart(found["badge-clear"], found["badge-bad"]) < 25
    assert apart(found["alive-bar"], found["foreign-bar"]) < 10
