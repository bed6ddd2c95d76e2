"""What the screen says of a proof: words, facts, the panel, and what it never says."""

from __future__ import annotations

import pytest

from gpudash.core.baselines import Baseline, Baselines
from gpudash.core.events import LinkSlept, LinkStale
from gpudash.core.proof import Restart
from gpudash.core.scope import parse_scope
from gpudash.core.verify import judge_fleet
from gpudash.ui.paint.frame import FrameView, frame_rows
from gpudash.ui.paint.glyphs import ASCII, UNICODE
from gpudash.ui.paint.proofpanel import is_shown, proof_rows
from gpudash.ui.paint.proving import NEWS_S, ProofView, proof_story
from gpudash.ui.paint.spans import plain
from gpudash.ui.paint.story import Story, tell
from gpudash.ui.paint.tally import all_holders, tally
from tests.core.making import GIB, HOST
from tests.proof.driving import Driver, scan_of
from tests.ui import fleets
from tests.ui.showing import showing


def wall(at_s: float) -> str:
    return f"12:00:{at_s:04.1f}"


def view_of(driver: Driver, after_s: float = 0.0) -> ProofView:
    return ProofView(driver.proof, driver.at_s + after_s, wall)


def told(driver: Driver, after_s: float = 0.0, *, is_wide: bool = True) -> Story:
    """Return what the banner says, as the screen finds it."""
    fleet = driver.fleet
    count = tally(fleet, all_holders(fleet))
    story = tell(judge_fleet(fleet), count, now_s=driver.at_s, is_wide=is_wide)
    return proof_story(view_of(driver, after_s), story.word, is_wide=is_wide) or story


def text(story: Story) -> str:
    return " | ".join(plain(row) for row in (*story.headline, *story.second))


def panel(driver: Driver) -> str:
    return "\n".join(plain(row) for row in proof_rows(view_of(driver), 100, 12, UNICODE))


def proven(**more: object) -> Driver:
    driver = Driver(restarts=True, **more)  # type: ignore[arg-type]
    driver.scanned(scan_of(at_s=1000.25))
    driver.ticks(5, 0, 0)
    driver.scanned(scan_of(at_s=1001.25))
    return driver


def test_holding() -> None:
    driver = Driver(restarts=True, hold_s=10.0)
    driver.ticks(5, 0, 0)
    story = told(driver)
    assert (story.word, story.tone) == ("ZERO, HOLDING", "holding")
    assert text(story).startswith("1.0 of 10 s | 2 of 2 GPUs at 0 MiB | nobody listed | ")
    assert text(story).endswith("clear at 12:00:10.2")
    assert "all 2 GPUs read 0 bytes in each of 5 readings" in panel(driver)
    assert "first look under way" in panel(driver)


def test_nobody_looked_is_not_no_holders() -> None:
    driver = Driver(restarts=True)
    driver.ticks(2, 0, 0)
    driver.scanned(None)
    assert "nobody listed" in text(told(driver))
    assert "only memory is proven" in panel(driver)
    driver = proven()
    assert "no holders" in text(told(driver))
    assert "none with memory or a handle, at the start and at the end" in panel(driver)


def test_all_clear() -> None:
    driver = proven()
    driver.tick(0, 0)
    story = told(driver)
    assert (story.word, story.tone) == ("ALL CLEAR", "clear")
    assert "2 of 2 GPUs at 0 MiB | no holders | held 1 s, proven 12:00:01.2" in text(story)
    assert "still watched" in text(story)
    assert "in each of 5 readings over 1.0 s" in panel(driver)
    assert "longest time between two readings 0.25 s (0.75 s allowed)" in panel(driver)
    assert "1 reading, all zero" in panel(driver)


