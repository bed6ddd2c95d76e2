"""What stands before a message is peeled off; rank and time stay."""

from __future__ import annotations

import pytest

from gpudash.core.startup.logtime import LogClock, Stamp, bar_seconds, dated, yearless
from gpudash.core.startup.prefixes import peel

NONE: str | None = None


@pytest.mark.parametrize(
    ("text", "rank", "message"),
    [
        ("[2026-01-14 03:22:20 TP3] Load weight begin.", "TP3", "Load weight begin."),
        ("[2026-01-14 03:22:20 DP0 TP3] x", "DP0 TP3", "x"),
        ("[2026-01-14 03:22:20.123] x", NONE, "x"),
        ("INFO 10-28 17:59:55 api_server.py:528] x", NONE, "x"),
        ("(VllmWorker rank=3 pid=7) INFO 04-30 03:14:44 [a.py:69] x", "3", "x"),
        ("(Worker_TP3 pid=7) INFO 04-30 03:14:44 [v1/a.py:69] x", "TP3", "x"),
        ("(Worker_DP0_PP1_TP2_EP0 pid=7)   File", "DP0 PP1 TP2 EP0", "  File"),
        ("(VllmWorkerProcess pid=106022) INFO 10-28 18:00:04 a.py:2] x", "pid 106022", "x"),
        ("(EngineCore pid=1) (RayWorkerProc pid=2, ip=192.0.2.1) x", "pid 2", "x"),
        ("[12/20/2025-04:20:21] [TRT-LLM] [RANK 1] [E] x", "1", "x"),
        ("[TRT-LLM] [I] [runtime][RANK 0] x", "0", "x"),
        ("[TensorRT-LLM][INFO] x", NONE, "x"),
        ("[12/20/2025-04:21:10] [TRT-LLM] [I] [Autotuner] x", NONE, "[Autotuner] x"),
        ("2024-11-25T00:40:00.676287Z  INFO shard-manager: text_generation_launcher: x", NONE, "x"),
        (
            "2024-11-25T00:40:00.6Z  INFO text_generation_router_v3: backends/v3/src/lib.rs:125: x",
            NONE,
            "x",
        ),
        ("0.06.903.542 I srv  llama_server: x", NONE, "srv  llama_server: x"),
        ('time=2025-05-12T12:56:57.0Z level=INFO source=a.go:1 msg="a b" k=1', NONE, "a b\tk=1"),
        ("2024-08-05 05:40:52,191 - lmdeploy - WARNING - a.py:2 - x", NONE, "x"),
        ("[TM][INFO][3] x", "3", "x"),
        ("[TM][INFO][0712 10:11:12.000001][a.cc:2] x", NONE, "x"),
        ("[rank3]:[E321 02:07:08.408271257 P.cpp:607] [Rank 3] x", "3", "[Rank 3] x"),
        ("W0601 10:00:00.603780 140446 torch/distributed/run.py:766] x", NONE, "x"),
        ("[2025-01-26 18:05:44,000] [INFO] [launch.py:164:main] x", NONE, "x"),
        ("[2025-01-26 18:05:44,000] [INFO] [logging.py:1:log_dist] [Rank 2] x", "2", "x"),
        ("01/26/2025 18:05:40 - INFO - __main__ - x", NONE, "x"),
        ("[1,3]<stderr>:  File", "3", "  File"),
        (" 3: x", "3", "x"),
        ("[53871] x", NONE, "x"),
        ("sglang-1  | [2026-05-12 02:10:00 TP1] x", "TP1", "x"),
        ("2025-07-02T14:33:26.160173640+08:00 [2026-05-12 02:10:00 TP1] x", "TP1", "x"),
        ("May 12 12:56:57 gpu01 ollama[195254]: x", NONE, "x"),
        ("May  2 12:56:57 gpu01 compose[1]: a-1  | (Worker_TP1 pid=2) x", "TP1", "x"),
        ("message repeated 2 times: [ x]", NONE, "x"),
        ("2025-03-07 23:50:27,531 - __main__ - INFO - x", NONE, "x"),
        ("2024-10-07T22:54:54,595 [INFO ] W-9000-m_1.0-stdout MODEL_LOG - x", NONE, "x"),
    ],
)
def test_prefix(text: str, rank: str | None, message: str) -> None:
    prefix, rest = peel(text)
    assert (prefix.rank, rest) == (rank, message)


@pytest.mark.parametrize(
    "text",
    [
        "Loading safetensors checkpoint shards:  25% Completed | 1/4 [00:01<00:03, 1.0s/it]",
        " 52%|█████▏    | 12/23 [00:29<00:24, 2.23s/it]",
        "Sanity Checking: |          | 0/? [00:00<?, ?it/s]",
        "  | Name  | Type             | Params | Mode ",
        '  File "/a/b.py", line 3, in f',
        "    ^^^^^^^^",
        "***** Running training *****",
        "INFO:     Uvicorn running on http://0.0.0.0:30000",
        "[Gloo] Rank 3 is connected to 7 peer ranks.",
        "{'loss': 1.61, 'epoch': 0.05}",
        "...................",
    ],
)
def test_what_is_no_prefix_stays(text: str) -> None:
    assert peel(text)[1] == text


def test_an_engines_own_time_is_told_apart_from_one_that_was_stamped_on_the_way() -> None:
    prefix, _ = peel("2025-07-02T14:33:26.1Z INFO 07-01 23:33:26 [a.py:1] x")
    assert prefix.stamp == yearless("07", "01", "23:33:26")
    assert prefix.passed is not None


def told(*stamps: Stamp) -> list[float | None]:
    clock, found = LogClock(), []
    for stamp in stamps:
        clock = clock.told(stamp)
        found.append(clock.now_s)
    return found


def test_time_counts_from_the_first_line() -> None:
    one, two = dated("03", "02", "08:00:10"), dated("03", "02", "08:04:46.5")
    assert told(one, two) == [0, 276.5]


def test_midnight_and_new_year_are_no_jumps() -> None:
    assert told(yearless("10", "28", "23:59:58"), yearless("10", "29", "00:00:03")) == [0, 5]
    assert told(yearless("12", "31", "23:59:58"), yearless("01", "01", "00:00:03")) == [0, 5]


def test_a_clock_that_is_set_back_costs_nothing() -> None:
    stamps = [
        yearless("10", "28", clock) for clock in ("10:00:00", "10:00:50", "09:00:00", "09:00:07")
    ]
    assert told(*stamps) == [0, 50, 50, 57]


def test_ranks_may_be_a_little_out_of_order() -> None:
    stamps = [
        yearless("10", "28", clock) for clock in ("10:00:00", "10:00:10", "10:00:09", "10:00:12")
    ]
    assert told(*stamps) == [0, 10, 9, 12]


def test_another_zone_is_another_clock() -> None:
    stamps = [
        yearless("10", "28", "10:00:00"),
        yearless("10", "28", "10:00:10"),
        dated("10", "28", "02:00:11"),
        dated("10", "28", "02:00:15"),
    ]
    assert told(*stamps) == [0, 10, 10, 14]


def test_time_since_the_start_is_taken_as_it_is() -> None:
    prefix, _ = peel("0.31.200.000 I x")
    assert prefix.stamp is not None
    assert told(prefix.stamp) == [pytest.approx(31.2)]


@pytest.mark.parametrize(
    ("text", "seconds"), [("04:11", 251), ("1:20:12", 4812), ("?", None), ("00:00", 0), ("9", None)]
)
def test_time_of_a_bar(text: str, seconds: float | None) -> None:
    assert bar_seconds(text) == seconds
