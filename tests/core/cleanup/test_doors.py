"""Doors and rooms are no managers, and whoever stands in one is nobody's root."""

from __future__ import annotations

import pytest

from gpudash.core.cleanup.doors import is_host_unit
from gpudash.core.cleanup.plan import Action, Consent
from gpudash.core.holding import ManagerKind
from tests.core.cleanup.making import GIB, Box, answer

DOORS = """
ssh sshd sshd@7-192.0.2.1:22-192.0.2.7:4711 tailscaled teleport dropbear xrdp xrdp-sesman cron crond
atd gitlab-runner actions.runner.acme-box.box1 jenkins buildkite-agent k3s k3s-agent rke2-server lxc
lxc@box lxd snap.lxd.daemon incus libvirtd virtqemud docker containerd kubelet slurmd condor pbs
user@1000 user-runtime-dir@1000 systemd-nspawn@box getty@tty1 tmux screen vncserver@:1 jupyterhub
code-server@ana rstudio-server amazon-ssm-agent cockpit dbus display-manager gdm gdm3 gdm init
""".split()  # noqa: SIM905
PROGRAMS = """
ollama vllm@7 sglang train tritonserver llama-server comfyui docker-compose-ai
my-sshd-tunnel k3s-llm text-generation lxcserve cronjob-train atdata ray supervisor
""".split()  # noqa: SIM905


@pytest.mark.parametrize("name", DOORS)
def test_a_door_is_never_stopped(name: str) -> None:
    """What came in through it is judged as if there was no unit, or is protected with it."""
    assert is_host_unit(f"{name}.service")
    box = Box()
    box.add(300, "python", "train.py", memory={0: GIB}, cgroup=f"/system.slice/{name}.service")
    plan = box.plan(answer(ManagerKind.UNIT, f"{name}.service"))
    assert len(plan.families) + len(plan.kept) == 1
    for family in plan.families:
        assert family.manager is None
        assert Consent.MANAGED not in family.needs


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_its_own_is_stopped_by_its_manager(name: str) -> None:
    assert not is_host_unit(f"{name}.service")
    box = Box()
    box.add(300, "python", "train.py", memory={0: GIB}, cgroup=f"/system.slice/{name}.service")
    family = box.only(answer(ManagerKind.UNIT, f"{name}.service"))
    assert family.manager is not None
    assert family.manager.commands == (("systemctl", "stop", f"{name}.service"),)
    assert Consent.MANAGED in family.needs


def test_a_unit_within_a_room_is_the_program() -> None:
    box = Box()
    group = "/system.slice/user@1000.service/app.slice/train.service"
    box.add(300, "python", "train.py", memory={0: GIB}, cgroup=group)
    family = box.only(answer(ManagerKind.USER_UNIT, "train.service"))
    assert family.manager is not None
    assert family.manager.id == "train.service"


@pytest.mark.parametrize(
    "door",
    [
        *("tailscaled", "teleport", "dropbear", "amazon-ssm-agent", "ssm-session-worker"),
        *("xrdp-sesman", "gitlab-runner", "Runner.Worker", "buildkite-agent", "k3s", "libvirtd"),
    ],
)
def test_what_stands_in_a_door_is_no_root(door: str) -> None:
    """`ssh host python x` has no shell between: the daemon is right above, of the same user."""
    box = Box(uid=0)
    box.add(290, door, uid=0, login_session=None)
    box.add(300, "python", "train.py", parent=290, memory={0: GIB})
    family = box.only()
    assert family.pids == (300,)
    assert family.action is Action.ASK


@pytest.mark.parametrize("door", ["tailscaled", "teleport", "gitlab-runner", "k3s"])
def test_a_door_that_holds_memory_is_protected(door: str) -> None:
    box = Box(uid=0)
    box.add(290, door, uid=0, memory={0: GIB})
    plan = box.plan()
    assert plan.families == ()
    assert [one.action for one in plan.kept] == [Action.NEVER]
