"""Broken verifiers: each is the product's own with one thing done wrong.

A mutant is a set of replacements in the product's modules. The judge must catch each of them
within 10 000 traces, or the traces or the judge are too weak to vouch for the real one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest.mock import patch

from gpudash.core import fleet, readings, reasons, verify
from gpudash.core.baselines import Baselines
from gpudash.core.errors import ExitCode, worst
from gpudash.core.events import (
    Event,
    Fault,
    Garbled,
    Hello,
    LinkConnecting,
    LinkDown,
    LinkPaused,
    LinkSlept,
    LinkStale,
    Sample,
)
from gpudash.core.model import Gpu, GpuReading, GpuState, Host, Link
from gpudash.core.proof import Basis, Observed, machine, moves, phases, signs, values
from gpudash.core.proof import evidence as evidences
from gpudash.core.proof.evidence import Evidence, Tick
from gpudash.core.proof.phases import Phase, Sign
from gpudash.core.proof.values import HostProof, Policy
from gpudash.core.verify import GpuVerdict, HostVerdict

MIB = 1 << 20
Patches = list[tuple[Any, str, Any]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One broken verifier."""

    name: str
    patches: Callable[[], Patches]

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Put this verifier in the place of the real one."""
        with ExitStack() as stack:
            for where, name, broken in self.patches():
                if isinstance(where, dict):
                    stack.enter_context(patch.dict(where, {name: broken}))
                else:
                    stack.enter_context(patch.object(where, name, broken))
            yield


MUTANTS: list[Mutant] = []


def mutant(build: Callable[[], Patches]) -> Callable[[], Patches]:
    """Register what a function patches, under the function's name."""
    MUTANTS.append(Mutant(build.__name__, build))
    return build


# -- the chain of samples ----------------------------------------------------------------------

_interruption = signs._interruption
_sign_of = signs.sign_of


def _without(words: str) -> Patches:
    """Overlook one reason for which a sample does not go on with the ones before."""

    def careless(*arguments: Any) -> str:
        why = _interruption(*arguments)
        return "" if words in why else why

    return [(signs, "_interruption", careless)]


@mutant
def seq_not_checked() -> Patches:
    return _without("missing")


@mutant
def gap_off_by_one() -> Patches:
    def one_may_miss(
        phase: Phase, evidence: Evidence, policy: Policy, tick: Tick, judged: HostVerdict
    ) -> str:
        if tick.seq - evidence.last.seq == 2:
            tick = replace(tick, seq=tick.seq - 1)
        return _interruption(phase, evidence, policy, tick, judged)

    return [(signs, "_interruption", one_may_miss)]


@mutant
def gap_not_checked() -> Patches:
    return _without("apart")


@mutant
def gap_of_four_intervals() -> Patches:
    return [(values, "GAP_INTERVALS", 4), (signs, "GAP_INTERVALS", 4)]


@mutant
def clock_that_goes_back() -> Patches:
    return _without("went back")


@mutant
def gap_on_the_viewers_clock() -> Patches:
    def by_the_viewer(
        phase: Phase, evidence: Evidence, policy: Policy, tick: Tick, judged: HostVerdict
    ) -> str:
        host_s = evidence.last.host_s + (tick.at_s - evidence.last.at_s)
        return _interruption(phase, evidence, policy, replace(tick, host_s=host_s), judged)

    return [(signs, "_interruption", by_the_viewer)]


@mutant
def hold_on_the_viewers_clock() -> Patches:
    def by_the_viewer(evidence: Evidence, policy: Policy, tick: Tick) -> bool:
        held_s = tick.at_s - evidence.first.at_s
        return held_s >= policy.hold_s and evidence.samples + 1 >= policy.least_samples

    return [(signs, "_is_complete", by_the_viewer)]


@mutant
def hold_one_sample_short() -> Patches:
    def one_short(evidence: Evidence, policy: Policy, tick: Tick) -> bool:
        held_s = tick.host_s - evidence.first.host_s + policy.interval_s
        return held_s >= policy.hold_s and evidence.samples + 1 >= policy.least_samples

    return [(signs, "_is_complete", one_short)]


