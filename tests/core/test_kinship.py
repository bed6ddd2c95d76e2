"""Families as trees: who is there, at work, gone; whoever the driver lists is never left out."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.checked import InvalidLine
from gpudash.core.events import KindredTold
from gpudash.core.families import holders
from gpudash.core.fleet import apply, new_fleet
from gpudash.core.kinlines import KindredParts
from gpudash.core.kinship import Kindred, Roll, looked, roots_of
from gpudash.core.kintree import TreeRow, memory_of, tree_rows
from gpudash.core.model import Fleet, Host, Owner
from gpudash.core.rooms import room_of
from gpudash.core.wire import LineDecoder, encode_command
from gpudash.sources.demo.programs import TOKEN, Hand, Sampler
from gpudash.sources.demo.scenario import parse_scenario
from gpudash.sources.demo.scenes import machines
from tests.ui import fleets

AT_S = 1.0


def demo(name: str, at_s: float = AT_S) -> Fleet:
    (machine,) = machines(parse_scenario(name), 1)
    fleet = new_fleet((machine.name,), 0.0)
    sampler, hand = Sampler(machine, 1.0), Hand(machine)
    said = sampler.greeting(0.0) + sampler.tick(at_s)
    for event in LineDecoder(TOKEN).feed(said):
        fleet = apply(fleet, machine.name, event, at_s)
    pids = sorted(fleet.hosts[0].listed)
    asked = encode_command(1, "process", pids=pids), encode_command(2, "scan", pids=pids, all=True)
    said = hand.greeting(at_s) + b"".join(hand.answer(one, at_s) for one in asked)
    for event in LineDecoder(TOKEN).feed(said):
        fleet = apply(fleet, machine.name, event, at_s)
    return fleet


def look_at(name: str, fleet: Fleet, at_s: float) -> Kindred:
    (machine,) = machines(parse_scenario(name), 1)
    pids = sorted(roots_of(fleet.hosts[0], fleet.letters))
    hand = Hand(machine)
    said = hand.greeting(at_s) + hand.answer(encode_command(9, "kindred", pids=pids), at_s)
    (told,) = (one for one in LineDecoder(TOKEN).feed(said) if isinstance(one, KindredTold))
    return told.kindred


def rows_of(
    fleet: Fleet, roll: Roll, *, gpu: int | None = None, at_s: float = AT_S
) -> list[TreeRow]:
    (host,) = fleet.hosts
    found = holders(host, fleet.letters)
    return list(tree_rows(host, found, roll.members, roll.ended, gpu=gpu, now_s=at_s))


def rolled(name: str, fleet: Fleet, *times: float) -> Roll:
    (host,) = fleet.hosts
    roll = Roll()
    for at_s in times:
        roll = looked(roll, look_at(name, fleet, at_s), roots_of(host, fleet.letters), at_s)
    return roll


def test_a_family_with_its_server_above_its_ranks() -> None:
    fleet = demo("busy")
    rows = rows_of(fleet, rolled("busy", fleet, 1.0, 4.0))
    family, server, *ranks = rows[:10]
    assert (family.letter, family.is_family, family.pid) == ("A", True, None)
    assert (server.pid, server.lasts) == (48_102, (True,))
    assert [row.pid for row in ranks] == list(range(48_213, 48_221))
    assert all(row.lasts[0] and len(row.lasts) == 2 for row in ranks)
    assert [row.lasts[-1] for row in ranks] == [False] * 7 + [True]
    assert all(row.rss_bytes and row.threads and row.handles for row in ranks)
    assert family.cpu_share == pytest.approx(sum(row.cpu_share or 0 for row in [server, *ranks]))


def test_probes_are_nobody_of_a_family() -> None:
    fleet = demo("busy")
    look = look_at("busy", fleet, 1.0)
    first, *rest = look.processes
    probe = replace(first, argv=("python3", "-ISBc", "import sys,zlib;sys.version_info<(3,6)"))
    roll = looked(
        Roll(), replace(look, processes=(probe, *rest)), roots_of(fleet.hosts[0], ()), 1.0
    )
    assert first.pid not in roll.members
    assert {one.pid for one in rest} == set(roll.members)


def test_cpu_is_known_from_the_second_look_on() -> None:
    fleet = demo("busy")
    assert all(one.cpu_share is None for one in rolled("busy", fleet, 1.0).members.values())
    twice = rolled("busy", fleet, 1.0, 4.0).members
    assert twice[48_213].cpu_share == pytest.approx(1.02, abs=0.02)


def test_one_gpu_shows_its_own_families_and_what_they_hold_elsewhere() -> None:
    fleet = demo("busy")
    rows = rows_of(fleet, rolled("busy", fleet, 1.0), gpu=6)
    assert [row.name.split()[0] for row in rows if row.is_family] == ["sglang", "vllm"]
    here, is_there = rows[0].bytes_on(6)
    every, _ = rows[0].bytes_on(None)
    assert is_there
    assert here is not None
    assert every is not None
    assert every > 7 * here


def test_the_dead_keep_their_line_and_say_who_keeps_their_memory() -> None:
    fleet = demo("leftovers")
    rows = {row.pid: row for row in rows_of(fleet, rolled("leftovers", fleet, 1.0))}
    assert rows[48_220].is_dead
    assert rows[48_220].state == "dead"
    assert rows[48_220].command == "memory kept by 48377"
    assert rows[48_377].state == "holds on"


def test_who_ended_between_two_looks_stays_as_gone() -> None:
    fleet = demo("busy")
    (host,) = fleet.hosts
    roots = roots_of(host, fleet.letters)
    first = looked(Roll(), look_at("busy", fleet, 1.0), roots, 1.0)
    look = look_at("busy", fleet, 4.0)
    left = tuple(one for one in look.processes if one.pid != 48_102)
    second = looked(first, replace(look, processes=left), roots, 4.0)
    third = looked(second, replace(look_at("busy", fleet, 7.0), processes=left), roots, 7.0)
    (ended,) = third.ended[host.name, 48_102, roots[48_213][2]]
    assert (ended.pid, ended.ended_s) == (48_102, 4.0)
    row = next(row for row in rows_of(fleet, third, at_s=9.0) if row.pid == 48_102)
    assert (row.is_dead, row.state, row.age_s) == (True, "dead", 5.0)
    assert row.name.endswith(", gone")
    assert (row.rss_bytes, row.cpu_share) == (None, None)


def test_the_gone_follow_their_family_to_its_next_key() -> None:
    fleet = demo("busy")
    (host,) = fleet.hosts
    roots = roots_of(host, fleet.letters)
    first = looked(Roll(), look_at("busy", fleet, 1.0), roots, 1.0)
    look = look_at("busy", fleet, 4.0)
    left = tuple(one for one in look.processes if one.pid != 48_102)
    key = (host.name, 48_213, 77)
    anew = dict.fromkeys(range(48213, 48221), key)
    second = looked(first, replace(look, processes=left), anew, 4.0)
    assert [one.pid for one in second.ended[key]] == [48_102]


def test_a_family_that_is_gone_is_forgotten() -> None:
    fleet = demo("busy")
    roots = roots_of(fleet.hosts[0], fleet.letters)
    first = looked(Roll(), look_at("busy", fleet, 1.0), roots, 1.0)
    second = looked(first, Kindred(id=1, host_monotonic_s=5.0, processes=()), {}, 5.0)
    assert second.ended == {}
    assert second.members == {}


def test_pids_of_another_namespace_are_not_looked_up() -> None:
    fleet = demo("busy")
    (host,) = fleet.hosts
    assert host.facts is not None
    inside = replace(host, facts=replace(host.facts, lists_host_pids=True))
    assert roots_of(inside, fleet.letters) == {}


@given(st.sampled_from(["busy", "idle", "three_hosts", "errors", "many"]), st.integers(0, 9))
def test_everybody_whom_the_driver_lists_has_a_line(name: str, gpu: int) -> None:
    fleet: Fleet = getattr(fleets, name)()
    for host in fleet.hosts[:3]:
        check_lines(fleet, host, None)
        check_lines(fleet, host, gpu)


def check_lines(fleet: Fleet, host: Host, gpu: int | None) -> None:
    rows = tree_rows(host, holders(host, fleet.letters), {}, {}, gpu=gpu, now_s=fleets.NOW)
    listed = {pid for pid, on in memory_of(host).items() if gpu is None or gpu in on}
    assert listed <= {row.pid for row in rows}
    assert all(row.owner in Owner for row in rows)
    for row in rows:
        if row.pid in listed:
            assert dict(row.gpu_bytes) == memory_of(host)[row.pid]


@pytest.mark.parametrize("keep", [(0, 2), (1, 2), (0, 0, 2), (0, 1)])
def test_a_look_with_a_part_missing_is_none(keep: tuple[int, ...]) -> None:
    parts = [{"id": 4, "part": number, "rows": []} for number in range(2)]
    lines = [*parts, {"id": 4, "part": 2, "last": True, "rows": [], "mono": 1.0}]
    taker = KindredParts()
    found = []
    for number in keep:
        try:
            found.append(taker.take(lines[number]))
        except InvalidLine:
            continue
    assert not any(found)
    assert [taker.take(line) for line in lines][-1] is not None


@pytest.mark.parametrize(
    ("cgroup", "room"),
    [
        ("", ""),
        ("/user.slice/user-0.slice/session-3.scope", ""),
        ("/system.slice/ssh.service", ""),
        ("/system.slice/ollama.service", "ollama.service"),
        (f"/system.slice/docker-{'4f1c0a2b9d3e' + 'a' * 52}.scope", "docker 4f1c0a2b9d3e"),
        (f"/docker/{'4f1c0a2b9d3e' + 'a' * 52}", "docker 4f1c0a2b9d3e"),
        (f"/machine.slice/libpod-{'4f1c0a2b9d3e' + 'a' * 52}.scope", "podman 4f1c0a2b9d3e"),
        ("/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0", "Slurm job 4711"),
        ("/user.slice/user-1000.slice/user@1000.service/app.slice/run.scope", ""),
        (
            "/kubepods.slice/kubepods-burst.slice/kubepods-pod0a1b2c3d_4e5f.slice",
            "pod 0a1b2c3d",
        ),
    ],
)
def test_rooms(cgroup: str, room: str) -> None:
    assert room_of(cgroup) == room
