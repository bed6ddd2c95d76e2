"""The banner's story as a table: what it says of which fleet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudash.core.model import Fleet, GpuState, Host, Link, Problem
from gpudash.core.problems import RELEASED
from gpudash.core.verify import judge_fleet
from gpudash.ui.paint.banner import BADGE, banner_rows
from gpudash.ui.paint.glyphs import ASCII, UNICODE
from gpudash.ui.paint.header import SIMULATED
from gpudash.ui.paint.spans import plain
from gpudash.ui.paint.story import Stand, Story, stand_after, tell
from gpudash.ui.paint.tally import all_holders, tally
from tests.ui import fleets


def story_of(fleet: Fleet, *, stand: Stand | None = None, is_wide: bool = True) -> Story:
    count = tally(fleet, all_holders(fleet))
    return tell(judge_fleet(fleet), count, now_s=fleets.NOW, stand=stand, is_wide=is_wide)


def with_gpu(**changes: object) -> Fleet:
    return fleets.lettered(fleets.host("a", (fleets.gpu(0, **changes), fleets.gpu(1))))  # type: ignore[arg-type]


def paused() -> Fleet:
    return fleets.lettered(replace(fleets.busy_host(), link=Link.PAUSED))


def released() -> Fleet:
    host = replace(fleets.busy_host(), link=Link.PAUSED)
    return fleets.lettered(replace(host, problem=Problem(title=RELEASED, sentence="")))


def unasked() -> Fleet:
    return fleets.lettered(fleets.host("a", (fleets.gpu(0, 4.0, (77, 4.0)),)))


def dead() -> Fleet:
    host = fleets.host("a", (fleets.gpu(0, 4.0, (77, 4.0)),), gone_pids=frozenset({77}))
    return fleets.lettered(host)


def ended() -> Fleet:
    infos = (fleets.process(77, "python u4.py", age=300, state="Z"),)
    return fleets.lettered(fleets.host("a", (fleets.gpu(0, 4.0, (77, 4.0)),), processes=infos))


def listed() -> Fleet:
    infos = (fleets.process(77, "python u4.py", age=300),)
    return fleets.lettered(fleets.host("a", (fleets.gpu(0, 0.0, (77, 0.0)),), processes=infos))


def connecting(*names: str) -> Fleet:
    return Fleet(hosts=tuple(Host(name=name) for name in names))


BUSY = "577.1 of 764.8 GiB  on 8 of 8 GPUs"
BAR = "4.0 of 95.6 GiB  on 1 of 1 GPU"
CASES = {
    "in use": (fleets.busy(), "IN USE", "use", [BUSY, "3 holders, all alive"]),
    "zero": (fleets.idle(), "ZERO", "holding", ["8 of 8 GPUs at 0 MiB", "no holders"]),
    "ended": (ended(), "NOT CLEAR", "bad", [BAR, "4.0 GiB held, main thread ended"]),
    "listed with no memory": (
        listed(),
        "ZERO",
        "holding",
        ["1 of 1 GPU at 0 MiB", "1 process listed, no memory"],
    ),
    "nothing": (Fleet(), "UNKNOWN", "unknown", ["nothing to watch yet"]),
    "connecting": (connecting("a"), "UNKNOWN", "unknown", ["connecting to a"]),
    "connecting three": (
        connecting("a", "b", "c"),
        "UNKNOWN",
        "unknown",
        ["connecting to 3 hosts"],
    ),
    "paused": (paused(), "PAUSED", "unknown", ["values stand still", "values below are old"]),
    "released": (released(), "PAUSED", "unknown", ["driver released", "values below are old"]),
    "not asked yet": (
        unasked(),
        "IN USE",
        "use",
        ["4.0 of 95.6 GiB  on 1 of 1 GPU", "1 holder, asking who it is"],
    ),
    "not nameable": (
        fleets.container(),
        "IN USE",
        "use",
        ["160.0 of 382.4 GiB  on 4 of 4 GPUs", "4 holders, not known from here"],
    ),
    "dead pid": (
        dead(),
        "NOT CLEAR",
        "bad",
        ["4.0 of 95.6 GiB  on 1 of 1 GPU", "4.0 GiB kept by a dead pid"],
    ),
    "unexplained": (
        with_gpu(used=0.5),
        "NOT CLEAR",
        "bad",
        ["512 MiB  on 1 of 2 GPUs", "512 MiB unexplained on GPU 0"],
    ),
    "lost": (
        with_gpu(used=None, state=GpuState.LOST),
        "NOT CLEAR",
        "bad",
        ["1 of 2 GPUs at 0 MiB", "GPU 0 lost"],
    ),
    "needs a reset": (
        with_gpu(state=GpuState.NEEDS_RESET),
        "NOT CLEAR",
        "bad",
        ["1 of 2 GPUs at 0 MiB", "GPU 0 needs a reset"],
    ),
    "unreadable": (
        with_gpu(used=None, state=GpuState.UNREADABLE),
        "UNKNOWN",
        "unknown",
        ["1 of 2 GPUs read", "1 GPU not readable"],
    ),
    "silent": (
        fleets.lettered(fleets.silent_host()),
        "UNKNOWN",
        "unknown",
        ["0 of 8 GPUs read", "root@gpu-b last seen 14 s ago"],
    ),
    "errors": (
        fleets.errors(),
        "UNKNOWN",
        "unknown",
        ["8 of 8 known GPUs read", "4 of 5 hosts say nothing"],
    ),
    "three hosts": (
        fleets.three_hosts(),
        "NOT CLEAR",
        "bad",
        [
            "≥ 855.6 of 1 743 GiB  on 12 of 24 GPUs",
            "root@gpu-c: GPU 5 lost",
            "root@gpu-b last seen 14 s ago",
            "512 MiB unexplained on root@gpu-c, GPU 7",
        ],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_story(name: str) -> None:
    fleet, word, tone, facts = CASES[name]
    story = story_of(fleet)
    assert (story.word, story.tone) == (word, tone)
    assert [plain(row) for row in story.headline] == facts


@pytest.mark.parametrize("name", CASES)
def test_one_reading_is_never_called_clear(name: str) -> None:
    story = story_of(CASES[name][0])
    said = plain(tuple(span for row in (*story.headline, *story.second) for span in row))
    assert "CLEAR" not in story.word.replace("NOT CLEAR", "")
    assert story.tone != "clear"
    assert "proven 1" not in said


@pytest.mark.parametrize("name", CASES)
def test_only_keys_that_exist_are_offered(name: str) -> None:
    assert {key for key, _ in story_of(CASES[name][0]).keys} <= {"e", "r", "p", "?", "c"}


def test_since() -> None:
    first = stand_after(None, "IN USE", 100.0)
    assert stand_after(first, "IN USE", 200.0) is first
    later = stand_after(first, "ZERO", 200.0)
    assert later == Stand("ZERO", 200.0, False)
    busy = fleets.busy()
    assert story_of(busy, stand=Stand("IN USE", fleets.NOW - 193, False)).since == "for 3m 13s"
    assert story_of(busy, stand=Stand("IN USE", fleets.NOW - 193, True)).since == "seen 3m 13s"
    assert story_of(busy, stand=Stand("ZERO", fleets.NOW - 193, True)).since == ""
    assert story_of(fleets.idle()).since == "one reading"
    assert story_of(fleets.errors()).since == "since start"


def test_the_headline_starts_at_its_column_whatever_is_said() -> None:
    for fleet, _, _, _ in CASES.values():
        for width in (60, 80, 120, 200):
            story = story_of(fleet, is_wide=width >= 100)
            first, second = banner_rows(story, width, UNICODE)
            assert plain(first)[BADGE : BADGE + 2] == "  "
            assert plain(first)[BADGE + 2] == plain(story.headline[0])[0]
            assert plain(second)[BADGE : BADGE + 2] == "  "


def test_facts_are_cut_as_a_whole_from_the_right() -> None:
    story = story_of(fleets.three_hosts())
    said = plain(banner_rows(story, 120, UNICODE)[0]).rstrip()
    assert said.endswith("last seen 14 s ago")
    assert "…" not in said


def test_the_small_form() -> None:
    first, second = banner_rows(
        story_of(fleets.busy(), stand=Stand("IN USE", 9000, False)), 40, UNICODE
    )
    assert plain(first) == " ■ IN USE" + " " * 23 + "for 16m "
    assert plain(second).rstrip() == " 577.1 GiB 8/8 GPUs            c  clean"
    _, noted = banner_rows(story_of(fleets.busy()), 40, UNICODE, SIMULATED)
    assert plain(noted).endswith(" SIMULATED  ")


def test_keys_show_without_colour() -> None:
    _, second = banner_rows(story_of(fleets.three_hosts()), 120, ASCII)
    assert plain(second).endswith("[r] reconnect  [e] errors ")


def test_a_word_that_is_new_in_this_look_stands_for_no_time() -> None:
    before = Stand("ZERO", fleets.NOW - 60, is_first=True)
    assert story_of(connecting("a"), stand=before).since == "for 0 s"
