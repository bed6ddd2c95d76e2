"""Whose a family is and who runs it: the strictest over all of its roots, never the first alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudash.core.cleanup.belonging import Belongs, belonging, origin_of
from gpudash.core.cleanup.consent import runs_at_once
from gpudash.core.cleanup.families import Families
from gpudash.core.cleanup.keepers import keeper_of
from gpudash.core.cleanup.plan import Action, Consent
from gpudash.core.cleanup.table import Table
from gpudash.core.holding import ManagerKind, Process
from tests.core.cleanup.making import CID, GIB, SHELL, YES, Box, answer, pids_of

OURS = {"SSH_CONNECTION": "192.0.2.9 50000 192.0.2.1 22"}
SAME = {"SSH_CONNECTION": "192.0.2.9 50001 192.0.2.1 22"}
THEIRS = {"SSH_CONNECTION": "192.0.2.7 50002 192.0.2.1 22"}


def as_root(session: int | None = 3) -> Box:
    box = Box(uid=0)
    box.add(SHELL, "-bash", comm="bash", parent=50, hints=OURS, login_session=session)
    box.add(70, "python", "gpudash", parent=SHELL, hints=OURS, login_session=session)
    return box


def rank(box: Box, pid: int, hints: dict[str, str], **changes: object) -> Process:
    return box.add(pid, f"sglang::scheduler_TP{pid}", memory={0: GIB}, hints=hints, **changes)


# -- several roots -----------------------------------------------------------------------------


@pytest.mark.parametrize("stranger", [300, 301, 302])
def test_one_root_of_another_session_makes_it_anothers(stranger: int) -> None:
    box = as_root()
    for pid in (300, 301, 302):
        rank(box, pid, THEIRS if pid == stranger else SAME)
    plan = box.plan()
    (family,) = plan.families
    assert set(family.pids) == {300, 301, 302}
    assert family.belongs is Belongs.OTHER_SESSION
    assert Consent.SESSION in family.needs
    assert family.origin.address == "192.0.2.7"
    assert pids_of(plan, YES) == set()


@pytest.mark.parametrize("stranger", [0, 1])
def test_one_root_of_another_user_makes_it_anothers(stranger: int) -> None:
    """Families never mix users; should one, it is the other's."""
    box = Box()
    box.add(300, "python", "a.py", memory={0: GIB})
    box.add(301, "python", "b.py", memory={1: GIB})
    table = Table(box.host(), box.scan())
    one, other = Families(table, (), frozenset()).found
    both = replace(one, roots=(*one.roots, *other.roots), members=(*one.members, *other.members))
    assert belonging(both, table) is Belongs.MINE
    foreign = replace(both.roots[stranger].identity, uid=1001)
    roots = list(both.roots)
    roots[stranger] = replace(roots[stranger], identity=foreign)
    assert belonging(replace(both, roots=tuple(roots)), table) is Belongs.OTHER_USER


@pytest.mark.parametrize("alive", [300, 301])
def test_one_root_that_its_manager_may_still_run_is_managed(alive: int) -> None:
    """Below a shim the manager that was asked need not be the one that runs it."""
    box = Box()
    group = f"/system.slice/docker-{CID}.scope"
    box.add(290, "containerd-shim")
    for pid in (300, 301):
        parent = 290 if pid == alive else 1
        rank(box, pid, {}, parent=parent, cgroup=group)
    gone = answer(ManagerKind.DOCKER, CID, is_known=False)
    family = box.only(gone)
    assert set(family.pids) == {300, 301}
    assert family.manager is not None
    assert not family.manager.is_gone
    assert Consent.MANAGED in family.needs
    assert family.action is not Action.STOP


@pytest.mark.parametrize("nested", [300, 301])
def test_one_root_in_another_tree_makes_the_command_printed(nested: int) -> None:
    box = Box()
    for pid in (300, 301):
        above = "/machine.slice/machine-a.scope" if pid == nested else "/system.slice"
        rank(box, pid, {}, cgroup=f"{above}/train.service")
    family = box.only(answer(ManagerKind.UNIT, "train.service"))
    assert set(family.pids) == {300, 301}
    assert Consent.PRINTED in family.needs
    assert family.action is Action.LEAVE


