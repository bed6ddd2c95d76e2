"""Simulated hands under orders: the protocol's reports, and memory that goes with them."""

from __future__ import annotations

import json
from typing import Any

from gpudash.core.cleanup.orderrows import order_row
from gpudash.core.cleanup.orders import forced, order_of
from gpudash.core.cleanup.planner import Request, plan_host
from gpudash.core.cleanup.reports import Close, Done, Exited, Refused, Report, Sent, report_of
from gpudash.core.cleanup.table import handle_names
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.wire import LineDecoder, encode_command
from gpudash.sources.demo.machine import Machine
from gpudash.sources.demo.programs import TOKEN, Hand, Sampler, uptime_s
from gpudash.sources.demo.scenario import parse_scenario
from gpudash.sources.demo.scenes import machines

RANKS = [48213, 48214, 48215, 48217, 48218, 48219, 48377]
STUBBORN = {48217, 48377}


class Box:
    """A simulated host and its hand, at a time that tests set."""

    def __init__(self) -> None:
        (self.machine,) = machines(parse_scenario("leftovers"), 1)
        self.hand = Hand(self.machine)
        self.hand.greeting(0.0)

    def ask(self, at_s: float, do: str, **more: Any) -> tuple[dict[str, Any], list[Report]]:
        """Return the ack and the reports that came with it."""
        lines = self.hand.answer(encode_command(1, do, **more), at_s).splitlines()
        rows = [json.loads(line) for line in lines]
        (ack,) = [row for row in rows if row["t"] == "ack"]
        return ack, [report_of(row) for row in rows if row["t"] == "order"]

    def reports(self, until_s: float) -> list[Report]:
        """Let time pass and return what was told meanwhile."""
        rows = [json.loads(line) for line in self.hand.pump(until_s).splitlines()]
        return [report_of(row) for row in rows]

    def order(self, at_s: float = 1.0, run: str = "run-1") -> dict[str, Any]:
        """Return an order for what the plan stops by itself."""
        return order_row(self.value(at_s, run))

    def value(self, at_s: float, run: str) -> Any:
        fleet = new_fleet(("gpu-a",), 0.0)
        sampler, hand = Sampler(self.machine, 1.0), Hand(self.machine)
        for event in LineDecoder(TOKEN).feed(sampler.greeting(0.0) + sampler.tick(at_s)):
            fleet = apply(fleet, "gpu-a", event, at_s)
        command = encode_command(1, "scan", pids=sorted(fleet.hosts[0].listed), all=True)
        for event in LineDecoder(TOKEN).feed(hand.greeting(at_s) + hand.answer(command, at_s)):
            fleet = apply(fleet, "gpu-a", event, at_s)
        host = fleet.hosts[0]
        assert host.scan is not None
        plan = plan_host(host, host.scan, Request(), at_s=at_s)
        return order_of(
            plan,
            frozenset({plan.families[0].id}),
            run=run,
            host_now_s=uptime_s(self.machine, at_s),
            gpu_names=handle_names(host, is_simulated=True),
        )


def used_mib(machine: Machine, at_s: float) -> list[int]:
    return [now.used_bytes >> 20 for now in machine.instants(at_s) if now]


def signals(reports: list[Report]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for report in reports:
        if isinstance(report.told, Sent):
            found.setdefault(report.told.signal, []).append(report.told.pid)
    return found


def test_an_order_to_its_end() -> None:
    box = Box()
    ack, first = box.ask(1.0, "order", order=box.order())
    assert ack["ok"]
    reports = [*first, *box.reports(60.0)]
    assert [report.number for report in reports] == list(range(len(reports)))
    times = [report.host_s for report in reports]
    assert times == sorted(times)
    assert signals(reports) == {"TERM": RANKS, "KILL": sorted(STUBBORN)}
    ended = [report.told.pid for report in reports if isinstance(report.told, Exited)]
    assert sorted(ended) == RANKS
    assert reports[-1].told == Done(why=Close.FINISHED)
    left = set(box.machine.tasks(60.0))
    assert not left & set(RANKS)
    assert {31877, 31941, 22310} <= left


def test_memory_drains_before_its_process_has_ended() -> None:
    box = Box()
    before = used_mib(box.machine, 1.0)
    box.ask(1.0, "order", order=box.order())
    ends = {
        report.told.pid: report.host_s
        for report in box.reports(60.0)
        if isinstance(report.told, Exited)
    }
    end_s = ends[48213] - uptime_s(box.machine, 0.0)
    assert used_mib(box.machine, end_s - 0.7)[0] == before[0]
    assert 0 < used_mib(box.machine, end_s - 0.3)[0] < before[0]
    assert used_mib(box.machine, end_s + 0.01)[0] == 0
    after = used_mib(box.machine, 60.0)
    # Whoever is not in the order keeps what it has; a dead one's memory goes with its keeper.
    assert [bool(size) for size in after] == [False] * 5 + [True, True, False]
    assert used_mib(box.machine, 1.0) == before


def test_abort_forces_nobody() -> None:
    box = Box()
    box.ask(1.0, "order", order=box.order())
    first = box.reports(2.0)
    ack, rest = box.ask(2.0, "abort", run="run-1")
    assert ack["ok"]
    reports = [*first, *rest, *box.reports(60.0)]
    assert signals(reports) == {} or "KILL" not in signals(reports)
    assert reports[-1].told == Done(why=Close.ABORTED)
    assert set(box.machine.tasks(60.0)) >= STUBBORN
    # Who was asked before ends all the same.
    assert not (set(RANKS) - STUBBORN) & set(box.machine.tasks(60.0))


def test_other_steps_for_the_same_run_ask_nobody_twice() -> None:
    box = Box()
    value = box.value(1.0, "run-1")
    _, first = box.ask(1.0, "order", order=order_row(value))
    now_s = uptime_s(box.machine, 1.5)
    ack, rest = box.ask(1.5, "order", order=order_row(forced(value, host_now_s=now_s)))
    assert ack["ok"]
    told = signals([*first, *rest, *box.reports(60.0)])
    assert told["TERM"] == RANKS
    assert sorted(told["KILL"]) == RANKS
    assert len(box.machine.deeds.orders) == 2


def test_one_cleaner_at_a_time() -> None:
    box = Box()
    box.ask(1.0, "order", order=box.order())
    ack, _ = box.ask(1.1, "order", order=box.order(run="run-2"))
    assert ack["error"] == "locked by pid 3"
    assert len(box.machine.deeds.orders) == 1


def test_a_stranger_is_refused() -> None:
    box = Box()
    order = box.order()
    members = order["families"][0]["members"]
    members[0][1] += 1
    members.append([99, 5, 0, None])
    _, first = box.ask(1.0, "order", order=order)
    refused = [one.told for one in (*first, *box.reports(60.0)) if isinstance(one.told, Refused)]
    assert sorted((one.pid, one.why.value) for one in refused) == [(99, "gone"), (48213, "changed")]
    assert 48213 in box.machine.tasks(60.0)


def test_reports_are_fetched_again_and_dropped() -> None:
    box = Box()
    box.ask(1.0, "order", order=box.order())
    box.reports(60.0)
    ack, again = box.ask(61.0, "report", run="run-1", **{"from": 3})
    assert ack["ok"]
    assert again[0].number == 3
    assert isinstance(again[-1].told, Done)
    box.ask(61.0, "report", run="run-1", **{"from": 3}, drop=True)
    ack, _ = box.ask(61.0, "report", run="run-1", **{"from": 0})
    assert not ack["ok"]
