"""Families as a plan joined them: letters, owners, and processes that are others by now."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.cleanup.outlook import kin_of
from gpudash.core.events import Ack, Foreseen
from gpudash.core.families import holders
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.model import Fleet, Owner
from gpudash.core.wire import LineDecoder, encode_command
from gpudash.sources.demo.programs import TOKEN, Hand, Sampler
from gpudash.sources.demo.scenario import parse_scenario
from gpudash.sources.demo.scenes import machines
from tests.core.test_cleanup_forecast import PLAN

KIN = kin_of(PLAN)


def known(ticks: int = 1) -> Fleet:
    """Return the demo's leftovers as they are known without a plan."""
    (machine,) = machines(parse_scenario("leftovers"), 1)
    fleet = new_fleet(("gpu-a",), 0.0)
    sampler, hand = Sampler(machine, 1.0), Hand(machine)
    data = sampler.greeting(0.0) + b"".join(sampler.tick(1.0 + tick) for tick in range(ticks))
    for event in LineDecoder(TOKEN).feed(data):
        fleet = apply(fleet, "gpu-a", event, 1.0)
    pids = sorted(fleet.hosts[0].listed)
    answer = hand.greeting(1.0) + hand.answer(encode_command(1, "process", pids=pids), 1.0)
    for event in LineDecoder(TOKEN).feed(answer):
        assert isinstance(event, Ack)
        fleet = apply(fleet, "gpu-a", event, 1.0)
    return fleet


def letters(fleet: Fleet) -> dict[str, str]:
    return {one.letter: one.label.name for one in holders(fleet.hosts[0], fleet.letters)}


def test_ranks_without_a_root_become_one_family() -> None:
    before = known()
    assert len(letters(before)) == 9
    after = apply(before, "gpu-a", Foreseen(kin=KIN), 2.0)
    assert letters(after) == {"A": "sglang", "B": "vllm", "C": "notebook"}
    found = {one.letter: one for one in holders(after.hosts[0], after.letters)}
    assert found["A"].owner is Owner.LEFTOVER
    assert found["A"].pids == (48213, 48214, 48215, 48217, 48218, 48219, 48220)
    assert (found["A"].verb, found["A"].would) == ("stop", "7 leftovers")
    assert (found["B"].owner, found["B"].verb, found["B"].would) == (Owner.MINE, "ask", "2 clients")
    assert (found["C"].owner, found["C"].would) == (Owner.FOREIGN, "ana's")
    # What was told before speaks of them by the letters that they have now.
    assert {one.letter for one in after.happenings} <= {"A", "B", "C", ""}


def test_later_nobody_alive_gets_another_letter() -> None:
    before = known(ticks=10)
    after = apply(before, "gpu-a", Foreseen(kin=KIN), 20.0)
    old = {one.label.name: one.letter for one in holders(before.hosts[0], before.letters)}
    new = {one.label.name: one.letter for one in holders(after.hosts[0], after.letters)}
    assert new["vllm"] == old["vllm"]
    assert new["notebook"] == old["notebook"]


def test_a_pid_that_is_another_process_is_no_kin() -> None:
    fleet = apply(known(), "gpu-a", Foreseen(kin=KIN), 2.0)
    host = fleet.hosts[0]
    processes = tuple(replace(one, start_ticks=one.start_ticks + 1) for one in host.processes)
    found = holders(replace(host, processes=processes), fleet.letters)
    assert all(one.owner is not Owner.LEFTOVER for one in found if 48220 not in one.pids)


def test_the_same_look_again_changes_nothing() -> None:
    fleet = apply(known(), "gpu-a", Foreseen(kin=KIN), 2.0)
    assert apply(fleet, "gpu-a", Foreseen(kin=KIN), 3.0) is fleet