def test_two_managers_are_both_printed() -> None:
    """Families never mix managers; should one, no single command ends it."""
    box = Box()
    box.add(300, "python", "a.py", memory={0: GIB}, cgroup="/system.slice/a.service")
    box.add(301, "python", "b.py", memory={1: GIB}, cgroup="/system.slice/b.service")
    table = Table(box.host(), box.scan())
    one, other = Families(table, (), frozenset()).found
    manager = keeper_of(replace(one, roots=(*one.roots, *other.roots)), table, ())
    assert manager is not None
    assert not manager.is_run
    assert [command[-1] for command in manager.commands] == ["a.service", "b.service"]
    free = replace(other.roots[0], cgroup="/user.slice")
    assert keeper_of(replace(one, roots=(free, *one.roots)), table, ()) is not None
    gone = (answer(ManagerKind.UNIT, "a.service", is_known=False),)
    assert keeper_of(replace(one, roots=(free, *one.roots)), table, gone) is None


# -- everybody is root -------------------------------------------------------------------------


@pytest.mark.parametrize("is_leftover", [True, False])
def test_another_living_login_of_the_same_address_is_not_mine(is_leftover: bool) -> None:
    box = as_root()
    box.add(290, "-bash", comm="bash", parent=50, hints=SAME, login_session=9)
    name = ("sglang::scheduler_TP0",) if is_leftover else ("python", "train.py")
    box.add(300, *name, memory={0: GIB}, hints=SAME, login_session=9)
    plan = box.plan()
    (family,) = plan.families
    assert family.belongs is Belongs.OTHER_SESSION
    assert Consent.SESSION in family.needs
    assert not runs_at_once(plan)
    assert pids_of(plan, YES) == set()
    # Once nobody is in it any more, the same address is the same person.
    del box.processes[290]
    assert Consent.SESSION not in box.only().needs


def test_my_own_session_is_mine_whatever_its_address_says() -> None:
    box = as_root()
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB}, hints=THEIRS, login_session=3)
    assert box.only().belongs is Belongs.MINE


def test_my_tmux_server_is_mine_though_it_was_started_in_another_login() -> None:
    box = as_root()
    tmux = {"TMUX": "/tmp/tmux-0/default,80,1"}
    box.add(SHELL, "-bash", comm="bash", parent=50, hints=OURS | tmux, login_session=3)
    box.add(290, "-bash", comm="bash", parent=50, hints=SAME, login_session=9)
    theirs = SAME | {"TMUX": "/tmp/tmux-0/default,80,2"}
    box.add(300, "sglang::scheduler_TP0", memory={0: GIB}, hints=theirs, login_session=9)
    assert box.only().belongs is Belongs.MINE


@pytest.mark.parametrize("door", ["sshd-session", "login", "dropbear"])
def test_below_another_login_without_numbers_is_not_mine(door: str) -> None:
    """Where logins have no numbers, as in many containers, the door itself tells."""
    box = as_root(session=None)
    box.add(290, door, comm=door, parent=50)
    box.add(291, "-bash", comm="bash", parent=290, hints=SAME)
    box.add(300, "python", "train.py", parent=291, memory={0: GIB}, hints=SAME)
    assert Consent.SESSION in box.only().needs
    box.own = (*box.own, 290)
    assert Consent.SESSION not in box.only().needs


@pytest.mark.parametrize(("hints", "is_mine"), [({}, True), (SAME, False)])
def test_in_my_container_the_number_of_its_starter_is_nobodys_login(
    hints: dict[str, str], is_mine: bool
) -> None:
    box = as_root()
    group = f"/system.slice/docker-{CID}.scope"
    for pid in (SHELL, 70):
        box.processes[pid] = replace(box.processes[pid], cgroup=group)
    box.add(290, "bash", "serve.sh", login_session=9, cgroup=group)
    box.add(300, "python", "t.py", memory={0: GIB}, hints=hints, login_session=9, cgroup=group)
    assert (box.only().belongs is Belongs.MINE) is is_mine


def test_the_origin_is_that_of_the_farthest_root() -> None:
    box = as_root()
    rank(box, 300, SAME)
    rank(box, 301, THEIRS)
    table = Table(box.host(), box.scan())
    (family,) = Families(table, (), frozenset()).found
    assert origin_of(family, table).address == "192.0.2.7"
