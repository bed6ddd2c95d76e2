"""Secrets, silence, history and the catalog itself."""

from __future__ import annotations

import copy
import re
import tomllib
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudash.config.markers import load_catalog
from gpudash.core.startup import history
from gpudash.core.startup.catalog_document import WORDS, build
from gpudash.core.startup.history import Eta, PastPhase, PastRun
from gpudash.core.startup.model import Arrived, Startup
from gpudash.core.startup.secrets import MASK, masked
from gpudash.core.startup.stall import Signs, observe
from gpudash.core.startup.tracker import Tracker, snapshot, step
from tests.core.startup.following import follow, log_of

# -- secrets ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "secret",
    [
        "hf_abcdefghijklmnopqrstuvwx",
        "Authorization: Bearer abc.def-ghi",
        "sk-proj-abcdefgh1234",
        "api_key='s3cr3t-value'",
        "--api-key s3cr3t-value",
        "{'api_key': 's3cr3t-value'}",
        "WANDB_API_KEY=s3cr3t-value",
        "HF_TOKEN=s3cr3t-value",
        "https://ana:s3cr3t-value@example.com/x",
        "password: s3cr3t-value",
    ],
)
def test_secrets_are_masked(secret: str) -> None:
    told = masked(f"before {secret} after")
    assert MASK in told
    assert not re.search(r"s3cr3t|hf_abc|sk-proj|abc\.def", told)
    assert told.startswith("before ")
    assert told.endswith(" after")


