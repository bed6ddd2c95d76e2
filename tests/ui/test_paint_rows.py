"""Every painter returns rows of exactly the width that was asked, whatever it is given."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudash.core.families import holders
from gpudash.core.model import (
    Fleet,
    Gpu,
    GpuInfo,
    GpuProcess,
    GpuReading,
    GpuState,
    Happening,
    Host,
    HostFacts,
    Kind,
    Link,
    MigReading,
    Owner,
    Problem,
    ProcessInfo,
)
from gpudash.ui.paint.banner import banner_rows
from gpudash.ui.paint.cell import CellPane
from gpudash.ui.paint.events import events_rows
from gpudash.ui.paint.footer import footer_row
from gpudash.ui.paint.frame import KEYS, FrameView, frame_rows
from gpudash.ui.paint.glyphs import ASCII, MONO, UNICODE
from gpudash.ui.paint.header import HeaderView, header_row, notes
from gpudash.ui.paint.hostpane import HostPane, pane_height
from gpudash.ui.paint.layout import plan
from gpudash.ui.paint.spans import Row, plain, row_width
from gpudash.ui.paint.story import Story
from gpudash.ui.paint.view import Density, HostView
from gpudash.ui.paint.welcome import welcome_rows
from tests.ui import fleets

NAMES = st.one_of(
    st.text(max_size=60),
    st.sampled_from(["", "gpu-a", "模型" * 20, "x" * 200, "\u202egpu\x1b[31m", "e\u0301" * 30]),
)
BYTES = st.none() | st.integers(0, 300 << 30)
SMALL = st.none() | st.integers(0, 200_000)
PIDS = st.integers(1, 12)
GLYPHS = st.sampled_from([UNICODE, ASCII, MONO])
WIDTHS = st.integers(40, 320)

processes = st.builds(
    GpuProcess, pid=PIDS, used_bytes=BYTES, kinds=st.just(frozenset({Kind.COMPUTE}))
)
listed = st.none() | st.lists(processes, max_size=4, unique_by=lambda one: one.pid).map(tuple)
slices = st.builds(
    MigReading,
    gpu_instance=st.integers(0, 8),
    compute_instance=st.just(0),
    uuid=st.none(),
    profile=st.none() | NAMES,
    used_bytes=BYTES,
    total_bytes=BYTES,
    processes=listed,
)
readings = st.builds(
    GpuReading,
    used_bytes=BYTES,
    utilisation_pct=SMALL,
    power_mw=st.none() | st.integers(0, 10**9),
    temperature_c=SMALL,
    sm_clock_mhz=SMALL,
    recovery_action=st.none() | st.integers(0, 9),
    processes=listed,
    mig=st.lists(slices, max_size=2).map(tuple),
)
infos = st.builds(
    ProcessInfo,
    pid=PIDS,
    start_ticks=st.integers(1, 9),
    uid=st.integers(0, 2),
    user=NAMES,
    comm=NAMES,
    argv=st.lists(NAMES, max_size=4).map(tuple),
    state=st.sampled_from("SDTZR"),
    age_s=st.floats(0, 10**7),
)
problems = st.builds(Problem, title=NAMES, sentence=NAMES, advice=NAMES, detail=NAMES)


@st.composite
def hosts(draw: st.DrawFn) -> Host:
    gpus = tuple(
        Gpu(
            info=GpuInfo(
                index=draw(st.integers(0, 20)),
                uuid=f"GPU-{number}",
                name=draw(st.none() | NAMES),
                total_bytes=draw(BYTES),
            ),
            reading=draw(st.none() | readings),
            state=draw(st.sampled_from(list(GpuState))),
        )
        for number in range(draw(st.integers(0, 3)))
    )
    known = draw(st.lists(infos, max_size=4, unique_by=lambda one: one.pid))
    facts = HostFacts(
        protocol=1,
        source="nvml",
        python=None,
        driver=draw(st.none() | NAMES),
        nvml=None,
        boot_id=None,
        uid=draw(st.none() | st.integers(0, 2)),
        pid_namespace=draw(st.sampled_from([None, 7])),
        is_simulated=draw(st.booleans()),
    )
    return Host(
        name=draw(NAMES),
        link=draw(st.sampled_from(list(Link))),
        facts=draw(st.sampled_from([None, facts])),
        gpus=gpus,
        processes=tuple(sorted(known, key=lambda one: one.pid)),
        gone_pids=draw(st.frozensets(PIDS, max_size=2)),
        problem=draw(st.none() | problems),
        received_s=draw(st.none() | st.floats(0, 9_999)),
        samples=draw(st.integers(0, 2)),
        retry=draw(st.integers(0, 12)),
    )


def check(rows: tuple[Row, ...] | list[Row], width: int) -> None:
    for row in rows:
        assert row_width(row) == width, plain(row)
        assert all(unicodedata.category(char)[0] != "C" for char in plain(row)), plain(row)


lively = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@lively
@given(hosts(), WIDTHS, st.sampled_from([Density.CARD, Density.LINE]), GLYPHS, st.booleans())
def test_host_panes(host: Host, width: int, density: Density, glyphs: object, alone: bool) -> None:
    fleet = fleets.lettered(host)
    density = Density.LINE if width < 100 else density
    view = HostView(
        host=host,
        holders=holders(host, fleet.letters),
        now_s=10_000.0,
        density=density,
        glyphs=glyphs,  # type: ignore[arg-type]
        has_focus=True,
        cursor=0,
        is_alone=alone,
    )
    pane = HostPane(view, width)
    check(pane.rows(), width)
    assert len(pane.rows()) == pane.height == pane_height(host, density, width, is_alone=alone)
    check(CellPane((view, view), width, view.glyphs).rows(), width)


@lively
@given(st.lists(hosts(), max_size=3), WIDTHS, st.integers(10, 60), GLYPHS)
def test_whole_frames(found: list[Host], width: int, height: int, glyphs: object) -> None:
    named = tuple(replace(host, name=f"{host.name}{n}") for n, host in enumerate(found))
    fleet = fleets.lettered(*named)
    view = FrameView(fleet=fleet, now_s=10_000.0, glyphs=glyphs)  # type: ignore[arg-type]
    rows = frame_rows(view, width, height)
    assert len(rows) == height
    check(rows, width)


@lively
@given(NAMES, NAMES, WIDTHS, GLYPHS, st.booleans(), st.booleans())
def test_small_parts(
    name: str, words: str, width: int, glyphs: object, simulated: bool, several: bool
) -> None:
    head = HeaderView(
        (name,) * (1 + several), 8, "12:06:23", 1.0, simulated, 12.0 if several else None
    )
    check([header_row(head, width, glyphs)], width)  # type: ignore[arg-type]
    story = Story(
        "bad",
        "bad",
        "NOT CLEAR",
        words[:30],
        (((name, "text"),),) * 3,
        (((words, "text"),),),
        (("e", name), ("r", words)),
        ((words, "text"),),
    )
    clean = story._replace(
        since="for 41m",
        headline=(((name.strip() and "a fact" * 9, "text"),),) * 3,
        second=((("b fact" * 20, "text"),),),
        keys=(("e", "errors"), ("r", "reconnect")),
        short=(("a short fact", "text"),),
    )
    check(banner_rows(clean, width, glyphs, notes(head)), width)  # type: ignore[arg-type]
    check([footer_row(KEYS, width, glyphs)], width)  # type: ignore[arg-type]
    news = Happening(at_s=1.0, host=name, words=words, letter="A", owner=Owner.MINE)
    for height in (0, 2, 4, 9):
        panel = events_rows(
            (news,) * 5,
            width,
            height,
            wall_of=fleets.wall_of,
            glyphs=glyphs,
            has_hosts=several,  # type: ignore[arg-type]
        )
        assert len(panel) == height
        check(panel, width)
        check(welcome_rows(width, height, glyphs), width)  # type: ignore[arg-type]


FLEETS = {
    "busy": fleets.busy(),
    "idle": fleets.idle(),
    "three": fleets.three_hosts(),
    "odd": fleets.lettered(fleets.odd_host()),
    "errors": fleets.errors(),
    "container": fleets.container(),
    "none": Fleet(),
}


@pytest.mark.parametrize("name", FLEETS)
@pytest.mark.parametrize("density", [None, Density.LINE, Density.CELL])
def test_realistic_frames_at_all_widths(name: str, density: Density | None) -> None:
    fleet = FLEETS[name]
    focus = fleet.hosts[0].name if fleet.hosts else None
    widths = (40, 59, 60, 79, 80, 99, 100, 119, 120, 137, 200, 320)
    for width, height in product(widths, (10, 24, 50)):
        view = FrameView(
            fleet=fleet, now_s=fleets.NOW, wall_of=fleets.wall_of, density=density, focus=focus
        )
        rows = frame_rows(view, width, height)
        assert len(rows) == height
        check(rows, width)


@pytest.mark.parametrize(("width", "height"), [(40, 10), (80, 24), (120, 40), (200, 60)])
def test_simulated_is_said_at_every_size(width: int, height: int) -> None:
    host = replace(fleets.busy_host(), facts=fleets.facts(is_simulated=True))
    rows = frame_rows(FrameView(fleet=fleets.lettered(host)), width, height)
    assert "SIMULATED" in "".join(map(plain, rows))


def test_columns_do_not_move_between_rows() -> None:
    rows = frame_rows(FrameView(fleet=fleets.busy(), now_s=fleets.NOW), 120, 30)
    lines = [plain(row) for row in rows if "scheduler" in plain(row) or " TP" in plain(row)]
    assert len({line.index("/95.6 GiB") for line in lines if "/95.6" in line}) == 1


def test_old_values_have_no_colour_of_their_owner() -> None:
    host = fleets.silent_host()
    view = HostView(host=host, holders=holders(host, ()), now_s=fleets.NOW)
    styles = {style for row in HostPane(view, 160).rows()[1:-1] for _, style in row}
    assert styles <= {
        "text",
        "text-muted",
        "text-muted b",
        "stale-bar",
        "bar-track",
        "decor",
        "unknown",
        "border-focus",
        "key b",
    }


def test_layout_fills_the_screen() -> None:
    for width, height in product((40, 80, 120, 200), (10, 12, 24, 40, 60)):
        layout = plan(width, height, fleets.three_hosts().hosts, holders_wanted=11)
        total = layout.header + layout.banner + layout.hosts + layout.holders
        assert total + layout.events + layout.gap + layout.footer == height


@pytest.mark.parametrize("width", [60, 100, 120])
def test_rows_say_what_the_banner_says_of_who_holds_nothing_or_ended(width: int) -> None:
    for used, state, words in ((0.0, "S", "no memory"), (4.0, "Z", "ended")):
        infos = (fleets.process(77, "python u4.py", age=300, state=state),)
        host = fleets.host("a", (fleets.gpu(0, used, (77, used)),), processes=infos)
        rows = frame_rows(FrameView(fleet=fleets.lettered(host), now_s=fleets.NOW), width, 14)
        (row,) = [plain(one) for one in rows if "u4.py" in plain(one) and "/95.6" in plain(one)]
        assert f"u4.py {words}" in " ".join(row.split())
