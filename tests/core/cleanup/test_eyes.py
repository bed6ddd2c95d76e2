"""Holes that fresh eyes found: each ended somebody alive, by one key or a flag."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudash.core.cleanup.leftovers import Life
from gpudash.core.cleanup.managing import manager_of
from gpudash.core.cleanup.table import Table
from gpudash.core.holding import PROBE_MARK, Existence, ManagerFacts, ManagerKind
from tests.core.cleanup.making import CID, UID, Box
from tests.core.making import GIB


def test_a_container_that_lives_is_not_gone_because_another_users_manager_says_so() -> None:
    box = Box()
    group = f"/user.slice/user-{UID}.slice/user@{UID}.service/user.slice/libpod-{CID}.scope"
    box.add(400, "conmon", parent=1, comm="conmon", cgroup=group)
    box.add(401, "vllm", "serve", parent=400, memory={0: GIB}, cgroup=group)
    answer = ManagerFacts(kind=ManagerKind.PODMAN, id=CID, is_known=False)
    assert box.only(answer).life is not Life.LEFTOVER


def test_a_worker_whose_server_moved_to_its_own_session_is_its_child() -> None:
    box = Box()
    box.add(300, "python", "server.py", parent=1, session=300, group=300)
    box.add(301, "VLLM::Worker_TP0", parent=300, session=250, group=250, memory={0: GIB})
    lives = [family.life for family in box.plan().families if 301 in family.pids]
    assert lives
    assert Life.LEFTOVER not in lives


def test_who_can_not_be_looked_into_may_keep_the_memory_of_the_dead_as_well() -> None:
    box = Box()
    box.lists(0, 48220, GIB)
    box.existence[48220] = Existence.DEAD
    box.add(400, "python", "idle.py", parent=1, group=399, session=399, opens=(0,))
    box.scan_changes["unreadable"] = 3
    families = [family for family in box.plan().families if 400 in family.pids]
    assert all(family.life is not Life.LEFTOVER for family in families)


@pytest.mark.parametrize(
    "group",
    [
        "/lxc.payload.ct101/system.slice/ollama.service",
        "/machine.slice/systemd-nspawn@web.service/payload/system.slice/ollama.service",
        "/system.slice/alice.service/nginx.service",
        "/system.slice/alice.service/*.service",
        "/system.slice/-Hevil.service",
        f"/user.slice/user-{UID + 1}.slice/user@{UID + 1}.service/app.slice/vllm.service",
    ],
)
def test_a_unit_of_another_tree_is_never_stopped_by_command(group: str) -> None:
    box = Box()
    process = box.add(400, "ollama", memory={0: GIB}, cgroup=group)
    box.processes[400] = replace(process, cgroup=group)
    host, scan = box.host(), box.scan()
    manager = manager_of(process, Table(host, scan), ())
    assert manager is not None
    assert not manager.is_run


def test_a_unit_of_this_host_is_stopped_by_its_command() -> None:
    box = Box()
    process = box.add(400, "ollama", memory={0: GIB}, cgroup="/system.slice/ollama.service")
    manager = manager_of(process, Table(box.host(), box.scan()), ())
    assert manager is not None
    assert manager.is_run


def test_a_shell_that_nobody_knows_is_told_by_what_it_does_with_jobs() -> None:
    box = Box()
    box.add(300, "python", "-m", "xonsh", parent=1, session=300, group=300, terminal=34816)
    box.add(310, "python", "train.py", parent=300, session=300, group=310, memory={0: GIB})
    family = box.only()
    assert set(family.pids) == {310}


def test_a_launcher_on_a_terminal_is_the_root_of_its_workers() -> None:
    box = Box()
    box.add(300, "torchrun", "train.py", parent=1, session=300, group=300, terminal=34816)
    box.add(310, "python", "train.py", parent=300, session=310, group=310, memory={0: GIB})
    box.add(311, "python", "train.py", parent=300, session=300, group=300, memory={1: GIB})
    family = box.only()
    assert set(family.pids) == {300, 310, 311}


def test_what_a_gpudash_launched_is_asked_itself_and_not_its_keeper() -> None:
    box = Box()
    box.add(300, "python3", "-ISBc", f"{PROBE_MARK}<(3,6)", parent=1, session=300, group=300)
    box.add(310, "python", "server.py", parent=300, session=310, group=310, memory={0: GIB})
    assert set(box.only().pids) == {310}
