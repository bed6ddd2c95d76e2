"""The machine: events and effects, READY from several signals, restarts, what is illegal."""

from __future__ import annotations

import pytest

from gpudash.config.markers import load_catalog
from gpudash.core.startup.model import (
    AnnounceFailure,
    AnnouncePhase,
    AnnounceReady,
    AnnounceRestart,
    Arrived,
    Exited,
    IllegalEvent,
    LogEnded,
    MemoryRead,
    Outcome,
    Probed,
    ProbeHealth,
    Startup,
    StartupEffect,
    StartupEvent,
    Ticked,
)
from gpudash.core.startup.tracker import Tracker, snapshot, step
from tests.core.startup.following import log_of
from tests.core.startup.made import LOGS

READY = log_of("sglang_0.4.3_dsv3_tp8_ok")
OOM = log_of("sglang_0.5.9_tp8_oom_load_weights")


LOADING = READY[: READY.index(b" 60% Completed")]


def lines_of(data: bytes) -> list[bytes]:
    """Split at LF alone."""
    return [line + b"\n" for line in data.split(b"\n")[:-1]]


def arrived(data: bytes, at_s: float = 0.0) -> Arrived:
    return Arrived(data=data, at_s=at_s)


def run(
    *events: StartupEvent, expects_url: bool = False
) -> tuple[Startup, list[StartupEffect], Tracker]:
    state = Tracker(catalog=load_catalog(), expects_url=expects_url)
    told: list[StartupEffect] = []
    for event in events:
        state, effects = step(state, event)
        told += effects
    return snapshot(state), told, state


def test_a_start_up_announces_its_phases_once_and_is_ready() -> None:
    _, told, _ = run(*(arrived(line) for line in lines_of(READY)))
    phases = [effect.name for effect in told if isinstance(effect, AnnouncePhase)]
    assert phases == ["init_dist", "load_weights", "kv_cache", "cuda_graph", "http_up", "warmup"]
    assert [e for e in told if isinstance(e, AnnounceReady)] == [
        AnnounceReady(line=99, basis="log")
    ]
    (probe,) = [effect for effect in told if isinstance(effect, ProbeHealth)]
    assert probe == ProbeHealth(paths=("/health", "/ready"), port=30000)


def test_a_failure_is_announced_when_its_line_is_there() -> None:
    lines = lines_of(OOM)
    _, before, _ = run(*(arrived(line) for line in lines[:42]))
    assert not [e for e in before if isinstance(e, AnnounceFailure)]
    startup, told, _ = run(*(arrived(line) for line in lines[:43]))
    (failure,) = [effect.failure for effect in told if isinstance(effect, AnnounceFailure)]
    assert failure.line == 43
    assert startup.outcome is Outcome.FAILED


def test_more_ranks_make_the_failure_known_better() -> None:
    _, told, _ = run(*(arrived(line) for line in lines_of(OOM)))
    failures = [effect.failure for effect in told if isinstance(effect, AnnounceFailure)]
    assert [failure.others for failure in failures] == [0, 1, 2]
    assert {failure.line for failure in failures} == {43}


def test_a_new_run_in_the_same_log_is_a_restart() -> None:
    startup, told, _ = run(arrived(OOM + READY))
    (restart,) = [effect for effect in told if isinstance(effect, AnnounceRestart)]
    assert restart.previous.failure is not None
    assert restart.line == OOM.count(b"\n") + 2
    assert (startup.outcome, startup.restarts) == (Outcome.READY, 1)


# -- READY -----------------------------------------------------------------------------------


def test_where_a_url_is_known_the_log_alone_is_not_enough() -> None:
    startup, told, _ = run(arrived(READY), expects_url=True)
    assert startup.outcome is Outcome.STARTING
    assert not [e for e in told if isinstance(e, AnnounceReady)]
    startup, told, _ = run(arrived(READY), Probed(status=200, at_s=1.0), expects_url=True)
    assert startup.ready_basis == "log+url"
    assert [e.basis for e in told if isinstance(e, AnnounceReady)] == ["log+url"]


@pytest.mark.parametrize(
    ("events", "basis", "note"),
    [
        ((arrived(READY), Probed(status=None, at_s=1)), "", "nothing answers"),
        ((arrived(READY), Probed(status=503, at_s=1)), "", "answers 503"),
        ((arrived(LOADING), Probed(status=200, at_s=1)), "", "another server on that port"),
        ((arrived(b"quiet\n"), Probed(status=200, at_s=1)), "url", ""),
        (
            (arrived(log_of("sglang_0.5.9_multinode_node1")), Probed(status=200, at_s=1)),
            "",
            "not node 0",
        ),
        ((arrived(LOADING), Probed(status=None, at_s=1)), "", ""),
    ],
)
def test_signals_that_disagree_are_told(
    events: tuple[StartupEvent, ...], basis: str, note: str
) -> None:
    startup, _, _ = run(*events)
    assert startup.ready_basis == basis
    assert note in " ".join(startup.notes)
    assert bool(startup.notes) is bool(note)


