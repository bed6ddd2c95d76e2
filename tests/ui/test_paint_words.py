"""What stands in rows, to the cell: the columns of the specification."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudash.core.eventlog import event_lines, log_text
from gpudash.ui.paint.frame import FrameView, frame_rows
from gpudash.ui.paint.glyphs import ASCII
from gpudash.ui.paint.spans import plain
from gpudash.ui.paint.view import Density
from tests.ui import fleets
from tests.ui.showing import HandClock


def screen(fleet: fleets.Fleet, width: int, height: int, **rest: object) -> list[str]:
    view = FrameView(fleet=fleet, now_s=fleets.NOW, wall_of=fleets.wall_of, **rest)  # type: ignore[arg-type]
    return [plain(row) for row in frame_rows(view, width, height)]


def only(lines: list[str], words: str) -> str:
    found = [line for line in lines if words in line]
    assert len(found) == 1, (words, found)
    return found[0]


@pytest.mark.parametrize(
    ("width", "row"),
    [
        (40, " 5 ▆▆▆▆▆▆▆▆▆▆▆▆  74.6  A sglang TP5 + B "),
        (
            80,
            "│   5 ▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆  74.6/95.6   97%  A sglang TP5 + B notebook       41m │",
        ),
        (
            120,
            "│   5 ▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆▆  74.6/95.6 GiB   ················  97%  61°C  400 W"
            "  A sglang TP5 + B           41m │",
        ),
    ],
)
def test_a_line(width: int, row: str) -> None:
    lines = screen(fleets.busy(), width, 24, density=Density.LINE)
    assert only(lines, "TP5") == row


def test_a_card() -> None:
    lines = screen(fleets.busy(), 120, 40)
    first = only(lines, "scheduler TP5")
    at = lines.index(first)
    assert first[53:].startswith("74.6 / 95.6 GiB    A sglang  scheduler TP5")
    assert first.endswith("41m │")
    assert lines[at + 1][53:].rstrip(" │") == (
        " 97%  61°C  400 W  B notebook ipykernel 3.4 GiB · ana"
    )


def test_holders() -> None:
    lines = screen(fleets.busy(), 80, 24)
    assert only(lines, "8 processes") == (
        "│ ■ A sglang   Qwen3-235B-A22B   root  01234567  569.4     41m  8 processes    │"
    )
    assert only(screen(fleets.idle(), 80, 24), " none") == (
        "│ none, last look 12:06:22".ljust(79) + "│"
    )
    assert "not known yet" in only(screen(fleets.connecting(), 80, 24), "not known")


@pytest.mark.parametrize(
    ("words", "row"),
    [
        ("dead", "A pid 48220 is dead"),
        ("needs a reset", "× needs a reset"),
        ("unreadable", "? unreadable  its used memory can't be read"),
        ("unified", "? unified memory  shares the system's memory: zero can't be proven"),
        ("gone", "× gone  was here before, the driver does not list it any more"),
        ("not allowed", "? not allowed  its memory may not be read here"),
        ("holder not", "▒ holder not readable, process list can't be read"),
    ],
)
def test_trouble_has_words(words: str, row: str) -> None:
    lines = screen(fleets.lettered(fleets.odd_host()), 160, 40, density=Density.LINE)
    rows = [line for line in lines[4:12] if words in line]
    assert len(rows) == 1
    assert row.split(",")[0] in rows[0]


def test_unknown_is_never_written_as_zero() -> None:
    lines = screen(fleets.lettered(fleets.odd_host()), 120, 30, density=Density.LINE)
    for line in lines[4:12]:
        assert " 0/" not in line
        assert "free" not in line


def test_silence_is_dated() -> None:
    lines = screen(fleets.three_hosts(), 200, 60)
    title = only(lines, "last seen 12:06:09")
    assert title.startswith("╭─ … root@gpu-b  last seen 12:06:09, 14 s ago  values below are old ─")
    assert only(lines, "7 of 8 GPUs answer").startswith(
        "╭─ × root@gpu-c  8 × H200  driver 580.159.04"
    )
    assert "× lost" in only(lines, "needs a reset or a reboot")


def test_slices_have_their_own_totals() -> None:
    lines = screen(fleets.three_hosts(), 200, 60)
    assert "2 MIG  3 slices, 41.2 of 139.8 GiB" in only(lines, "MIG")
    assert " 30.1/69.5 GiB" in only(lines, "└0")
    assert "2g.35gb  free" in only(lines, "└2")


def test_heat_has_words_too() -> None:
    host = fleets.busy_host()
    first = host.gpus[0]
    assert first.reading is not None
    hot = replace(first, reading=replace(first.reading, throttle_bits=0x40))
    lines = screen(fleets.lettered(replace(host, gpus=(hot, *host.gpus[1:]))), 120, 40)
    assert "slowed by heat" in only(lines[:20], "pid 48213")


def test_ascii_has_no_other_characters() -> None:
    for fleet in (fleets.three_hosts(), fleets.errors(), fleets.lettered(fleets.odd_host())):
        assert all(line.isascii() for line in screen(fleet, 120, 50, glyphs=ASCII))


def test_commands_to_start_with() -> None:
    lines = screen(fleets.Fleet(), 80, 24)
    assert "This machine has no NVIDIA driver. Name the hosts to watch:" in only(
        lines, "This machine"
    )
    assert lines[-1].strip() == "d demo  ? help  q quit"
    assert "gpudash doctor gpu-a" in only(lines, "doctor")


def test_how_far_a_host_is_stands_at_its_titles_right() -> None:
    fleet = fleets.busy()
    far = replace(fleet.hosts[0], transport="ssh", round_trip_s=0.0124, clock_offset_s=-3.24)
    title = screen(replace(fleet, hosts=(far,)), 120, 40)[3]
    assert title.endswith(" clock 3.2 s behind   12 ms   now ─╮")
    near = replace(far, round_trip_s=0.0002, clock_offset_s=0.3)
    title = screen(replace(fleet, hosts=(near,)), 120, 40)[3]
    assert title.endswith("─ <1 ms   now ─╮")


def test_a_fallback_says_what_it_lacks() -> None:
    fleet = fleets.busy()
    host = fleet.hosts[0]
    assert host.facts is not None
    facts = replace(host.facts, source="nvidia-smi", unsupported=("graphics processes", "power"))
    shown = replace(fleet, hosts=(replace(host, facts=facts),))
    assert "through nvidia-smi  lacks graphics processes; power " in screen(shown, 160, 40)[3]
    assert "through nvidia-smi ─" in screen(shown, 100, 40)[3]
    text = log_text(event_lines(shown, (), is_bad_only=False), HandClock().wall)
    assert "read through nvidia-smi, which lacks:\n  graphics processes\n  power" in text