@mutant
def samples_not_counted() -> Patches:
    def by_time_alone(evidence: Evidence, policy: Policy, tick: Tick) -> bool:
        return tick.host_s - evidence.first.host_s >= policy.hold_s

    return [(signs, "_is_complete", by_time_alone)]


@mutant
def old_samples_complete_it() -> Patches:
    return [(signs, "is_late", lambda proof, tick: False)]


@mutant
def stale_accepted() -> Patches:
    """A stall that ends is forgiven, whatever is missing."""

    def forgiving(
        phase: Phase, evidence: Evidence, policy: Policy, tick: Tick, judged: HostVerdict
    ) -> str:
        if phase in (Phase.SUSPENDED, Phase.UNWATCHED):
            return ""
        return _interruption(phase, evidence, policy, tick, judged)

    return [(signs, "_interruption", forgiving)]


@mutant
def proven_while_nothing_comes() -> Patches:
    return _deaf_to(LinkStale)


# -- what ends it ------------------------------------------------------------------------------


def _deaf_to(*kinds: type[Event]) -> Patches:
    """Let events of a kind mean nothing."""

    def deaf(proof: HostProof, policy: Policy, observed: Observed, at_s: float) -> Any:
        if isinstance(observed.event, kinds):
            return None
        return _sign_of(proof, policy, observed, at_s)

    return [(machine, "sign_of", deaf)]


@mutant
def garbled_ignored() -> Patches:
    return _deaf_to(Garbled)


@mutant
def hang_ignored() -> Patches:
    return _deaf_to(Fault)


@mutant
def lost_link_ignored() -> Patches:
    return _deaf_to(LinkDown, LinkConnecting)


@mutant
def pause_ignored() -> Patches:
    return _deaf_to(LinkPaused)


@mutant
def sleep_ignored() -> Patches:
    return _deaf_to(LinkSlept)


@mutant
def greetings_ignored() -> Patches:
    """Another probe, boot, driver or roster is not noticed until a sample shows it."""
    return _deaf_to(Hello)


@mutant
def boot_not_checked() -> Patches:
    def without_boot(proof: HostProof, hello: Hello, host: Host, policy: Policy) -> Any:
        kept = proof.evidence and replace(proof.evidence, boot_id=hello.facts.boot_id)
        return _change(replace(proof, evidence=kept), hello, host, policy)

    def careless(
        phase: Phase, evidence: Evidence, policy: Policy, tick: Tick, judged: HostVerdict
    ) -> str:
        facts = judged.host.facts
        evidence = replace(evidence, boot_id=facts.boot_id if facts else None)
        return _interruption(phase, evidence, policy, tick, judged)

    return [(signs, "_change", without_boot), (signs, "_interruption", careless)]


_change = signs._change


@mutant
def roster_not_checked() -> Patches:
    def any_roster(proof: HostProof, hello: Hello, host: Host, policy: Policy) -> Any:
        found = _change(proof, hello, host, policy)
        return None if found and "GPUs" in found[1] else found

    return [
        (signs, "_change", any_roster),
        (signs, "_is_same_roster", lambda evidence, infos: len(evidence.gpus) == len(infos)),
    ]


@mutant
def restarted_probe_ignored() -> Patches:
    def same_probe(proof: HostProof, hello: Hello, host: Host, policy: Policy) -> Any:
        return _change(proof, replace(hello, seq=1), host, policy)

    return [(signs, "_change", same_probe)]


@mutant
def a_break_is_forgotten() -> Patches:
    """One sample that is not clear is taken for a slip."""
    slips = {
        (phase, Sign.NOT_CLEAR): phase for phase in (Phase.HOLDING, Phase.PROVEN, Phase.SUSPENDED)
    }
    return [(phases.TABLE, pair, where) for pair, where in slips.items()]


@mutant
def a_break_does_not_end_the_hold() -> Patches:
    """After a break the next clear sample goes on with the old hold."""
    real = moves.begin_hold

    def resume(proof: HostProof, case: moves.Case) -> Any:
        old = proof.evidence
        begun, effects = real(proof, case)
        if proof.phase is not Phase.BROKEN or old is None or begun.evidence is None:
            return begun, effects
        first = replace(begun.evidence, first=old.first, samples=old.samples + 1)
        return replace(begun, evidence=first), effects

    return [(moves.MOVES, Sign.CLEAR, resume)]