def test_it_stays_announced_but_once() -> None:
    _, told, _ = run(
        arrived(READY), Probed(status=200, at_s=1), Probed(status=None, at_s=2),
        Probed(status=200, at_s=3),
    )  # fmt: skip
    assert len([e for e in told if isinstance(e, AnnounceReady)]) == 1


# -- exit ------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, -15, -2, 143, 130])
def test_who_was_stopped_has_not_failed(code: int) -> None:
    startup, _, _ = run(arrived(READY), Exited(code=code, at_s=1))
    assert startup.failure is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-9, "host_oom_or_sigkill"),
        (137, "host_oom_or_sigkill"),
        (-6, "crash"),
        (-7, "shm"),
        (1, "exit"),
    ],
)
def test_without_a_word_the_exit_code_is_the_cause(code: int, kind: str) -> None:
    startup, told, _ = run(arrived(LOADING), Exited(code=code, at_s=1))
    assert startup.failure is not None
    assert (startup.failure.kind, startup.failure.line) == (kind, None)
    assert "while loading weights" in startup.failure.message
    assert [e for e in told if isinstance(e, AnnounceFailure)]


def test_a_command_that_returns_0_before_ready_is_no_end() -> None:
    startup, _, _ = run(arrived(LOADING), Exited(code=0, at_s=1), arrived(READY[len(LOADING) :], 2))
    assert startup.outcome is Outcome.READY


def test_ready_then_dead_is_failed() -> None:
    startup, _, _ = run(arrived(READY), Exited(code=-9, at_s=1))
    assert startup.ready_basis == "log"
    assert startup.outcome is Outcome.FAILED


def test_bad_requests_do_not_fail_a_server() -> None:
    request = (
        b"[2025-03-02 09:00:00] ERROR:    Exception in ASGI application\n"
        b'Traceback (most recent call last):\n  File "/a/b.py", line 3, in f\n    g()\n'
        b"ValueError: prompt too long\n"
    )
    startup, _, _ = run(arrived(READY + request), LogEnded(at_s=1))
    assert startup.failure is None


# -- the unfinished line ---------------------------------------------------------------------


def test_a_tick_reads_the_bar_that_has_no_end_yet() -> None:
    head = LOADING[: LOADING.rindex(b"\r", 0, len(LOADING) - 60)]
    bar = (
        b"\rLoading safetensors checkpoint shards:  55% Completed | 90/163 [02:20<01:41, 1.54s/it]"
    )
    assert bar_of(arrived(head), arrived(bar)) == 1
    assert bar_of(arrived(head), arrived(bar), Ticked(at_s=5)) == 90
    _, _, state = run(arrived(head), arrived(bar), Ticked(at_s=5))
    state, _ = step(state, arrived(b"\n" + READY[READY.index(b"\n", len(LOADING)) :]))
    assert snapshot(state).outcome is Outcome.READY


def bar_of(*events: StartupEvent) -> float:
    startup, _, _ = run(*events)
    assert startup.current is not None
    assert startup.current.progress is not None
    return startup.current.progress.done


def test_dots_count_before_their_line_ends() -> None:
    data = log_of("llamacpp_b5400_plain_ok")
    at = data.index(b"......") + 40
    startup, _, _ = run(arrived(data[:at]), Ticked(at_s=1))
    assert startup.current is not None
    assert startup.current.name == "load_weights"


# -- laws ------------------------------------------------------------------------------------


def test_an_older_state_stays_what_it_was() -> None:
    state = Tracker(catalog=load_catalog())
    seen = []
    for line in lines_of(READY):
        seen.append((state, snapshot(state)))
        state, _ = step(state, arrived(line))
    assert all(snapshot(older) == value for older, value in seen)


def test_nothing_comes_after_the_end_of_the_log() -> None:
    _, _, state = run(arrived(READY), LogEnded(at_s=1))
    before = snapshot(state)
    for event in (arrived(b"x\n"), LogEnded(at_s=2), Ticked(at_s=2), Exited(code=1, at_s=2)):
        with pytest.raises(IllegalEvent):
            step(state, event)
    assert snapshot(state) == before


def test_a_process_ends_once() -> None:
    _, _, state = run(Exited(code=1, at_s=1))
    with pytest.raises(IllegalEvent, match="twice"):
        step(state, Exited(code=1, at_s=2))


def test_memory_is_kept() -> None:
    _, told, state = run(MemoryRead(used_bytes={"0": 5}, at_s=1))
    assert (state.run.memory, told) == ({"0": 5}, [])


def test_laggards_are_the_ranks_that_have_not_ended() -> None:
    lines = lines_of(READY)
    startup, _, _ = run(arrived(b"".join(lines[:45])))
    assert startup.current is not None
    assert startup.current.name == "load_weights"
    assert startup.current.laggards == ("TP1", "TP2", "TP4", "TP5", "TP6")


def test_made_logs_are_all_followed_without_an_error() -> None:
    for made in LOGS.values():
        run(arrived(made.log), Ticked(at_s=1), LogEnded(at_s=2))
