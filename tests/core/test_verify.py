"""The verdict: unknown is never zero, judged again by a second judge that shares no code."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpudash.core.baselines import NO_BASELINES, Baseline, Baselines
from gpudash.core.errors import ExitCode, UsageError, worst
from gpudash.core.events import (
    Event,
    Fault,
    Garbled,
    LinkConnecting,
    LinkDown,
    LinkPaused,
    LinkStale,
)
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import Fleet, Gpu, GpuReading, GpuState, Host, Link, MigReading, Problem
from gpudash.core.readings import read_gpu
from gpudash.core.scope import parse_scope
from gpudash.core.slices import judge_slice, slices_of
from gpudash.core.verify import (
    Clear,
    Verdict,
    joint_clear,
    judge_fleet,
    judge_gpu,
    judge_host,
)
from tests.core.making import (
    GIB,
    HOST,
    events,
    failed,
    gpu,
    gpu_info,
    hello,
    host_of,
    process,
    read,
    reading,
    roster,
    sample,
    told,
)

GPU_1 = Baselines(entries=(Baseline(uuid="GPU-1", driver="580.159.04", used_bytes=5),))
STRICT = replace(GPU_1, is_strict=True)
OLD = Baselines(entries=(Baseline(uuid="GPU-1", driver="570.1", used_bytes=5),))
TWICE = replace(GPU_1, entries=(*GPU_1.entries, replace(GPU_1.entries[0], used_bytes=2)))


@pytest.mark.parametrize(
    ("got", "baselines", "verdict", "code"),
    [
        (reading(5), GPU_1, Verdict.BASELINE, 0),
        (reading(1), GPU_1, Verdict.BASELINE, 0),
        (reading(0), GPU_1, Verdict.ZERO, 0),
        (reading(6), GPU_1, Verdict.HELD, 1),
        (reading(5), NO_BASELINES, Verdict.HELD, 1),
        (reading(5), STRICT, Verdict.HELD, 1),
        (reading(5), OLD, Verdict.HELD, 1),
        (reading(3), TWICE, Verdict.HELD, 1),
        (reading(5, process(7, 0)), GPU_1, Verdict.HELD, 1),
        (reading(5, process(7, None)), GPU_1, Verdict.HELD, 1),
        (reading(5, processes=None), GPU_1, Verdict.HELD, 1),
        (reading(5, hidden_processes=1), GPU_1, Verdict.HELD, 1),
        (reading(5, doubt="d"), GPU_1, Verdict.HELD, 1),
        (reading(5, recovery_action=1), GPU_1, Verdict.HELD, 6),
        (failed(999), GPU_1, Verdict.UNKNOWN, 4),
    ],
)
def test_a_baseline_is_idle_memory_that_was_accepted(
    got: GpuReading, baselines: Baselines, verdict: Verdict, code: int
) -> None:
    fleet = told(hello(*roster(2)), sample(1, reading(0), got))
    judged = judge_fleet(fleet, None, baselines)
    assert (judged.verdict, judged.exit_code) == (verdict, code)
    if verdict in (Verdict.BASELINE, Verdict.HELD):
        assert judged.clear is Clear.NO
        assert judged.hosts[0].gpus[1].reason
    # What was accepted for one GPU says nothing of another.
    other = told(hello(*roster(2)), sample(1, got, reading(0)))
    assert judge_fleet(other, None, baselines).verdict is not Verdict.BASELINE


def test_what_is_held_and_unknown_go_before_a_baseline() -> None:
    for got, verdict in ((reading(1), Verdict.HELD), (failed(15), Verdict.UNKNOWN)):
        fleet = told(hello(*roster(2)), sample(1, got, reading(5)))
        assert judge_fleet(fleet, None, GPU_1).verdict is verdict


def test_gpus_with_one_uuid_are_a_fault() -> None:
    """One of them may be read twice and the other never."""
    twins = (gpu_info(0, "GPU-a"), gpu_info(1, "GPU-a"), gpu_info(2, "GPU-b"))
    fleet = told(hello(*twins), sample(1, reading(0), reading(0), reading(0)))
    verdict = judge_host(host_of(fleet))
    assert [one.verdict for one in verdict.gpus] == [Verdict.UNKNOWN, Verdict.UNKNOWN, Verdict.ZERO]
    assert verdict.gpus[0].reason == "another GPU has the same UUID"
    assert verdict.exit_code is ExitCode.UNKNOWN


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({"is_remap_pending": True}, ExitCode.STUCK, "needs a reset"),
        ({"has_remap_failed": True}, ExitCode.UNKNOWN, "could not be replaced"),
        ({"is_remap_pending": True, "has_remap_failed": True}, ExitCode.UNKNOWN, "could not"),
    ],
)
def test_a_broken_memory_row_forbids_a_zero(
    changes: dict[str, bool], code: ExitCode, words: str
) -> None:
    fleet = told(hello(gpu_info(0, **changes)), sample(1, reading(0)))
    (judged,) = judge_fleet(fleet).hosts
    assert judged.exit_code is code
    assert words in judged.gpus[0].reason
    assert judged.clear is Clear.UNKNOWN


# -- tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used", "verdict", "code", "clear"),
    [
        ((0,), Verdict.ZERO, 0, Clear.YES),
        ((0, 0), Verdict.ZERO, 0, Clear.YES),
        ((0, 1), Verdict.HELD, 1, Clear.NO),
        ((0, None), Verdict.UNKNOWN, 4, Clear.UNKNOWN),
        ((1, None), Verdict.UNKNOWN, 4, Clear.NO),
        ((GIB, GIB), Verdict.HELD, 1, Clear.NO),
    ],
)
def test_a_host(used: tuple[int | None, ...], verdict: Verdict, code: int, clear: Clear) -> None:
    judged = judge_fleet(read(*used))
    assert (judged.verdict, judged.exit_code, judged.clear) == (verdict, code, clear)


@pytest.mark.parametrize(
    "event",
    [
        LinkStale(),
        LinkPaused(is_released=False),
        LinkConnecting(),
        LinkDown(problem=Problem(title="t", sentence="s")),
        Garbled(reason="r", excerpt=""),
        Fault(call="nvmlInit", code=9, is_fatal=True),
        Fault(call="nvmlDeviceGetCount", code=None, hung_s=3.0),
        sample(2),
        sample(2, reading(0), reading(0)),
        hello(*roster(1)),
        hello(*roster(1), boot_id="boot-2", seq=1),
        hello(*roster(2), seq=1),
        hello(seq=1),
    ],
    ids=lambda event: type(event).__name__,
)
def test_whatever_happens_after_a_zero_takes_it_away(event: Event) -> None:
    fleet = read(0)
    assert judge_fleet(fleet).clear is Clear.YES
    judged = judge_fleet(told(event, fleet=fleet))
    assert judged.verdict is Verdict.UNKNOWN
    assert judged.clear is Clear.UNKNOWN
    assert judged.exit_code is ExitCode.UNKNOWN


@pytest.mark.parametrize(
    ("state", "got", "verdict", "code", "is_held"),
    [
        (GpuState.READ, reading(0, process(7, 0)), Verdict.ZERO, 0, False),
        (GpuState.READ, reading(0, process(7, 1)), Verdict.HELD, 1, True),
        (GpuState.READ, reading(0, process(7, None)), Verdict.UNKNOWN, 4, False),
        (GpuState.READ, reading(0, processes=None), Verdict.ZERO, 0, False),
        (GpuState.READ, None, Verdict.UNKNOWN, 4, False),
        (GpuState.NEEDS_RESET, reading(0), Verdict.UNKNOWN, 6, False),
        (GpuState.NEEDS_RESET, reading(5), Verdict.HELD, 6, True),
        (GpuState.NEEDS_RESET, failed(16), Verdict.UNKNOWN, 6, False),
        (GpuState.NEEDS_ATTENTION, reading(0), Verdict.UNKNOWN, 4, False),
        (GpuState.LOST, failed(15), Verdict.UNKNOWN, 4, False),
        (GpuState.MISSING, None, Verdict.UNKNOWN, 4, False),
        (GpuState.UNIFIED, reading(None), Verdict.UNKNOWN, 4, False),
        (GpuState.UNIFIED, reading(None, process(7, 5)), Verdict.UNKNOWN, 4, True),
        (GpuState.NO_PERMISSION, failed(4), Verdict.UNKNOWN, 4, False),
        (GpuState.UNREADABLE, failed(999), Verdict.UNKNOWN, 4, False),
        (GpuState.UNREAD, None, Verdict.UNKNOWN, 4, False),
    ],
)
def test_a_gpu(
    state: GpuState, got: GpuReading | None, verdict: Verdict, code: int, is_held: bool
) -> None:
    judged = judge_gpu(gpu(state, got))
    assert (judged.verdict, judged.exit_code, judged.is_certainly_held) == (verdict, code, is_held)
    assert bool(judged.reason) is (verdict is not Verdict.ZERO)


def slice_of(used: int | None, *listed: int | None) -> MigReading:
    return MigReading(
        gpu_instance=1,
        compute_instance=0,
        uuid=None,
        profile=None,
        used_bytes=used,
        total_bytes=None,
        processes=tuple(process(pid, each) for pid, each in enumerate(listed, start=7)),
    )


@pytest.mark.parametrize(
    ("slice_", "verdict"),
    [
        (slice_of(0), Verdict.ZERO),
        (slice_of(5), Verdict.HELD),
        (slice_of(0, 5), Verdict.HELD),
        (slice_of(0, None), Verdict.UNKNOWN),
    ],
)
def test_a_slice_votes_with_its_gpu(slice_: MigReading, verdict: Verdict) -> None:
    assert judge_gpu(gpu(got=reading(0, mig=(slice_,)))).verdict is verdict


@pytest.mark.parametrize(
    ("slice_", "changes", "verdict"),
    [
        (slice_of(0), {}, Verdict.ZERO),
        (slice_of(None), {}, Verdict.UNKNOWN),
        (slice_of(None, None), {}, Verdict.HELD),
        (slice_of(None, 5), {}, Verdict.HELD),
        (slice_of(5), {}, Verdict.HELD),
        (slice_of(0, None), {}, Verdict.UNKNOWN),
        (slice_of(0), {"doubt": "it was odd"}, Verdict.UNKNOWN),
        (slice_of(0), {"hidden_processes": 1}, Verdict.UNKNOWN),
        (slice_of(0), {"recovery_action": 1}, Verdict.HELD),
        (slice_of(0), {"processes": (process(7, 5),)}, Verdict.ZERO),
        (slice_of(0), {"processes": (process(7, None),)}, Verdict.UNKNOWN),
        (slice_of(0), {"processes": (process(70, None),)}, Verdict.ZERO),
    ],
)
def test_a_slice_by_itself(
    slice_: MigReading, changes: dict[str, object], verdict: Verdict
) -> None:
    other = replace(slice_of(5), gpu_instance=2, processes=(process(70, 5),))
    busy = read_gpu(gpu_info(0), reading(5, mig=(slice_, other), **changes), None)
    judged = judge_slice(busy, slice_)
    assert judged.verdict is verdict
    assert bool(judged.reason) is (verdict is not Verdict.ZERO)


def test_compute_instances_of_a_slice_share_its_memory() -> None:
    silent = replace(slice_of(None, None), compute_instance=1)
    (joined,) = slices_of(gpu(got=reading(5, mig=(slice_of(5, 5), silent))))
    assert joined.used_bytes == 5
    assert [one.used_bytes for one in joined.processes or ()] == [5, None]


def test_what_is_held_is_never_written_as_zero() -> None:
    assert judge_gpu(gpu(got=reading(0, process(7, 70 * GIB)))).reason == "70.0 GiB held"
    assert judge_gpu(gpu(got=reading(None, process(7, 70 * GIB)))).reason == "≥ 70.0 GiB held"
    assert judge_gpu(gpu(got=reading(None, process(7, None)))).reason == "? held"


def test_full_utilisation_at_zero_is_a_note() -> None:
    judged = judge_gpu(gpu(got=reading(0, utilisation_pct=100)))
    assert judged.verdict is Verdict.ZERO
    assert judged.note


def test_nothing_is_unknown() -> None:
    for judged in (
        judge_fleet(Fleet()),
        judge_fleet(new_fleet((HOST,), 0.0)),
        judge_fleet(told(hello())),
        judge_fleet(told(hello(*roster(1)))),
    ):
        assert (judged.verdict, judged.exit_code) == (Verdict.UNKNOWN, ExitCode.UNKNOWN)
        assert judged.clear is Clear.UNKNOWN


@pytest.mark.parametrize("codes", list(itertools.permutations((3, 4, 6, 1, 0), 2)))
def test_the_worst_code(codes: tuple[int, int]) -> None:
    order = [3, 4, 6, 1, 0]
    expected = min(codes, key=order.index)
    assert worst([ExitCode(code) for code in codes]) == expected


def test_the_worst_of_nothing_and_of_no_verdict() -> None:
    assert worst([]) is ExitCode.UNKNOWN
    with pytest.raises(ValueError, match="not in"):
        worst([ExitCode.USAGE, ExitCode.OK])


@given(st.lists(st.sampled_from(Clear)))
def test_joint_clear(clears: list[Clear]) -> None:
    joint = joint_clear(tuple(clears))
    assert (joint is Clear.NO) is (Clear.NO in clears)
    assert (joint is Clear.YES) is (bool(clears) and set(clears) == {Clear.YES})


def test_an_unreachable_host_is_worse_than_all() -> None:
    problem = Problem(title="t", sentence="s", exit_code=ExitCode.UNREACHABLE)
    assert judge_host(host_of(told(LinkDown(problem=problem)))).exit_code is ExitCode.UNREACHABLE


def test_only_the_scope_counts() -> None:
    fleet = read(0, GIB, None)
    assert judge_fleet(fleet, parse_scope("0")).exit_code == 0
    assert judge_fleet(fleet, parse_scope("0-1")).exit_code == 1
    assert judge_fleet(fleet, parse_scope(f"{HOST}:2")).exit_code == 4
    with pytest.raises(UsageError):
        judge_fleet(fleet, parse_scope("3"))
    with pytest.raises(UsageError, match="nosuch"):
        judge_fleet(fleet, parse_scope("nosuch:0"))


def test_a_host_outside_the_scope_does_not_count() -> None:
    fleet = new_fleet((HOST, "gpu-b"), 0.0)
    for event in (hello(*roster(1)), sample(1, reading(0))):
        fleet = apply(fleet, HOST, event, 1.0)
    judged = judge_fleet(fleet, parse_scope(f"{HOST}:0"))
    assert (judged.exit_code, judged.clear) == (0, Clear.YES)
    assert [host.host.name for host in judged.hosts] == [HOST]
    assert judge_fleet(fleet).exit_code == 4


# -- the law -----------------------------------------------------------------------------------


def second_judge(happened: list[Event]) -> str:
    """Return `zero`, `held` or `other` from the events alone, for rosters with UUIDs.

    Written from design §7 without a line of the product's: a word for each GPU of the newest
    complete tick, taken away by whatever says that the tick is no longer the newest truth.
    """
    words: dict[str, str] = {}
    lines: tuple[object, ...] = ()
    seen: set[str] = set()
    boot: object = None
    seq = -1
    for event in happened:
        match type(event).__name__:
            case "Hello":
                is_same = event.seq > 0 and boot in (None, event.facts.boot_id)  # type: ignore[union-attr]
                lines, boot = event.roster, event.facts.boot_id  # type: ignore[union-attr]
                here = {line.uuid for line in lines}  # type: ignore[attr-defined]
                words = {uuid: words[uuid] for uuid in words if is_same and uuid in here}
                seq = seq if event.seq else -1  # type: ignore[union-attr]
                seen |= here
            case "Sample":
                if len(event.readings) != len(lines):  # type: ignore[union-attr]
                    words = {}
                elif event.seq > seq:  # type: ignore[union-attr]
                    seq = event.seq  # type: ignore[union-attr]
                    words = {
                        line.uuid: word_of(line.total_bytes, got)  # type: ignore[attr-defined]
                        for line, got in zip(lines, event.readings, strict=True)  # type: ignore[union-attr]
                    }
            case "Fault" if event.code is not None and not event.is_fatal:  # type: ignore[union-attr]
                pass
            case "Ack" | "Bye":
                pass
            case kind:
                words = {}
                if kind in ("LinkDown", "LinkPaused") or (
                    kind == "Fault" and event.code is not None  # type: ignore[union-attr]
                ):
                    seq = -1
    if not seen or words.keys() != seen or "other" in words.values():
        return "other"
    return "held" if "held" in words.values() else "zero"


def word_of(total: int | None, got: GpuReading) -> str:
    if total == 0 or got.recovery_action or {15, 16, 28} & got.codes or got.used_bytes is None:
        return "other"
    if total is not None and got.used_bytes > total:
        return "other"
    if got.memory_code in (4,) or (got.memory_code == 3 and total is None):
        return "other"
    own = got.processes or ()
    if total is not None and sum(row.used_bytes or 0 for row in own) > total:
        own = ()
    listed = [row.used_bytes for row in own]
    for part in got.mig:
        listed += [row.used_bytes for row in part.processes or ()]
        listed += [part.used_bytes or 0]
    if got.used_bytes or any(listed):
        return "held"
    return "other" if None in listed else "zero"


streams = st.lists(events, max_size=12)


@settings(max_examples=200)
@given(streams)
def test_the_law_zero_needs_everything(happened: list[Event]) -> None:
    fleet = told(*happened)
    host = host_of(fleet)
    judged = judge_fleet(fleet)
    check_zero(judged.verdict is Verdict.ZERO, host)
    check_zero(judged.clear is Clear.YES, host)
    check_zero(judged.exit_code is ExitCode.OK, host)
    if judged.clear is Clear.NO:
        assert any(is_above_zero(gpu) for gpu in host.gpus)


def check_zero(is_zero: bool, host: Host) -> None:
    if not is_zero:
        return
    assert host.link is Link.LIVE
    assert host.gpus
    for found in host.gpus:
        got = found.reading
        assert found.state is GpuState.READ
        assert got is not None
        assert got.used_bytes == 0
        assert not any(row.used_bytes for row in got.processes or ())
        assert not is_above_zero(found)


def is_above_zero(found: Gpu) -> bool:
    got = found.reading
    if got is None:
        return False
    rows = [*(got.processes or ()), *(row for part in got.mig for row in part.processes or ())]
    return bool(
        got.used_bytes
        or any(row.used_bytes for row in rows)
        or any(part.used_bytes for part in got.mig)
        # Whoever is listed has a context, and a context costs memory.
        or (got.used_bytes is None and (rows or got.hidden_processes))
    )


@settings(max_examples=200)
@given(streams)
def test_a_second_judge_agrees(happened: list[Event]) -> None:
    assume(all(entry.uuid for event in happened for entry in getattr(event, "roster", ())))
    verdict = judge_fleet(told(*happened)).verdict
    word = second_judge(happened)
    assert (verdict is Verdict.ZERO) is (word == "zero")
    assert (word != "held") or verdict is Verdict.HELD


@given(streams, st.permutations(range(3)))
def test_the_order_of_gpus_does_not_matter(happened: list[Event], order: list[int]) -> None:
    host = host_of(told(*happened))
    mixed = tuple(host.gpus[at] for at in order if at < len(host.gpus))
    rest = tuple(host.gpus[3:])
    other = judge_host(replace(host, gpus=(*mixed, *rest)))
    judged = judge_host(host)
    assert (judged.verdict, judged.exit_code, judged.clear) == (
        other.verdict,
        other.exit_code,
        other.clear,
    )


def test_a_gpu_without_total_can_be_zero() -> None:
    fleet = told(hello(gpu_info(0, total_bytes=None)), sample(1, reading(0)))
    assert judge_fleet(fleet).verdict is Verdict.ZERO
