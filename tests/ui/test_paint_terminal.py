"""Colours and characters by the terminal's environment."""

from __future__ import annotations

import pytest

from gpudash.ui.paint.ansi import Depth
from gpudash.ui.paint.glyphs import ASCII, MONO, UNICODE
from gpudash.ui.paint.terminal import depth_of, glyphs_of


@pytest.mark.parametrize(
    ("environ", "depth"),
    [
        ({"TERM": "xterm-256color"}, Depth.MANY),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, Depth.TRUE),
        ({"TERM": "xterm-direct"}, Depth.TRUE),
        ({"TERM": "xterm"}, Depth.FEW),
        ({"TERM": "linux"}, Depth.FEW),
        ({"TERM": "dumb"}, Depth.NONE),
        ({}, Depth.NONE),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, Depth.NONE),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, Depth.MANY),
    ],
)
def test_depth(environ: dict[str, str], depth: Depth) -> None:
    assert depth_of(environ) is depth


def test_glyphs() -> None:
    utf8 = {"LANG": "en_US.UTF-8", "TERM": "xterm"}
    assert glyphs_of(utf8, Depth.TRUE) is UNICODE
    assert glyphs_of(utf8, Depth.NONE) is MONO
    assert glyphs_of(utf8, Depth.TRUE, wants_ascii=True) is ASCII
    assert glyphs_of({**utf8, "TERM": "linux"}, Depth.FEW) is ASCII
    assert glyphs_of({"LANG": "C"}, Depth.TRUE) is ASCII
    assert glyphs_of({**utf8, "LC_ALL": "C"}, Depth.TRUE) is ASCII
    assert glyphs_of({"LANG": "C", "LC_ALL": "C.UTF-8"}, Depth.TRUE) is UNICODE
    assert glyphs_of({}, Depth.TRUE) is UNICODE
