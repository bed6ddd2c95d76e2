"""The ways in which a cleanup goes wrong in practice, as far as facts alone decide them.

Each test names its case by the id under which it is known (A… holders, B… managers, C… protected,
D… signals, E… readings, F… leftovers).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpudash.core.cleanup.consent import Given, chosen, runs_at_once, strangers
from gpudash.core.cleanup.leftovers import Life
from gpudash.core.cleanup.outcomes import Outcome
from gpudash.core.cleanup.plan import Action, Condition, Consent, Plan
from gpudash.core.errors import ExitCode
from gpudash.core.holding import Device, Existence, ManagerKind
from gpudash.core.model import Kind
from tests.core.cleanup.making import (
    CID,
    GIB,
    GPUDASH,
    LEFTOVERS,
    SHELL,
    UID,
    Y_KEY,
    YES,
    Box,
    answer,
    device,
    handles,
    pids_of,
)
from tests.core.making import ancestor, info


def server(box: Box, root: int = 200, parent: int = SHELL, gpus: tuple[int, ...] = (0, 1)) -> None:
    """Add a root without a GPU and a renamed worker on each GPU."""
    box.add(root, "python", "-m", "sglang.launch_server", "--port", "8000", parent=parent)
    for place, gpu in enumerate(gpus):
        pid = root + 1 + place
        box.add(pid, f"sglang::scheduler_TP{place}", parent=root, memory={gpu: 40 * GIB})


def kept(plan: Plan, action: Action) -> dict[str, tuple[int, ...]]:
    return {one.name: one.pids for one in plan.kept if one.action is action}


# -- A: who holds ------------------------------------------------------------------------------


def test_a02_workers_orphaned_in_warm_up_join_the_family_of_their_session() -> None:
    box = Box()
    for pid in (301, 302):
        box.add(pid, f"VLLM::Worker_TP{pid - 301}", memory={pid - 301: GIB}, session=300)
    family = box.only()
    assert family.pids == (301, 302)
    assert family.life is Life.LEFTOVER
    assert family.action is Action.STOP


@pytest.mark.parametrize(
    "argv",
    [
        ("sglang::scheduler_TP0",),
        ("/opt/env/bin/vllm", "serve", "m"),
        ("/usr/bin/python3.11", "serve.py"),
        ("pt_main_thread",),
        ("bash-like",),
    ],
)
def test_a03_a04_a_name_selects_nobody_and_hides_nobody(argv: tuple[str, ...]) -> None:
    box = Box()
    box.add(300, *argv, memory={0: GIB})
    box.add(310, *argv)
    assert box.only().pids == (300,)


def test_a05_schedulers_whose_server_is_gone_are_leftovers_with_a_short_grace() -> None:
    box = Box(gpus=8)
    for rank in range(7):
        title = f"sglang::scheduler_DP0_TP{rank}_EP0"
        box.add(300 + rank, title, memory={rank: 70 * GIB}, session=290)
    family = box.only()
    assert (family.life, family.condition) == (Life.LEFTOVER, Condition.ORPHAN)
    assert family.grace_s == 3.0
    assert family.label.startswith("sglang scheduler")
    assert len(family.members) == 7
    assert family.used_bytes == (490 * GIB, True)
    assert runs_at_once(box.plan())


def test_a06_memory_of_a_dead_rank_is_traced_to_its_orphaned_helpers() -> None:
    box = Box()
    box.dead(0, 300, 39 * GIB)
    for pid in (301, 302):
        box.add(pid, "pt_data_worker", opens=(0, 1), group=300, session=300)
    family = box.only()
    assert family.pids == (301, 302)
    assert family.dead == (300,)
    assert family.life is Life.LEFTOVER
    assert family.grace_s == 1.0
    assert [(share.index, share.used_bytes) for share in family.shares] == [(0, 39 * GIB)]
    assert any("pid 300" in sentence and "dead" in sentence for sentence in family.why)


def test_a06_a_plain_forked_child_is_a_leftover_by_the_memory_that_it_keeps() -> None:
    box = Box()
    box.dead(0, 300, 8 * GIB)
    box.add(301, "python", "train.py", opens=(0,), group=299, session=299)
    family = box.only()
    assert family.life is Life.LEFTOVER
    assert "pid 300" in family.why[0]


def test_a06_who_left_its_group_on_purpose_is_no_heir_for_sure() -> None:
    """A detached program that has CUDA started and holds nothing yet, beside a slow teardown."""
    box = Box()
    box.dead(0, 300, 8 * GIB)
    box.add(400, "python", "serve.py", opens=(0,))
    family = box.only()
    assert family.life is Life.DETACHED
    assert family.action is Action.ASK


def test_a06_a_helper_of_a_living_rank_is_its_member() -> None:
    box = Box()
    box.add(300, "python", "train.py", parent=SHELL, memory={0: GIB})
    box.add(301, "pt_data_worker", parent=300, opens=(0,))
    family = box.only()
    assert family.pids == (300, 301)
    assert family.life is Life.ALIVE


def test_a07_a_dead_pid_without_an_heir_stays_on_the_plan() -> None:
    box = Box()
    box.dead(0, 999999, 10 * GIB)
    plan = box.plan()
    assert plan.families == ()
    assert [(row.index, row.used_bytes) for row in plan.unseen] == [(0, 10 * GIB)]
    assert "pid 999999" in plan.unseen[0].words
    assert plan.endings[0].outcome is Outcome.UNATTRIBUTED
    assert plan.exit_code is ExitCode.HELD


def test_a08_a_zombie_leader_is_a_holder_like_any_other() -> None:
    box = Box()
    thread = replace(device(Device.GPU, 0), is_thread_only=True)
    box.add(300, parent=SHELL, memory={0: GIB}, state="Z", threads=2, exe=None, handles=(thread,))
    family = box.only()
    assert family.condition is Condition.ZOMBIE_LEADER
    assert pids_of(box.plan(), YES) == {300}
    assert not any("zombie" in sentence for sentence in family.why)


def test_a11_a_weight_cache_is_listed_with_its_purpose() -> None:
    box = Box()
    box.add(300, "python", "-m", "sglang.srt.weight_cache.daemon", memory={0: GIB})
    family = box.only()
    assert family.life is Life.DETACHED
    assert any("on purpose" in sentence for sentence in family.why)


def test_a12_a_mapping_without_a_descriptor_is_a_handle() -> None:
    box = Box()
    mapped = replace(device(Device.GPU, 0), count=0)
    box.add(300, "python", "x.py", handles=(mapped,))
    box.used[0] = GIB
    assert box.only().pids == (300,)


def test_a13_who_opens_no_uvm_only_watches() -> None:
    box = Box()
    box.add(300, "nvtop", handles=handles(0, 1, uvm=False))
    box.add(301, "python", "my_monitor.py", handles=(device(Device.CONTROL),))
    box.add(302, "worker", opens=(0, 1))
    box.add(303, "idle", opens=(1,))
    box.used[0] = GIB
    plan = box.plan()
    assert kept(plan, Action.WATCHING) == {"nvtop": (300,), "python": (301,), "idle": (303,)}
    assert [family.pids for family in plan.families] == [(302,)]
    assert [share.index for share in plan.families[0].shares] == [0]


def test_a16_a17_the_agent_is_asked_and_not_its_ranks() -> None:
    box = Box()
    box.add(300, "python", "/env/bin/torchrun", "train.py", parent=SHELL)
    for rank in (0, 1):
        pid = 301 + rank
        box.add(pid, "python", "-u", "train.py", parent=300, session=pid, memory={rank: GIB})
    family = box.only()
    assert family.pids == (300, 301, 302)
    assert [member.is_root for member in family.members] == [True, False, False]
    assert family.grace_s == 35.0


def test_a19_launcher_and_runner_of_deepspeed_are_both_asked() -> None:
    box = Box()
    box.add(300, "python", "/env/bin/deepspeed", "train.py", parent=SHELL)
    box.add(301, "python", "-u", "-m", "deepspeed.launcher.launch", "train.py", parent=300)
    box.add(302, "python", "train.py", "--local_rank=0", parent=301, memory={0: GIB})
    roots = [member.pid for member in box.only().members if member.is_root]
    assert roots == [300, 301]


def test_a20_a_server_beside_its_mpi_daemon_is_of_the_family() -> None:
    box = Box()
    box.add(300, "trtllm-serve", "m", parent=SHELL, session=60)
    box.add(310, "orted", session=60)
    for rank in (0, 1):
        argv = ("python", "-m", "mpi4py.futures.server")
        box.add(311 + rank, *argv, parent=310, memory={rank: GIB})
    box.add(320, "trtllm-serve", "other", session=99)
    family = box.only()
    assert set(family.pids) == {300, 310, 311, 312}
    assert [member.pid for member in family.members if member.is_root] == [300, 310]


def test_a20_two_mpi_jobs_of_one_session_stay_apart() -> None:
    box = Box()
    for root, gpu in ((300, 0), (310, 1)):
        box.add(root, "mpirun", "train", parent=SHELL)
        box.add(root + 1, "train", parent=root, memory={gpu: GIB})
    assert [family.pids for family in box.plan().families] == [(300, 301), (310, 311)]


def test_a21_the_runner_of_a_dead_ollama_is_a_leftover() -> None:
    box = Box()
    box.add(300, "/usr/bin/ollama", "runner", "--model", "m", memory={0: GIB})
    assert box.only().life is Life.LEFTOVER


def test_a22_processes_of_a_removed_container_are_leftovers() -> None:
    box = Box()
    box.add(300, "VLLM::Worker_TP0", memory={0: GIB}, cgroup=f"/docker/{CID}")
    gone = answer(ManagerKind.DOCKER, CID, is_known=False)
    family = box.only(gone)
    assert (family.life, family.action) == (Life.LEFTOVER, Action.STOP)
    assert "left over from docker container ab12ab12ab12" in family.why[0]


def test_a25_a_living_server_beside_an_orphan_of_the_same_program_needs_a_key() -> None:
    box = Box()
    box.add(300, "/usr/bin/ollama", "serve")
    box.add(301, "/usr/bin/ollama", "runner", parent=300, memory={0: GIB}, ports=(4242,), clients=1)
    box.add(310, "/usr/bin/ollama", "runner", memory={1: GIB})
    plan = box.plan()
    actions = {family.id[0]: family.action for family in plan.families}
    assert actions == {300: Action.ASK, 310: Action.STOP}
    assert pids_of(plan, Y_KEY) == {310}
    assert not runs_at_once(plan)


def test_a26_work_on_gpus_outside_the_scope_needs_to_be_named() -> None:
    box = Box(gpus=8)
    box.add(300, "python", "/env/bin/torchrun", "t.py", parent=SHELL)
    for rank in range(8):
        memory: dict[int, int | None] = {0: GIB // 2, rank: 60 * GIB}
        box.add(301 + rank, "python", "t.py", parent=300, memory=memory, opens=(0, rank))
    plan = box.plan(gpus=("GPU-0",))
    (family,) = plan.families
    assert [share.index for share in family.collateral] == [1, 2, 3, 4, 5, 6, 7]
    assert Consent.COLLATERAL in family.needs
    assert any("GPU 1–7" in sentence for sentence in family.why)
    assert pids_of(plan, YES) == set()
    assert pids_of(plan, replace(YES, pids=frozenset({301}))) == set(range(300, 309))


def test_a27_families_on_other_gpus_are_untouched_and_shown() -> None:
    box = Box()
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB})
    box.add(310, "vllm", "serve", memory={1: GIB})
    plan = box.plan(gpus=("GPU-0",))
    assert [family.id[0] for family in plan.families] == [300, 310]
    assert plan.families[1].action is Action.LEAVE
    assert Consent.SCOPE in plan.families[1].needs
    assert plan.scope == (("GPU-0", 0),)
    everything = replace(YES, pids=frozenset({300, 310}), has_all_users=True)
    assert pids_of(plan, everything) == {300}
    assert runs_at_once(plan)


# -- B: managers -------------------------------------------------------------------------------


MANAGED = [
    ("/system.slice/ollama.service", {}, ("systemctl", "stop", "ollama.service"), True),
    (
        "/user.slice/user-1000.slice/user@1000.service/app.slice/llm.service",
        {},
        ("systemctl", "--user", "stop", "llm.service"),
        True,
    ),
    (f"/system.slice/docker-{CID}.scope", {}, ("docker", "stop", "-t", "10", CID[:12]), True),
    (f"/machine.slice/libpod-{CID}.scope", {}, ("podman", "stop", "-t", "10", CID[:12]), True),
    (
        f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod12ab_34cd.slice/"
        f"cri-containerd-{CID}.scope",
        {"POD_NAMESPACE": "ml", "HOSTNAME": "llm-0"},
        ("kubectl", "-n", "ml", "delete", "pod", "llm-0"),
        False,
    ),
    ("/slurm/uid_1000/job_42/step_0", {}, ("scancel", "--signal=TERM", "42.0"), False),
    (
        "/system.slice/slurmstepd.scope/job_42/step_3/user/task_0",
        {},
        ("scancel", "--signal=TERM", "42.3"),
        False,
    ),
    ("/", {"SLURM_JOB_ID": "42"}, ("scancel", "--signal=TERM", "42"), False),
]


@pytest.mark.parametrize(("cgroup", "hints", "command", "is_run"), MANAGED)
def test_b01_b05_b06_managed_families_get_their_managers_command(
    cgroup: str, hints: dict[str, str], command: tuple[str, ...], is_run: bool
) -> None:
    box = Box()
    box.add(300, "python", "serve.py", memory={0: GIB}, cgroup=cgroup, hints=hints)
    plan = box.plan()
    (family,) = plan.families
    assert family.manager is not None
    assert family.manager.commands[0] == command
    assert family.manager.is_run is is_run
    assert pids_of(plan, YES) == set()
    assert bool(chosen(plan, replace(YES, manages=True))) is is_run
    assert plan.endings[0].outcome is Outcome.MANAGED
    assert plan.exit_code is ExitCode.HELD


def test_b03_a_supervised_program_is_stopped_by_its_supervisor() -> None:
    box = Box()
    box.add(290, "/usr/bin/python3", "/usr/bin/supervisord", comm="supervisord")
    hints = {"SUPERVISOR_PROCESS_NAME": "llm", "SUPERVISOR_GROUP_NAME": "gpu"}
    box.add(300, "python", "serve.py", parent=290, memory={0: GIB}, hints=hints)
    box.add(301, "VLLM::EngineCore", parent=300, memory={1: GIB}, hints=hints)
    family = box.only()
    assert family.pids == (300, 301)
    assert family.manager is not None
    assert family.manager.commands == (("supervisorctl", "stop", "gpu:llm"),)


@pytest.mark.parametrize("parent", ["runsv", "s6-supervise"])
def test_b03_runit_and_s6_are_named_and_not_run(parent: str) -> None:
    box = Box()
    box.add(290, parent, "llm", cwd="/etc/service/llm")
    box.add(300, "python", "serve.py", parent=290, memory={0: GIB})
    plan = box.plan()
    manager = plan.families[0].manager
    assert manager is not None
    assert manager.commands
    assert "/etc/service/llm" in manager.commands[0]
    assert chosen(plan, replace(YES, manages=True)) == frozenset()


def test_b06_what_a_job_left_behind_is_a_leftover_of_it() -> None:
    box = Box()
    cgroup = "/slurm/uid_1000/job_42/step_0"
    box.add(300, "python", "train.py", memory={0: GIB}, cgroup=cgroup)
    gone = answer(ManagerKind.SLURM, "42", is_known=False)
    family = box.only(gone)
    assert (family.life, family.action) == (Life.LEFTOVER, Action.STOP)
    assert "left over from Slurm job 42" in family.why[0]
    assert box.only(answer(ManagerKind.SLURM, "42")).action is Action.LEAVE


def test_our_own_room_is_no_manager() -> None:
    box = Box()
    cgroup = f"/docker/{CID}"
    box.add(GPUDASH, "python", "gpudash", parent=SHELL, cgroup=cgroup)
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB}, cgroup=cgroup)
    plan = box.plan()
    assert plan.families[0].manager is None
    assert plan.families[0].action is Action.STOP
    assert plan.shows_first == "inside a container"
    assert not runs_at_once(plan)


def test_the_room_of_another_probe_is_not_ours() -> None:
    box = Box()
    cgroup = f"/docker/{CID}"
    box.add(500, "python", "-c", "probe", cgroup=cgroup)
    box.own = (*box.own, 500)
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB}, cgroup=cgroup)
    plan = box.plan()
    assert plan.families[0].manager is not None
    assert pids_of(plan, YES) == set()
    assert plan.shows_first == ""


def test_what_a_manager_runs_is_joined_to_nothing_else() -> None:
    box = Box()
    for pid, cgroup in ((300, "/"), (301, "/system.slice/llm.service")):
        changes: dict[str, Any] = {"cgroup": cgroup, "session": 290, "links": ("pipe:7",)}
        box.add(pid, "sglang::scheduler_TP0", memory={0: GIB}, **changes)
    plan = box.plan()
    assert [family.pids for family in plan.families] == [(300,), (301,)]
    assert pids_of(plan, YES) == {300}


def test_a_door_of_the_host_is_no_manager() -> None:
    """Without logind everything that came by ssh is in the unit of sshd."""
    box = Box()
    box.add(300, "python", "x.py", memory={0: GIB}, cgroup="/system.slice/ssh.service")
    assert box.only().manager is None


# -- C: protected ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("comm", "name"),
    [
        ("nv-fabricmanage", "nv-fabricmanager"),
        ("nvlsm", "nvlsm"),
        ("nvidia-persiste", "nvidia-persistenced"),
        ("nvidia-imex", "nvidia-imex"),
        ("nvidia-cuda-mps", "nvidia-cuda-mps"),
        ("nvidia-powerd", "nvidia-powerd"),
        ("nv-hostengine", "nv-hostengine"),
        ("dcgm-exporter", "dcgm-exporter"),
        ("nvidia-device-p", "cluster agent"),
        ("containerd-shim", "container runtime"),
        ("Xorg", "desktop"),
        ("gnome-shell", "desktop"),
        ("dcvserver", "remote desktop"),
        ("bash", "shells and tools"),
        ("jupyter-lab", "shells and tools"),
    ],
)
def test_c01_to_c06_the_protected_are_never_chosen(comm: str, name: str) -> None:
    box = Box()
    box.add(300, comm, comm=comm, opens=(0, 1))
    plan = box.plan()
    assert plan.families == ()
    assert kept(plan, Action.NEVER)[name] == (300,)
    assert plan.exit_code is ExitCode.OK


def test_c01_a_protected_unit_is_enough() -> None:
    box = Box()
    cgroup = "/system.slice/nvidia-fabricmanager.service"
    box.add(300, "renamed", memory={0: GIB}, cgroup=cgroup)
    plan = box.plan()
    assert kept(plan, Action.NEVER) == {"nv-fabricmanager": (300,)}
    assert plan.endings[0].outcome is Outcome.PROTECTED


def test_c04_who_draws_is_protected_whatever_it_is() -> None:
    box = Box()
    box.add(300, "/usr/bin/firefox", memory={0: GIB}, kind=Kind.GRAPHICS)
    plan = box.plan()
    assert plan.families == ()
    assert kept(plan, Action.NEVER) == {"desktop": (300,)}


def test_c07_gpudash_and_all_above_it_are_untouchable() -> None:
    box = Box()
    for pid in (GPUDASH, SHELL):
        box.processes[pid] = replace(box.processes[pid], handles=handles(0))
        box.lists(0, pid, GIB)
    plan = box.plan()
    assert plan.families == ()
    assert kept(plan, Action.NEVER) == {"own": (SHELL, GPUDASH)}
    everything = replace(YES, has_all_users=True, manages=True)
    assert chosen(plan, everything) == frozenset()
    assert strangers(plan, replace(YES, pids=frozenset({SHELL}))) == (SHELL,)


def test_c07_a_family_ends_below_whoever_started_gpudash() -> None:
    box = Box()
    box.add(65, "python", "-m", "pytest", parent=SHELL)
    box.own = (GPUDASH, 65, SHELL, 1)
    box.add(GPUDASH, "python", "gpudash", parent=65)
    box.add(300, "python", "serve.py", parent=65, memory={0: GIB})
    assert box.only().pids == (300,)


def test_c10_a_colleagues_monitor_is_untouched() -> None:
    box = Box()
    box.add(300, "python", "/usr/bin/nvitop", uid=1001, handles=handles(0, uvm=False))
    plan = box.plan()
    assert [one.pids for one in plan.kept if one.action is Action.WATCHING] == [(300,)]


# -- D, E, F -----------------------------------------------------------------------------------


def test_d03_a_suspended_family_needs_a_key() -> None:
    box = Box()
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB}, state="T")
    family = box.only()
    assert family.condition is Condition.SUSPENDED
    assert family.action is Action.ASK


def test_d03_who_debugs_it_is_named() -> None:
    box = Box()
    box.add(300, "python", "t.py", memory={0: GIB}, state="t", tracer=444, parent=SHELL)
    assert any("444" in sentence for sentence in box.only().why)


def test_d04_grace_of_sglang_depends_on_its_clients() -> None:
    box = Box()
    server(box)
    assert box.only().grace_s == 3.0
    box.add(200, "python", "-m", "sglang.launch_server", parent=SHELL, ports=(8000,), clients=2)
    assert box.only().grace_s == 25.0
    argv = ("python", "-m", "sglang.launch_server", "--node-rank", "1")
    box.add(200, *argv, parent=SHELL)
    assert box.only().grace_s == 0.0


def test_d07_a_shutdown_timeout_on_the_command_line_counts() -> None:
    box = Box()
    box.add(300, "vllm", "serve", "m", "--shutdown-timeout", "30", parent=SHELL, memory={0: GIB})
    assert box.only().grace_s == 35.0


def test_d13_another_users_holder_is_foreign_for_root_as_well() -> None:
    for uid in (UID, 0):
        box = Box(uid=uid)
        box.add(300, "python", "t.py", uid=1001, memory={0: GIB}, is_readable=uid == 0, exe=None)
        plan = box.plan()
        (family,) = plan.families
        assert family.action is Action.LEAVE
        assert Consent.NAME in family.needs
        assert plan.endings[0].outcome is Outcome.FOREIGN
        assert plan.exit_code is ExitCode.HELD
        keys = frozenset({family.id})
        assert chosen(plan, replace(YES, keys=keys, manages=True)) == frozenset()
        assert pids_of(plan, replace(YES, users=frozenset({"user1001"}))) == {300}
        assert pids_of(plan, replace(YES, pids=frozenset({300}))) == {300}


def test_d14_a_hidden_pid_is_alive_and_foreign() -> None:
    box = Box()
    box.lists(0, 4711, GIB)
    box.existence[4711] = Existence.HIDDEN
    plan = box.plan()
    assert plan.unseen[0].is_foreign
    assert "pid 4711" in plan.unseen[0].words
    assert "hidden" in plan.unseen[0].words
    assert plan.endings[0].outcome is Outcome.FOREIGN


def test_d16_a_list_that_can_not_be_true_is_not_believed() -> None:
    box = Box()
    for pid in (300, 301, 302):
        box.add(pid, "innocent", parent=SHELL)
        box.lists(0, pid, GIB)
    box.add(310, "python", "t.py", parent=SHELL, opens=(0,))
    plan = box.plan()
    assert [family.pids for family in plan.families] == [(310,)]
    assert any("can't be true" in note for note in plan.notes)


def test_d18_a_reaper_is_no_root() -> None:
    box = Box()
    box.add(290, "systemd", "--user", session=290)
    box.add(300, "VLLM::Worker_TP0", parent=290, session=295, group=295, memory={0: GIB})
    family = box.only()
    assert family.pids == (300,)
    assert family.life is Life.LEFTOVER


def test_d18_a_subreaper_is_told_by_a_session_of_somebody_dead() -> None:
    box = Box()
    box.add(290, "python", "reaper.py", session=290)
    box.add(300, "VLLM::Worker_TP0", parent=290, session=295, group=295, memory={0: GIB})
    assert box.only().pids == (300,)


def test_e06_a_gpu_that_needs_a_reset_is_stuck_whoever_holds_it() -> None:
    box = Box()
    box.add(300, "python", "t.py", parent=SHELL, memory={0: GIB})
    box.gpu_changes[0] = {"recovery_action": 1}
    plan = box.plan()
    assert plan.endings[0].outcome is Outcome.RESET_REQUIRED
    assert plan.exit_code is ExitCode.STUCK


def test_e13_each_gpu_has_an_ending_of_its_own() -> None:
    box = Box(gpus=8)
    box.add(300, "python", "t.py", parent=SHELL, memory={3: GIB})
    outcomes = [ending.outcome for ending in box.plan().endings]
    assert outcomes == [Outcome.CLEANED] * 3 + [Outcome.HELD] + [Outcome.CLEANED] * 4


def test_f02_f04_ports_and_helpers_belong_to_the_family() -> None:
    box = Box()
    server(box)
    box.add(210, "sglang::detokenizer", parent=200, ports=(8000, 9000))
    family = box.only()
    assert 210 in family.pids
    assert family.ports == (8000, 9000)
    assert next(one for one in family.members if one.pid == 210).gpus == ()


# -- leftovers and the detached ----------------------------------------------------------------


def three(box: Box) -> None:
    """A `nohup` job, a `setsid` job and a true orphan, side by side, the GPU at rest."""
    box.add(300, "python", "train.py", session=299, memory={0: GIB})
    box.add(310, "python", "train.py", memory={0: GIB})
    box.add(320, "sglang::scheduler_TP0", session=319, group=319, memory={0: GIB})


def test_only_the_orphan_goes() -> None:
    box = Box()
    three(box)
    plan = box.plan()
    lives = {family.id[0]: family.life for family in plan.families}
    assert lives == {300: Life.DETACHED, 310: Life.DETACHED, 320: Life.LEFTOVER}
    assert pids_of(plan, Y_KEY) == {320}
    assert pids_of(plan, LEFTOVERS) == {320}
    assert pids_of(plan, YES) == {300, 310, 320}
    assert not runs_at_once(plan)


@pytest.mark.parametrize(
    "sign",
    [
        {"cpu_share": 0.3},
        {"cpu_share": None},
        {"is_readable": False},
        {"log_age_s": 12.0},
        {"ports": (8000,)},
        {"ports": (8000,), "clients": 1},
        {"ports": (8000,), "recent_clients": 1},
        {"is_saving": True},
    ],
)
def test_any_sign_of_life_forbids_a_leftover(sign: dict[str, object]) -> None:
    box = Box()
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB}, **sign)
    family = box.only()
    assert family.life is Life.ALIVE
    assert family.action is Action.ASK


def test_the_meeting_point_of_ranks_is_no_service() -> None:
    box = Box()
    hints = {"TORCHELASTIC_RUN_ID": "none", "RANK": "0", "MASTER_PORT": "29500"}
    box.add(300, "python", "t.py", memory={0: GIB}, hints=hints, ports=(29500,), clients=7)
    family = box.only()
    assert family.life is Life.LEFTOVER
    assert family.ports == ()


def remembered(**changes: Any) -> Box:
    """A worker that nothing names, seen before below a server that is dead now."""
    box = Box()
    box.add(301, "python", "work.py", memory={0: GIB}, **changes)
    above = replace(ancestor(300, "python", UID, "python", "serve.py"), start_ticks=1300)
    box.seen = (info(301, start_ticks=1301, argv=("python", "work.py"), ancestors=(above,)),)
    return box


def test_a_root_that_was_seen_before_and_is_dead_is_evidence() -> None:
    family = remembered(session=299).only()
    assert family.life is Life.LEFTOVER
    assert "pid 300 (serve.py) is dead" in family.why[0]


def test_who_was_set_free_on_purpose_is_no_leftover() -> None:
    assert remembered(session=301).only().life is Life.DETACHED


def test_a_root_that_lives_is_no_evidence() -> None:
    box = remembered(session=299)
    box.add(300, "python", "serve.py")
    assert box.only().life is Life.DETACHED


def test_old_signs_are_none() -> None:
    box = Box()
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB}, log_age_s=61.0, cpu_share=0.01)
    assert box.only().life is Life.LEFTOVER


def test_a_busy_gpu_is_a_sign_of_life() -> None:
    box = Box()
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB})
    box.gpu_changes[0] = {"utilisation_pct": 97}
    assert box.only().life is Life.ALIVE


@pytest.mark.parametrize("above", ["bash", "zsh", "tmux: server", "sshd"])
def test_below_a_living_login_nothing_is_a_leftover(above: str) -> None:
    box = Box()
    box.add(290, above, comm=above, uid=0 if above == "sshd" else UID)
    box.add(300, "sglang::scheduler_TP0", parent=290, memory={0: GIB})
    assert box.only().action is Action.ASK


def test_in_another_living_login_nothing_is_a_leftover() -> None:
    box = Box()
    box.add(290, "bash", login_session=9)
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB}, login_session=9)
    assert box.only().action is Action.ASK
    del box.processes[290]
    assert box.only().action is Action.STOP


def test_a_living_agent_above_is_no_dead_root() -> None:
    box = Box()
    box.add(290, "python", "launcher.py")
    hints = {"TORCHELASTIC_RUN_ID": "x", "RANK": "0"}
    box.add(300, "python", "t.py", parent=290, memory={0: GIB}, hints=hints)
    assert box.only().life is Life.DETACHED
    assert box.only().pids == (290, 300)


def test_a_living_service_above_is_no_dead_root() -> None:
    box = Box()
    box.add(290, "cron")
    box.add(300, "sglang::scheduler_TP0", parent=290, memory={0: GIB})
    assert box.only().life is Life.ALIVE


def test_a_parent_that_can_not_be_seen_is_alive() -> None:
    box = Box()
    box.add(300, "sglang::scheduler_TP0", parent=290, memory={0: GIB})
    assert box.only().life is Life.ALIVE


def test_a_reaper_below_a_shell_makes_no_leftovers() -> None:
    box = Box()
    box.add(290, "dumb-init", parent=SHELL)
    box.add(300, "sglang::scheduler_TP0", parent=290, memory={0: GIB})
    assert box.only().life is Life.ALIVE


# -- what a family is made of ------------------------------------------------------------------


def test_a_family_ends_where_another_user_begins() -> None:
    box = Box()
    box.add(290, "python", "launcher.py", uid=1001, parent=SHELL)
    box.add(300, "python", "t.py", parent=290, memory={0: GIB})
    box.add(301, "python", "below.py", parent=300, uid=1001)
    box.add(302, "python", "below.py", parent=301)
    assert box.only().pids == (300,)


def test_a_probe_below_a_root_is_nobodys_member() -> None:
    box = Box()
    box.add(300, "python", "t.py", parent=SHELL, memory={0: GIB})
    box.add(301, "python", "-c", "probe", parent=300)
    box.own = (*box.own, 301)
    assert box.only().pids == (300,)


def test_who_is_named_is_meant_and_nobody_else() -> None:
    box = Box()
    three(box)
    plan = box.plan()
    assert pids_of(plan, replace(YES, pids=frozenset({310}))) == {310}
    assert pids_of(plan, replace(YES, users=frozenset({"somebody"}))) == set()
    assert strangers(plan, replace(YES, pids=frozenset({310, 999}))) == (999,)


# -- everybody is root -------------------------------------------------------------------------


def as_root(theirs: str, mine: str = "192.0.2.9 50000 192.0.2.1 22") -> Box:
    box = Box(uid=0)
    hints = {"SSH_CONNECTION": mine} if mine else {}
    box.add(SHELL, "-bash", comm="bash", parent=50, hints=hints, login_session=3)
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB}, hints={"SSH_CONNECTION": theirs})
    return box


def test_root_of_another_address_is_another_session() -> None:
    box = as_root("192.0.2.7 40000 192.0.2.1 22")
    plan = box.plan()
    (family,) = plan.families
    assert Consent.SESSION in family.needs
    assert any("started from a session of 192.0.2.7" in sentence for sentence in family.why)
    assert pids_of(plan, YES) == set()
    assert pids_of(plan, replace(Y_KEY, keys=frozenset({family.id}))) == {300}
    assert pids_of(plan, replace(YES, pids=frozenset({300}))) == {300}
    assert pids_of(plan, replace(YES, users=frozenset({"root"}))) == {300}


def test_root_of_the_same_address_is_me() -> None:
    assert as_root("192.0.2.9 40000 192.0.2.1 22").only().action is Action.STOP


def test_root_by_ssh_is_not_root_at_the_console() -> None:
    assert Consent.SESSION in as_root("192.0.2.7 1 192.0.2.1 22", mine="").only().needs


def test_the_same_tmux_server_is_me_wherever_it_was_started() -> None:
    box = as_root("192.0.2.7 40000 192.0.2.1 22")
    hints = {"SSH_CONNECTION": "192.0.2.9 1 192.0.2.1 22", "TMUX": "/tmp/tmux-0/default,80,1"}
    box.add(SHELL, "-bash", comm="bash", parent=50, hints=hints)
    theirs = {"SSH_CONNECTION": "192.0.2.7 1 192.0.2.1 22", "TMUX": "/tmp/tmux-0/default,80,2"}
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB}, hints=theirs)
    assert Consent.SESSION not in box.only().needs


def test_root_beside_other_logins_sees_the_plan_first() -> None:
    box = as_root("192.0.2.9 40000 192.0.2.1 22")
    assert runs_at_once(box.plan())
    box.add(500, "bash", login_session=44, uid=1001)
    assert "logged in" in box.plan().shows_first
    assert not runs_at_once(box.plan())


def test_the_first_plan_of_a_host_is_shown() -> None:
    box = Box()
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB})
    assert runs_at_once(box.plan())
    assert not runs_at_once(box.plan(is_first=True))


def test_nothing_is_chosen_without_a_confirmation() -> None:
    box = Box()
    three(box)
    everything = Given(covers_alive=True, manages=True, has_all_users=True)
    assert chosen(box.plan(), everything) == frozenset()
