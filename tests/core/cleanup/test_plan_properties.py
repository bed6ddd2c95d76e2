"""Whatever a host looks like, some are never signalled: judged by a second look of a few lines."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from hypothesis import event, given, settings
from hypothesis import strategies as st

from gpudash.core.cleanup.consent import Given, chosen
from gpudash.core.cleanup.leftovers import Life
from gpudash.core.cleanup.orders import Order, order_of
from gpudash.core.cleanup.plan import Action, Plan
from gpudash.core.cleanup.planner import Request, plan_host
from gpudash.core.holding import Process
from tests.core.cleanup.making import CID, GIB, GPUDASH, SHELL, SSHD, Box, handles
from tests.core.making import GIB as ONE_GIB

PROTECTED = ("nv-fabricmanage", "nvidia-persiste", "Xorg", "dcgm-exporter", "sshd", "bash")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("python", "train.py"),
    ("sglang::scheduler_TP0",),
    ("VLLM::EngineCore",),
    ("pt_data_worker",),
    ("python", "-m", "sglang.launch_server"),
    ("torchrun", "t.py"),
    ("/usr/bin/ollama", "serve"),
    ("orted",),
    ("trtllm-serve", "m"),
    ("nvtop",),
    *((name,) for name in PROTECTED),
)
CGROUPS = (
    "/",
    "/user.slice/user-1000.slice/session-3.scope",
    "/system.slice/ssh.service",
    "/system.slice/llm.service",
    f"/docker/{CID}",
    "/slurm/uid_1000/job_42/step_0",
    "/kubepods.slice/kubepods-pod12ab.slice",
)
MANAGED = CGROUPS[3:]
HINTS: tuple[dict[str, str], ...] = (
    {},
    {"TORCHELASTIC_RUN_ID": "none", "RANK": "0", "MASTER_PORT": "29500"},
    {"PMIX_RANK": "0", "PMIX_NAMESPACE": "job"},
    {"SSH_CONNECTION": "192.0.2.7 1 192.0.2.1 22"},
)


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    box = Box(gpus=3, uid=draw(st.sampled_from((1000, 1000, 0))))
    pids = [1, SSHD, SHELL, GPUDASH, 2]
    box.add(2, "kthreadd", parent=0, is_kernel=True, uid=0)
    for pid in range(100, 100 + draw(st.integers(1, 9))):
        argv = draw(st.sampled_from(COMMANDS))
        listed = draw(st.dictionaries(st.integers(0, 2), st.integers(0, 3), max_size=2))
        opens = tuple(sorted(draw(st.sets(st.integers(0, 2), max_size=3))))
        changes: dict[str, Any] = {
            "parent": draw(st.sampled_from(pids)),
            "uid": draw(st.sampled_from((box.uid, box.uid, box.uid, 1001))),
            "cgroup": draw(st.sampled_from(CGROUPS[:3] * 3 + MANAGED)),
            "hints": draw(st.sampled_from(HINTS)),
            "session": draw(st.sampled_from((*pids, pid, 90))),
            "group": draw(st.sampled_from((*pids, pid, 90))),
            "is_readable": draw(st.sampled_from((True, True, True, False))),
            "is_kernel": draw(st.sampled_from((False,) * 9 + (True,))),
            "links": draw(st.sampled_from(((), (), ("pipe:7",)))),
            "ports": draw(st.sampled_from(((), (), (8000,)))),
            "state": draw(st.sampled_from("SSSSTZD")),
        }
        memory = {index: size * ONE_GIB for index, size in listed.items()}
        held = {*memory, *opens} if draw(st.integers(0, 5)) else set(opens)
        if held:
            changes["handles"] = handles(*sorted(held), uvm=draw(st.integers(0, 3)) > 0)
        box.add(pid, *argv, memory=dict(memory), comm=argv[0].split("/")[-1][:15], **changes)
        pids.append(pid)
    if draw(st.booleans()):
        box.dead(draw(st.integers(0, 2)), 90, GIB)
    if draw(st.booleans()):
        box.own = (*box.own, draw(st.sampled_from(pids)))
    box.scan_changes = {"is_simulated": draw(st.booleans())}
    return box


givens = st.builds(
    Given,
    is_confirmed=st.just(True),
    covers_alive=st.sampled_from((True, True, True, False)),
    is_leftovers_only=st.sampled_from((False, False, False, True)),
    manages=st.booleans(),
    has_all_users=st.booleans(),
    users=st.sampled_from((frozenset(), frozenset(), frozenset({"user1001"}))),
    pids=st.sampled_from((frozenset(), frozenset(), frozenset({100, 103}))),
)


def ordered(plan: Plan, agreed: Given) -> Order | None:
    picked = chosen(plan, agreed)
    if not picked:
        return None
    names = {f"GPU-{index}": f"index-{index}" for index in range(3)}
    return order_of(plan, picked, run="run", host_now_s=5000.0, gpu_names=names)


def targets(box: Box, order: Order | None) -> list[Process]:
    families = order.families if order else ()
    return [box.processes[one.pid] for family in families for one in family.members]


def may_be_ours(box: Box, process: Process) -> bool:
    """Tell by the plainest rules whether a signal to this process could ever be right."""
    return (
        process.pid > 1
        and not process.is_kernel
        and process.pid not in box.own
        and process.comm not in PROTECTED[:-1]
    )


@given(boxes(), givens)
@settings(max_examples=250, deadline=None)
def test_some_are_never_signalled(box: Box, agreed: Given) -> None:
    plan = box.plan()
    order = ordered(plan, agreed)
    event(f"families ended: {len(order.families) if order else 0}")
    for process in targets(box, order):
        assert may_be_ours(box, process)
        is_named = agreed.has_all_users or "user1001" in agreed.users or bool(agreed.pids)
        assert process.identity.uid == box.uid or is_named
        assert process.cgroup not in MANAGED or _is_our_room(box, process)
    for family in order.families if order else ():
        holders = [box.processes[one.pid] for one in family.members]
        listed = {pid for rows in box.listed for pid in rows}
        assert family.commands or any(one.handles or one.pid in listed for one in holders)
        assert not (family.commands and family.members)


def _is_our_room(box: Box, process: Process) -> bool:
    ours = (GPUDASH, SHELL, SSHD)
    return any(box.processes[pid].cgroup == process.cgroup for pid in ours)


@given(boxes())
@settings(max_examples=80, deadline=None)
def test_one_key_ends_leftovers_of_our_own_alone(box: Box) -> None:
    plan = box.plan()
    for family_id in chosen(plan, Given(is_confirmed=True)):
        family = plan.family(family_id)
        assert family.life is Life.LEFTOVER
        assert family.uid == box.uid
        assert family.action is Action.STOP
        for member in family.members:
            process = box.processes[member.pid]
            assert not process.ports or process.hints
            assert process.state != "T"
        above = box.processes[family.id[0]].parent
        while above in box.processes and above > 1:
            assert box.processes[above].comm not in ("bash", "sshd")
            above = box.processes[above].parent


@given(boxes(), st.integers(0, 2**32))
@settings(max_examples=80, deadline=None)
def test_the_plan_does_not_depend_on_the_order_of_what_was_found(box: Box, seed: int) -> None:
    scan = box.scan()
    shuffled = list(scan.processes)
    random.Random(seed).shuffle(shuffled)
    other = replace(scan, processes=tuple(shuffled))
    plans = [plan_host(box.host(), one, Request(), at_s=1.0) for one in (scan, other)]
    assert plans[0] == plans[1]
    assert plans[0].digest == plans[1].digest


@given(boxes())
@settings(max_examples=80, deadline=None)
def test_who_holds_memory_is_in_the_plan_and_nobody_twice(box: Box) -> None:
    plan = box.plan()
    members = [pid for family in plan.families for pid in family.pids]
    assert len(members) == len(set(members))
    shown = set(members) | {pid for one in plan.kept for pid in one.pids}
    for process in box.processes.values():
        is_holder = any(process.pid in rows and rows[process.pid].used_bytes for rows in box.listed)
        if is_holder and process.handles and not process.is_kernel and not plan.notes:
            assert process.pid in shown


@given(boxes())
@settings(max_examples=60, deadline=None)
def test_a_scope_never_widens_what_is_chosen(box: Box) -> None:
    agreed = Given(is_confirmed=True, covers_alive=True, has_all_users=True)
    for key in ("GPU-0", "GPU-2"):
        plan = box.plan(gpus=(key,))
        for family_id in chosen(plan, agreed):
            assert {share.gpu for share in plan.family(family_id).shares} == {key}