# -- one reading -------------------------------------------------------------------------------

_used = evidences._used
_UNREAD_IS_ZERO = (
    evidences,
    "_used",
    lambda gpu: _used(gpu) if gpu.gpu.reading and gpu.gpu.reading.used_bytes is not None else 0,
)
_judge_gpu = verify.judge_gpu
_judge_host = verify.judge_host


def _reading_as(change: Callable[[GpuReading], GpuReading]) -> Patches:
    """Judge every reading as if it were another one."""

    def judge(gpu: Gpu, *arguments: Any, **named: Any) -> GpuVerdict:
        if gpu.reading is not None:
            gpu = readings.read_gpu(gpu.info, change(gpu.reading), None)
        return _judge_gpu(gpu, *arguments, **named)

    return [(verify, "judge_gpu", judge)]


@mutant
def unknown_is_zero() -> Patches:
    return _reading_as(lambda got: got if got.used_bytes else replace(got, used_bytes=0))


@mutant
def reserve_taken_off_as_with_v1() -> Patches:
    def less(gpu: Gpu, *arguments: Any, **named: Any) -> GpuVerdict:
        reading = gpu.reading
        if reading is not None and reading.used_bytes:
            used = max(0, reading.used_bytes - (gpu.info.reserved_bytes or 0))
            gpu = replace(gpu, reading=replace(reading, used_bytes=used))
        return _judge_gpu(gpu, *arguments, **named)

    return [(verify, "judge_gpu", less)]


