"""What may be accepted as idle: memory that nobody is listed for, on a GPU that was read whole."""

from __future__ import annotations

import pytest

from gpudash.core.acceptance import Acceptance, is_meant, joined, weigh
from gpudash.core.baselines import Baseline, Baselines
from gpudash.core.events import Hello, LinkDown, Sample
from gpudash.core.model import Fleet, Problem
from gpudash.core.verify import judge_fleet
from tests.core.making import GIB, failed, gpu_info, hello, process, reading, roster, sample, told

AT = "2026-11-29T12:00:00Z"


def weighed(fleet: Fleet, baselines: Baselines | None = None) -> Acceptance:
    return weigh(judge_fleet(fleet, None, baselines or Baselines()), AT)


def read(*readings: object, **changes: object) -> Fleet:
    greeting: Hello = hello(*roster(len(readings)), **changes)  # type: ignore[arg-type]
    tick: Sample = sample(1, *readings)  # type: ignore[arg-type]
    return told(greeting, tick)


def test_idle_memory_is_offered_and_zero_needs_nothing() -> None:
    found = weighed(read(reading(0), reading(512 << 20)))
    (offer,) = found.offers
    assert (found.refusals, found.zeros) == ((), 1)
    assert offer.baseline == Baseline(
        uuid="GPU-1",
        driver="580.159.04",
        used_bytes=512 << 20,
        accepted_at=AT,
        host="gpu-a",
    )
    assert offer.words == "512 MiB"


def test_what_it_replaces_is_said() -> None:
    before = Baseline(uuid="GPU-0", driver="580.159.04", used_bytes=1 << 20)
    known = Baselines(entries=(before,))
    (offer,) = weighed(read(reading(2 << 20)), known).offers
    assert offer.words == "2 MiB (before: 1 MiB)"


@pytest.mark.parametrize(
    ("fleet", "code", "words"),
    [
        (read(reading(GIB, process(7))), 1, "a process is listed"),
        (read(reading(GIB, process(7, None))), 1, "a process is listed"),
        (read(reading(GIB, hidden_processes=1)), 1, "a process is listed"),
        (read(reading(GIB, processes=None)), 1, "can't be read"),
        (read(reading(GIB, doubt="its process list is too long")), 1, "too long"),
        (read(reading(0, process(7))), 1, "a process is listed"),
        (read(failed(999)), 4, "can't be read"),
        (read(failed(15)), 4, "lost"),
        (read(reading(GIB, recovery_action=1)), 6, "reset"),
        (read(reading(GIB), driver=None), 1, "the driver's version is not known"),
        (read(reading(GIB), is_simulated=True), 1, "simulated"),
        (told(hello(gpu_info(0, None)), sample(1, reading(GIB))), 1, "no UUID"),
        (told(hello()), 4, "0 GPUs"),
        (told(LinkDown(problem=Problem(title="x", sentence="It is gone."))), 4, "It is gone."),
    ],
)
def test_what_is_refused(fleet: Fleet, code: int, words: str) -> None:
    found = weighed(fleet)
    assert found.offers == ()
    (refusal,) = found.refusals
    assert refusal.exit_code == code
    assert words in refusal.why


def test_names_of_entries() -> None:
    entry = Baseline(uuid="GPU-12345678-90ab", driver="1", used_bytes=1, host="Gpu-A")
    assert is_meant(entry, "gpu-a")
    assert is_meant(entry, "gpu-1234567")
    assert is_meant(entry, "GPU-12345678-90ab")
    assert not is_meant(entry, "gpu-123")
    assert not is_meant(entry, "gpu-99999999")


def test_a_new_entry_replaces_its_own_kind_alone() -> None:
    old = Baseline(uuid="a", driver="1", used_bytes=1)
    other = Baseline(uuid="a", driver="2", used_bytes=2)
    new = Baseline(uuid="a", driver="1", used_bytes=3)
    assert joined((old, other), (new,)) == (other, new)


def test_what_is_much_is_no_idle_reading() -> None:
    found = weighed(read(reading(3 * GIB)))
    assert not found.offers
    assert "3.0 GiB is no idle reading" in found.refusals[0].why


def test_in_a_container_nobody_knows_who_holds_it() -> None:
    found = weighed(read(reading(GIB // 4), pid_namespace=4026532000))
    assert not found.offers
    assert "outside of this container" in found.refusals[0].why