def test_a_baseline_is_never_clear() -> None:
    accepted = Baselines(
        entries=tuple(
            Baseline(uuid=f"GPU-{number}", driver="580.159.04", used_bytes=GIB) for number in (0, 1)
        )
    )
    driver = proven(baselines=accepted)
    driver.told(Restart())
    driver.ticks(6, GIB, 0)
    fleet = driver.fleet
    count = tally(fleet, all_holders(fleet), accepted)
    judged = judge_fleet(fleet, baselines=accepted)
    word = tell(judged, count, now_s=driver.at_s).word
    story = proof_story(view_of(driver), word, is_wide=True)
    assert story is not None
    assert story.word == "ALL AT BASELINE"
    assert "CLEAR" not in text(story).upper().replace("CLEAR SINCE", "")
    assert "0 MiB" not in text(story)
    assert "accepted as baseline" in panel(driver)


def test_some_gpus_are_never_all() -> None:
    driver = proven(scope=parse_scope("0"))
    driver.told(Restart())
    driver.ticks(6, 0, GIB)
    story = told(driver)
    assert story.word == "MARKED CLEAR"
    assert "1 of 1 marked GPU at 0 MiB" in text(story)


def test_a_break_is_named_for_a_minute() -> None:
    driver = proven()
    driver.tick(0, GIB, after_s=1.0)
    story = told(driver)
    assert story.word in ("NOT CLEAR", "IN USE")
    assert text(story).startswith("was clear for 1.0 s | GPU 1: +1.0 GiB")
    assert "was clear" in text(told(driver, NEWS_S - 1))
    assert "was clear" not in text(told(driver, NEWS_S + 1))
    assert not is_shown(view_of(driver))


def test_an_unproven_hold_of_one_of_several_hosts_leaves_the_banner_alone() -> None:
    driver = Driver(restarts=True, names=(HOST, "gpu-b"))
    for name in (HOST, "gpu-b"):
        driver.ticks(2, 0, 0, name=name)
    driver.tick(0, GIB, after_s=0.25, name="gpu-b")
    assert driver.proof.hosts[1].broken is not None
    assert "was clear" not in text(told(driver))


def test_a_host_that_is_not_read_shows_no_proof() -> None:
    driver = proven()
    driver.tell(LinkStale())
    story = told(driver)
    assert story.word == "UNKNOWN"
    assert "CLEAR" not in text(story).upper()
    driver = proven()
    driver.tell(LinkSlept())
    assert told(driver).word not in ("ALL CLEAR", "ZERO, HOLDING")


@pytest.mark.parametrize("width", [40, 59, 80, 99, 120, 200])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII])
def test_it_fits(width: int, glyphs: object) -> None:
    driver = proven()
    for held in (0, GIB):
        driver.tick(0, held, after_s=1.0)
        view = FrameView(driver.fleet, now_s=driver.at_s, wall_of=wall, glyphs=glyphs)  # type: ignore[arg-type]
        rows = frame_rows(view._replace(proof=view_of(driver)), width, 30)
        assert len(rows) == 30
        assert all(sum(len(part) for part, _ in row) == width for row in rows)


async def test_a_proof_begins_by_itself_and_v_begins_it_anew() -> None:
    async with showing(fleets.idle()) as shown:
        proof = shown.app._proof
        assert proof.view() is not None
        await shown.press("space", "v")
        view = proof.view()
        assert view is not None
        assert view.proof.policy.scope is not None
        assert not shown.scene.marks
        await shown.press("v")
        view = proof.view()
        assert view is not None
        assert view.proof.policy.scope is None


async def test_everything_marked_is_everything() -> None:
    async with showing(fleets.idle()) as shown:
        await shown.press("a", "v")
        view = shown.app._proof.view()
        assert view is not None
        assert view.proof.policy.scope is None


def test_no_view_of_a_proof_is_older_than_its_fleet() -> None:
    """A gap on the host's clock ends what was proven: the badge goes with it."""
    driver = proven()
    driver.tick(0, 0, after_s=10.0, skip=3)
    assert told(driver).word != "ALL CLEAR"