@mutant
def rounded_down_to_mib() -> Patches:
    return _reading_as(
        lambda got: replace(got, used_bytes=got.used_bytes // MIB * MIB) if got.used_bytes else got
    )


@mutant
def listed_process_ignored() -> Patches:
    return _reading_as(lambda got: replace(got, processes=()))


@mutant
def process_without_a_size_ignored() -> Patches:
    def sized(got: GpuReading) -> GpuReading:
        rows = tuple(
            replace(process, used_bytes=process.used_bytes or 0) for process in got.processes or ()
        )
        return replace(got, processes=None if got.processes is None else rows)

    return _reading_as(sized)


@mutant
def process_without_a_name_ignored() -> Patches:
    return _reading_as(lambda got: replace(got, hidden_processes=0))


@mutant
def recovery_action_ignored() -> Patches:
    return _reading_as(lambda got: replace(got, recovery_action=None))


@mutant
def doubt_ignored() -> Patches:
    return _reading_as(lambda got: replace(got, doubt=""))


@mutant
def codes_ignored() -> Patches:
    return _reading_as(lambda got: replace(got, codes=frozenset()))


@mutant
def slices_ignored() -> Patches:
    return _reading_as(lambda got: replace(got, mig=()))


@mutant
def impossible_numbers_trusted() -> Patches:
    return [(readings, "trusted", lambda reading, info, driver: reading)]


@mutant
def missing_gpu_ignored() -> Patches:
    def those_that_are_there(host: Host, *arguments: Any) -> HostVerdict:
        present = tuple(gpu for gpu in host.gpus if gpu.state is not GpuState.MISSING)
        return _judge_host(replace(host, gpus=present), *arguments)

    def same(evidence: Evidence, infos: Any) -> bool:
        return len(infos) <= len(evidence.gpus)

    return [
        (signs, "judge_host", those_that_are_there),
        (signs, "_is_same_roster", same),
        (evidences, "zip", lambda *lists, strict: zip(*lists, strict=False)),
        *_deaf_to(Hello),
    ]


@mutant
def only_the_first_gpu() -> Patches:
    def first(host: Host, *arguments: Any) -> HostVerdict:
        judged = _judge_host(host, *arguments)
        code = worst(gpu.exit_code for gpu in judged.gpus[:1])
        return replace(judged, exit_code=code if not judged.reason else judged.exit_code)

    return [(signs, "judge_host", first), _UNREAD_IS_ZERO]


@mutant
def any_gpu_is_enough() -> Patches:
    def one(host: Host, *arguments: Any) -> HostVerdict:
        judged = _judge_host(host, *arguments)
        if any(gpu.exit_code is ExitCode.OK for gpu in judged.gpus):
            return replace(judged, exit_code=ExitCode.OK)
        return judged

    return [(signs, "judge_host", one), _UNREAD_IS_ZERO]


@mutant
def half_a_tick_accepted() -> Patches:
    """A sample with too few or too many readings is filled up with the ones before."""
    real = fleet._sampled

    def filled(host: Host, sample: Sample, at_s: float) -> Host:
        present = [gpu for gpu in host.gpus if gpu.state is not GpuState.MISSING]
        old = tuple(gpu.reading or GpuReading() for gpu in present)
        got = (*sample.readings, *old[len(sample.readings) :])[: len(present)]
        return real(host, replace(sample, readings=got), at_s)

    return [(fleet, "_sampled", filled)]


@mutant
def old_values_judged() -> Patches:
    """The last values count, whatever became of the link."""

    def live(host: Host, *arguments: Any) -> HostVerdict:
        if host.samples and host.link in (Link.STALE, Link.HUNG):
            host = replace(host, link=Link.LIVE, seq=host.seq)
        return _judge_host(host, *arguments)

    def as_sample(proof: HostProof, policy: Policy, observed: Observed, at_s: float) -> Any:
        event, host = observed.event, observed.host
        if isinstance(event, Garbled | LinkStale) and proof.seen is not None and host.samples:
            again = Sample(
                seq=proof.seen.seq + 1,
                host_monotonic_s=proof.seen.host_s + at_s - proof.seen.at_s,
                readings=(),
            )
            host = replace(host, seq=again.seq, link=Link.LIVE)
            return _sign_of(proof, policy, Observed(event=again, host=host), at_s)
        return _sign_of(proof, policy, observed, at_s)

    return [(signs, "judge_host", live), (machine, "sign_of", as_sample)]


# -- baselines ---------------------------------------------------------------------------------


@mutant
def baseline_called_zero() -> Patches:
    return [(moves, "basis_of", lambda gpus, *, is_free: Basis.ZERO)]


@mutant
def baseline_of_the_last_sample_only() -> Patches:
    real = evidences.grown

    def newest(evidence: Evidence, gpus: Any, tick: Tick, basis: Basis) -> Evidence:
        return replace(real(evidence, gpus, tick, basis), basis=basis)

    return [(moves, "grown", newest)]


@mutant
def baseline_with_a_tolerance() -> Patches:
    real = Baselines.accepted_bytes

    def more(self: Baselines, uuid: str | None, driver: str | None) -> int | None:
        accepted = real(self, uuid, driver)
        return None if accepted is None else accepted + 1

    return [(Baselines, "accepted_bytes", more)]


@mutant
def baseline_of_any_gpu() -> Patches:
    def largest(self: Baselines, uuid: str | None, driver: str | None) -> int | None:
        return max((entry.used_bytes for entry in self.entries), default=None)

    return [(Baselines, "accepted_bytes", largest)]


@mutant
def baseline_of_another_driver() -> Patches:
    def of_uuid(self: Baselines, uuid: str | None, driver: str | None) -> int | None:
        found = [entry.used_bytes for entry in self.entries if entry.uuid == uuid]
        return found[-1] if found else None

    return [(Baselines, "accepted_bytes", of_uuid)]


@mutant
def baseline_with_a_holder() -> Patches:
    def whoever(reading: GpuReading, *, is_strict: bool) -> str:
        return ": strict" if is_strict else ""

    return [(verify, "why_no_baseline", whoever)]


@mutant
def strict_ignored() -> Patches:
    real = reasons.why_no_baseline

    def lax(reading: GpuReading, *, is_strict: bool) -> str:
        return real(reading, is_strict=False)

    return [(verify, "why_no_baseline", lax)]


# -- too careful: what proves nothing at all is broken too -------------------------------------


@mutant
def never_proven() -> Patches:
    return [(signs, "_is_complete", lambda evidence, policy, tick: False)]
