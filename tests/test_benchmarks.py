"""The benchmarks' own arithmetic, and one short run of them; no time is asserted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.benchmarks import command_line, processes, stage
from tests.benchmarks.figures import Comparison, Metric, aligned, paired_ratio, summary
from tests.benchmarks.processes import Stat, parse_stat, tree_of
from tests.benchmarks.screen import Screen
from tests.benchmarks.terminal import Recording, Terminal
from tests.fake_driver import FakeDriver

STAT = "41 (a) b (c)) S 7 41 40 0 -1 4194304 1 2 0 0 12 34 250 50 20 0 1 0 99 0 0"


def stat(pid: int, parent: int, session: int = 1) -> Stat:
    return Stat(pid=pid, parent=parent, session=session, reaped_s=0.0)


def screen_after(*chunks: bytes, width: int = 10, height: int = 3) -> Screen:
    screen = Screen(width, height)
    for chunk in chunks:
        screen.feed(chunk)
    return screen


# -- processes -------------------------------------------------------------------------------


def test_a_stat_line_is_read_past_any_name() -> None:
    ticks = os.sysconf("SC_CLK_TCK")
    assert parse_stat(STAT) == Stat(pid=41, parent=7, session=40, reaped_s=300 / ticks)


def test_a_tree_has_descendants_and_the_session_but_no_strangers() -> None:
    stats = {
        one.pid: one
        for one in (
            stat(1, 0),
            stat(10, 1, session=10),
            stat(11, 10, session=10),
            stat(12, 11, session=12),
            stat(13, 1, session=10),
            stat(20, 1, session=20),
        )
    }
    assert tree_of(10, stats) == {10, 11, 12, 13}
    assert tree_of(99, stats) == frozenset()


def test_a_reaped_child_stays_in_the_account() -> None:
    script = (
        "import subprocess, sys\n"
        "burn = 'sum(range(3_000_000))'\n"
        "subprocess.run([sys.executable, '-ISc', burn])\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-ISc", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        reaped_s = processes.all_stats()[child.pid].reaped_s
        cost = processes.cost_of_tree(child.pid)
        assert reaped_s > 0
        assert cost.cpu_s >= reaped_s
        assert cost.processes == 1
        assert cost.rss_mb > 1
        assert child.stdin is not None
        child.stdin.close()


def test_own_time_is_that_of_the_process() -> None:
    before_s = time.process_time()
    seen_s = processes.own_cpu_s(os.getpid())
    assert before_s <= seen_s <= time.process_time()


# -- figures ---------------------------------------------------------------------------------


def test_a_ratio_is_of_pairs_where_there_are_pairs() -> None:
    assert paired_ratio([1.0, 10.0, 3.0], [2.0, 20.0, 6.0]) == 0.5
    assert paired_ratio([1.0, 2.0, 3.0], [4.0]) == 0.5
    assert paired_ratio([], [4.0]) is None
    assert paired_ratio([1.0], [0.0]) is None


def test_a_summary_keeps_every_value() -> None:
    found = summary([3.0, 1.0, 2.0])
    assert found == {"median": 2.0, "min": 1.0, "max": 3.0, "values": [3.0, 1.0, 2.0]}


def test_a_table_names_what_was_not_seen_and_the_ratio() -> None:
    comparison = Comparison("t", (Metric("a", "A"), Metric("b", "B", 0)), ratios=(("x", "y"),))
    comparison.add("x", {"a": 1.0, "b": None})
    comparison.add("x", {"a": 3.0, "b": None})
    comparison.add("y", {"a": 4.0, "b": 7.0})
    lines = comparison.table().splitlines()
    assert lines[0] == "t"
    assert lines[2].split() == ["x", "2.0", "[1.0–3.0]", "not", "seen"]
    assert lines[4].split() == ["x", "/", "y", "×", "0.50", "-"]
    assert comparison.document()["ratios"] == [{"of": "x", "to": "y", "a": 0.5, "b": None}]


def test_columns_are_aligned() -> None:
    assert aligned([("", "ms"), ("one", "10"), ("three", "7")]) == [
        "         ms",
        "  one    10",
        "  three   7",
    ]


# -- the screen ------------------------------------------------------------------------------


def test_a_word_that_arrives_in_pieces_is_found() -> None:
    screen = screen_after(b"\x1b[2;3H\x1b[1;38;2;1;2;3m77\x1b[", b"0m\x1b[2;5H.7 G\x1b[2;9Hi")
    assert screen.lines()[1] == "  77.7 Gi"


def test_cells_that_are_overwritten_or_erased_are_gone() -> None:
    screen = screen_after(b"abcdef\r\x1b[2CX\x1b[5G\x1b[K\x1b[3;1Hzz\x1b[1A\x1b[1Jq")
    assert screen.lines() == ["", "  q", "zz"]


def test_a_character_that_is_cut_in_two_is_one() -> None:
    word = "±█".encode()
    assert screen_after(*(word[at : at + 1] for at in range(len(word)))).lines()[0] == "±█"


def test_titles_queries_and_private_modes_leave_nothing() -> None:
    screen = screen_after(b"\x1b]0;title\x07\x1b[?25l\x1bP+q544e\x1b\\\x1b[c\x1b(B\x1b[>4;1m")
    assert screen.is_blank


def test_a_repeated_character_and_the_alternate_screen() -> None:
    assert screen_after(b"-\x1b[4b").lines()[0] == "-----"
    assert screen_after(b"old\x1b[?1049h").is_blank


def test_a_recording_says_when_a_word_was_there() -> None:
    recording = Recording(10, 3)
    for at_s, data in ((0.1, b"\x1b[2J"), (0.2, b"12"), (0.4, b"3"), (0.5, b"4")):
        recording.take(at_s, data)
    assert recording.first_paint_s() == 0.2
    assert recording.first_match_s("123") == 0.4
    assert recording.first_match_s("5") is None


def test_a_program_in_a_terminal_is_ended_by_its_key() -> None:
    script = (
        "import os, sys, tty\n"
        "tty.setraw(0)\n"
        "print(os.get_terminal_size(), 'ready', flush=True)\n"
        "sys.exit(sys.stdin.read(1) != 'q')\n"
    )
    with Terminal([sys.executable, "-ISc", script], os.environ, width=90, height=20) as terminal:
        deadline = time.monotonic() + 20
        while "ready" not in terminal.recording.screen_text() and time.monotonic() < deadline:
            time.sleep(0.02)
    assert "columns=90, lines=20" in terminal.recording.screen_text()
    assert terminal.has_ended


# -- the whole -------------------------------------------------------------------------------


def test_what_runs_is_the_gpudash_that_is_imported() -> None:
    argv = stage.python("-c", "import gpudash; print(gpudash.__file__)")
    found = subprocess.run(
        argv, env=stage.base_env(Path("/nowhere")), capture_output=True, text=True, check=True
    )
    import gpudash

    assert Path(found.stdout.strip()).resolve() == Path(gpudash.__file__).resolve()


def test_an_unknown_benchmark_is_refused_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command_line.main(["chek"])
    assert ended.value.code == 2
    assert "chek" in capsys.readouterr().err


def test_check_is_measured_and_written_down(
    fake_driver: FakeDriver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`fake_driver` skips where the fake library can't be built."""
    target = tmp_path / "figures.json"
    assert command_line.main(["check", "--quick", "--json", str(target)]) == 0
    document = json.loads(target.read_text())
    assert document["schema"] == command_line.SCHEMA
    assert document["driver"] == "fake"
    for comparison in document["results"]["check"]:
        contenders = comparison["contenders"]
        assert {"gpudash check", "bare pynvml", "C one-shot"} <= contenders.keys()
        for row in contenders.values():
            for figures in row.values():
                assert len(figures["values"]) == 5
                assert 0 < figures["min"] <= figures["median"] <= figures["max"]
        ratios = {(ratio["of"], ratio["to"]) for ratio in comparison["ratios"]}
        assert ("gpudash check", "bare pynvml") in ratios
    assert "gpudash check" in capsys.readouterr().out
