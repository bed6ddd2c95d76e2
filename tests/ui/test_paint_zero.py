"""Green, `free` and `zero` are the verdict's to say; what is made up is marked from the start."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudash.core.events import Sample
from gpudash.core.families import holders
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import Fleet, Gpu, GpuState, Host, Link
from gpudash.core.readings import read_gpu
from gpudash.core.slices import judge_slice, slices_of
from gpudash.core.verify import Verdict, judge_gpu, judge_host
from gpudash.ui.paint.cell import CellPane
from gpudash.ui.paint.frame import FrameView, frame_rows
from gpudash.ui.paint.glyphs import ASCII, UNICODE
from gpudash.ui.paint.hostpane import HostPane, is_split
from gpudash.ui.paint.spans import Row, plain
from gpudash.ui.paint.view import Density, HostView
from tests.core import making
from tests.ui import fleets

NAMES = ("gpu-a", "gpu-b")
GLYPHS = st.sampled_from([UNICODE, ASCII])
DENSITIES = st.sampled_from([None, *Density])
doubtful = st.builds(
    replace,
    making.readings,
    doubt=st.sampled_from(["", "", "the driver lists a process twice"]),
    hidden_processes=st.sampled_from([0, 0, 1]),
)


@st.composite
def watched(draw: st.DrawFn) -> Fleet:
    """Return a fleet as it came about: greeted, read, and then anything."""
    simulated = frozenset(name for name in NAMES if draw(st.booleans()))
    fleet = new_fleet(NAMES, 0.0, simulated=simulated)
    for name in NAMES:
        hello = draw(making.hellos)
        read = draw(st.lists(doubtful, min_size=len(hello.roster), max_size=len(hello.roster)))
        sample = Sample(seq=1, host_monotonic_s=1.0, readings=tuple(read))
        more = draw(st.just([]) | st.lists(making.events, max_size=3))
        for event in (replace(hello, seq=0), sample, *more):
            fleet = apply(fleet, name, event, 1.0)
    return fleet


def is_green(row: Row) -> bool:
    return any("clear" in style for text, style in row if text.strip())


def says_zero(row: Row) -> bool:
    return is_green(row) or "free" in plain(row)


def may_be_zero(host: Host, gpu: Gpu, step: int) -> bool:
    """Judge what one row of a GPU is about: itself, or one of its slices."""
    if judge_host(host).reason:
        return False
    judged = judge_gpu(gpu)
    if is_split(gpu) and step > 0:
        judged = judge_slice(gpu, slices_of(gpu)[step - 1])
    return judged.verdict is Verdict.ZERO


def check_panes(fleet: Fleet, width: int, density: Density) -> None:
    for host in fleet.hosts:
        found = holders(host, fleet.letters)
        view = HostView(host=host, holders=found, now_s=5.0, density=density, is_alone=False)
        pane = HostPane(view, width)
        if says_zero(pane.row(0)):
            assert judge_host(host).verdict is Verdict.ZERO, plain(pane.row(0))
        for position, gpu in enumerate(host.gpus):
            for step, y in enumerate(pane.rows_of(position)):
                if says_zero(pane.row(y)):
                    assert may_be_zero(host, gpu, step), plain(pane.row(y))
        if says_zero(CellPane((view,), width, UNICODE).row(2)):
            assert judge_host(host).verdict is Verdict.ZERO


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(watched(), st.integers(40, 200), DENSITIES, GLYPHS)
def test_only_zero_is_painted_as_zero(
    fleet: Fleet, width: int, density: Density | None, glyphs: object
) -> None:
    for shape in Density if width >= 100 else (Density.LINE, Density.CELL):
        check_panes(fleet, width, shape)
    density = Density.LINE if density is Density.CARD and width < 100 else density
    view = FrameView(fleet=fleet, now_s=5.0, density=density, glyphs=glyphs)  # type: ignore[arg-type]
    rows = frame_rows(view, width, 40)
    is_any_zero = any(
        may_be_zero(host, gpu, step)
        for host in fleet.hosts
        for gpu in host.gpus
        for step in range(1 + len(slices_of(gpu)))
    )
    if not is_any_zero:
        assert not any(says_zero(row) for row in rows)
    if any(host.is_simulated for host in fleet.hosts):
        assert "SIMULATED" in "".join(map(plain, rows))


DOUBT = {"doubt": "the driver lists a process twice"}
OPEN = {
    "doubt": DOUBT,
    "hidden": {"hidden_processes": 1},
    "unsized": {"processes": (making.process(7, None),)},
    "attention": {"recovery_action": 3},
    "reset": {"recovery_action": 1},
}


def one_gpu(**changes: object) -> Fleet:
    info = replace(making.gpu_info(0), name="NVIDIA H200")
    gpu = read_gpu(info, making.reading(0, **changes), None)
    return fleets.lettered(fleets.host("gpu-a", (gpu,)))


def screen(fleet: Fleet, width: int, density: Density) -> list[Row]:
    return [*frame_rows(FrameView(fleet=fleet, now_s=fleets.NOW, density=density), width, 30)]


@pytest.mark.parametrize("why", OPEN)
@pytest.mark.parametrize("width", [40, 80, 120])
@pytest.mark.parametrize("density", list(Density))
def test_an_open_zero_is_amber_in_every_form(why: str, width: int, density: Density) -> None:
    rows = screen(one_gpu(**OPEN[why]), width, density if width >= 100 else Density.LINE)
    said = "\n".join(map(plain, rows))
    assert not any(map(is_green, rows)), said
    assert "free" not in said
    assert "all accounted for" not in said
    assert " none" not in said


def test_an_open_zero_says_why() -> None:
    for width, words in (
        (40, "not proven"),
        (80, "the driver lists a process"),
        (200, "0 MiB, not proven: the driver lists a process twice"),
    ):
        rows = screen(one_gpu(**DOUBT), width, Density.LINE)
        found = [span for row in rows[3:8] for span in row if words in span[0]]
        assert {style for _, style in found} == {"unknown"}, width
    card = "\n".join(plain(row) for row in screen(one_gpu(**DOUBT), 120, Density.CARD))
    assert "not proven" in card
    assert "the driver lists a process twice" in card
    holders_panel = "nobody is listed; 1 GPU is not proven zero"
    assert holders_panel in card
    assert "? · 1 GPU not known" not in card
    assert "0 MiB · 1 GPU not known" in card


def test_a_slice_at_zero_is_free_beside_a_busy_one() -> None:
    free = fleets.mig_slice(1, 0.0, 34.6, "2g.35gb")
    busy = fleets.mig_slice(2, 30.0, 69.5, "3g.71gb", (7, 30.0))
    unsized = replace(free, processes=(making.process(8, None),), gpu_instance=3)
    gpu = fleets.gpu(0, 30.0, mig=(free, busy, unsized))
    rows = screen(fleets.lettered(fleets.host("gpu-a", (gpu,))), 120, Density.LINE)
    assert [plain(row)[3:5] for row in rows if is_green(row)] == ["└0"]


def test_cells_say_what_is_wrong() -> None:
    row = CellPane((HostView(host=one_gpu(recovery_action=1).hosts[0]),), 120, UNICODE).row(2)
    assert "  ×  " in plain(row)
    assert "GPU 0 needs a reset" in plain(row)
    row = CellPane((HostView(host=one_gpu(recovery_action=3).hosts[0]),), 120, UNICODE).row(2)
    assert "GPU 0 needs attention" in plain(row)
    row = CellPane((HostView(host=one_gpu(**DOUBT).hosts[0]),), 120, UNICODE).row(2)
    assert "GPU 0 not proven zero: the driver lists a process twice" in plain(row)
    for host in fleets.errors().hosts:
        said = plain(CellPane((HostView(host=host),), 120, UNICODE).row(2))
        assert ("connecting" in said) is (host.link is Link.CONNECTING)


@pytest.mark.parametrize("used", [None, 0])
def test_what_processes_hold_is_a_lower_bound(used: int | None) -> None:
    listed = making.process(7, 70 << 30)
    gpu = read_gpu(making.gpu_info(0), making.reading(used, listed), None)
    blind = fleets.gpu(1, None, state=GpuState.UNREADABLE)
    fleet = fleets.lettered(fleets.host("gpu-a", (gpu, blind)), fleets.host("gpu-b", (blind,)))
    lines = [plain(row) for row in screen(fleet, 160, Density.LINE)]
    titles = [line for line in lines if "held" in line and "gpu-" in line]
    assert "≥ 70.0 GiB held" in titles[0]
    assert "? held" in titles[1]
    cells = [plain(row) for row in screen(fleet, 120, Density.CELL)]
    assert " ≥70.0 GiB " in next(line for line in cells if "gpu-a" in line)
    assert " ? " in next(line for line in cells if "gpu-b" in line)
    assert not any("0 MiB" in line for line in (*lines, *cells) if "of" not in line)


def test_green_is_not_for_hosts_that_hold() -> None:
    rows = screen(fleets.busy(), 120, Density.LINE)
    assert not any(map(is_green, rows))
    assert is_green(screen(fleets.idle(), 120, Density.LINE)[3])


def test_old_zeros_are_of_the_past() -> None:
    stale = replace(fleets.idle().hosts[0], link=Link.STALE)
    rows = screen(Fleet(hosts=(stale,)), 120, Density.LINE)
    assert sum("was 0 MiB" in plain(row) for row in rows) == 8
    assert not any(map(says_zero, rows))


@pytest.mark.parametrize(("width", "height"), [(40, 10), (80, 24), (120, 40), (200, 60)])
def test_a_simulated_host_is_marked_before_its_first_word(width: int, height: int) -> None:
    fleet = new_fleet(("gpu-a",), 0.0, simulated=frozenset({"gpu-a"}))
    rows = frame_rows(FrameView(fleet=fleet), width, height)
    assert "SIMULATED" in "".join(map(plain, rows))


def test_what_is_begun_is_said_of_this_machine_and_of_others() -> None:
    for name, words in (("local", "Starting the probe …"), ("gpu-a", "Logging in …")):
        rows = screen(new_fleet((name,), 0.0), 80, Density.LINE)
        assert any(words in plain(row) for row in rows)