@pytest.mark.parametrize(
    "text",
    [
        "ServerArgs(api_key=None, tokenizer_path='/models/m', max_total_num_tokens=92416)",
        "GPU KV cache size: 2,192,432 tokens",
        "torch.Size([4096, 512])",
        "KeyError: 'model.layers.0'",
        "http://0.0.0.0:30000",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


# -- silence ---------------------------------------------------------------------------------


def signs(phase: str = "load_weights", silent_s: float = 190.0, **more: Any) -> Signs:
    return Signs(phase=phase, phase_s=more.pop("phase_s", silent_s), silent_s=silent_s, **more)


def test_silence_is_told_with_what_is_seen() -> None:
    told = observe(signs(last="shard 18/62", read_bps=0.0, cpu_pct=0.4))
    assert told is not None
    assert told.text == (
        "no sign of progress for 3m 10s (last: shard 18/62; disk read 0 B/s; CPU idle)"
    )
    assert not told.is_long


def test_a_load_is_silent_for_minutes() -> None:
    assert observe(signs(silent_s=130.0)) is None


def test_reading_from_disk_is_work() -> None:
    told = observe(signs(silent_s=700.0, read_bps=1.2e9))
    assert told is not None
    assert (told.text, told.is_long) == ("log silent for 11m, reading 1.2 GB/s", False)


def test_flat_memory_is_normal_and_moving_memory_is_work() -> None:
    told = observe(signs(silent_s=700.0, memory_moved=True))
    assert told is not None
    assert not told.is_long


def test_a_collective_that_spins_has_a_hint() -> None:
    told = observe(signs("init_dist", 130.0, gpu_pct=100.0, cpu_pct=100.0))
    assert told is not None
    assert told.is_long
    assert "NCCL_P2P_DISABLE" in told.hint
    missing = observe(signs("init_dist", 130.0, gpu_pct=0.0))
    assert missing is not None
    assert "node is missing" in missing.hint


def test_an_earlier_run_sets_the_limits() -> None:
    assert observe(signs("cuda_graph", 25.0), earlier_s=20.0) is None
    slow = observe(signs("cuda_graph", 45.0), earlier_s=20.0)
    assert slow is not None
    assert not slow.is_long
    stuck = observe(signs("cuda_graph", 105.0), earlier_s=20.0)
    assert stuck is not None
    assert stuck.is_long
    assert observe(signs("kv_cache", 10.0), earlier_s=0.1) is None


def test_no_word_says_that_it_is_dead() -> None:
    for phase in ("launch", "init_dist", "load_weights", "compile", "train_loop", "other"):
        told = observe(signs(phase, 5000.0, cpu_pct=0.0, read_bps=0.0, gpu_pct=0.0))
        assert told is not None
        assert not re.search(r"dead|hung|stuck|frozen", told.text + told.hint)


# -- history ---------------------------------------------------------------------------------


def past(outcome: str = "ready", key: str = "k", **phases: float) -> PastRun:
    return PastRun(
        key=key,
        command="c",
        recorded_at="2026-01-01T00:00:00Z",
        outcome=outcome,
        phases=tuple(PastPhase(name=name, seconds=seconds) for name, seconds in phases.items()),
    )


def live(until: bytes, *, begins_s: float) -> Startup:
    """Follow the log line by line, a second each, up to some words."""
    state, at_s = Tracker(catalog=load_catalog()), begins_s
    for line in log_of("sglang_0.4.3_dsv3_tp8_ok").split(b"\n"):
        state, _ = step(state, Arrived(data=line + b"\n", at_s=at_s))
        at_s += 1
        if until in line:
            break
    return snapshot(state)


def test_a_stored_run_comes_back_as_it_was() -> None:
    startup = follow([log_of("sglang_0.5.8_kimi_k2_tp8_eagle3_ok")])
    run = history.past_run(
        startup, key="k", command="serve --api-key sk-abcdefgh1234", recorded_at="2026-01-01"
    )
    assert "sk-abc" not in run.command
    assert history.from_document(history.to_document(run)) == run
    assert [one.name for one in run.phases][:3] == ["launch", "init_dist", "load_weights"]


@pytest.mark.parametrize("document", [{}, {"key": "k"}, {"phases": 3}])
def test_a_damaged_store_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a stored start-up"):
        history.from_document(document)


def test_only_good_runs_of_the_same_command_count() -> None:
    runs = [past(a=1), past("failed", a=9), past(key="other", a=9), past(a=2), past(a=3), past(a=4)]
    assert [run.phases[0].seconds for run in history.comparable(runs, "k")] == [2, 3, 4]


def test_the_rest_of_earlier_runs_is_a_range() -> None:
    startup = live(b"Load weight begin. avail mem=138.22 GB", begins_s=0.0)
    earlier = [
        past(launch=12, init_dist=8, load_weights=200, cuda_graph=50),
        past(launch=12, init_dist=8, load_weights=300, cuda_graph=60),
    ]
    at_s = startup.phases[-1].start.at_s + 100
    eta = history.estimate(startup, at_s, earlier)
    assert eta == Eta(low_s=150, high_s=260, basis="earlier runs")


def test_without_history_the_bar_alone_tells() -> None:
    startup = live(b"40/163", begins_s=0.0)
    phase = startup.current
    assert phase is not None
    assert history.estimate(startup, phase.start.at_s, ()) == Eta(
        low_s=0, high_s=0, basis="this bar"
    )
    eta = history.estimate(startup, phase.start.at_s + 40, ())
    assert eta is not None
    assert eta.low_s < 123 < eta.high_s
    assert history.estimate(live(b"Init torch", begins_s=0.0), 9.0, ()) is None


def test_who_is_ready_has_no_time_left() -> None:
    assert history.estimate(follow([log_of("sglang_0.4.3_dsv3_tp8_ok")]), 9.0, [past(a=1)]) is None


def test_phases_and_numbers_are_compared() -> None:
    startup = follow([log_of("sglang_0.4.3_dsv3_tp8_ok")])
    before = PastRun(
        key="k",
        command="c",
        recorded_at="",
        outcome="ready",
        phases=(PastPhase(name="load_weights", seconds=100.0),),
        numbers={"kv_tokens": 400000, "engine": "x"},
    )
    deltas = {delta.name: (delta.now, delta.before) for delta in history.compare(startup, before)}
    assert deltas == {
        "load_weights": (pytest.approx(256, abs=2), 100.0),
        "kv_tokens": (380416.0, 400000.0),
    }
    assert history.earlier_seconds([before], "load_weights") == 100.0
    assert history.earlier_seconds([before], "warmup") is None


# -- the catalog -----------------------------------------------------------------------------


def documents() -> tuple[dict[str, Any], dict[str, Any]]:
    folder = files("gpudash.core.startup")
    one, two = (
        tomllib.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("markers.toml", "failures.toml")
    )
    return one, two


def test_every_pattern_is_one_and_every_marker_says_where_it_was_seen() -> None:
    markers, failures = documents()
    for rows in markers["markers"].values():
        for row in rows:
            re.compile(row["re"])
            assert row["seen"]
            assert row["has"]
    for row in failures["failures"]:
        re.compile(row["re"])
    for kind in {row["kind"] for row in failures["failures"]}:
        assert failures["hints"][kind]


def rows() -> list[Any]:
    markers, failures = documents()
    found = [row for table in markers["markers"].values() for row in table]
    found += [row for name in ("failures", *WORDS) for row in failures[name]]
    found += [row for one in markers["engines"].values() for row in one["detect"] if "re" in row]
    return [pytest.param(row, id=f"{at} {row['re'][:40]}") for at, row in enumerate(found)]


@settings(max_examples=6, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
@pytest.mark.parametrize("row", rows())
def test_whatever_a_pattern_fits_has_one_of_its_words(row: dict[str, Any], draw: Any) -> None:
    """A word that some match lacks would hide that match for ever."""
    text = draw.draw(st.from_regex(row["re"]))
    assert any(word in text for word in row["has"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "begin"}, "kind begin"),
        ({"how": "most"}, "how most"),
        ({"regex": "x"}, "unknown regex"),
    ],
)
def test_a_wrong_marker_is_refused_by_name(change: dict[str, Any], message: str) -> None:
    markers, failures = documents()
    changed = copy.deepcopy(markers)
    changed["markers"]["sglang"][0] |= change
    with pytest.raises(ValueError, match=message):
        build(changed, failures)


def test_a_wrong_tier_is_refused() -> None:
    markers, failures = documents()
    failures["failures"][0]["tier"] = 4
    with pytest.raises(ValueError, match="tier 4"):
        build(markers, failures)


def test_a_pattern_that_is_none_is_refused_when_it_is_needed() -> None:
    markers, failures = documents()
    markers["markers"]["sglang"][0]["re"] = "server_args=("
    catalog = build(markers, failures)
    with pytest.raises(ValueError, match="not a pattern"):
        step(Tracker(catalog=catalog), Arrived(data=log_of("sglang_0.4.3_dsv3_tp8_ok"), at_s=0.0))
