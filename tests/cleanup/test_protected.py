"""Protected: services, desktops, monitors and ourselves, beside a tenant that goes (C…).

The services are stand-ins: processes of the right name, user and control group. No daemon is there.
"""

from __future__ import annotations

import os
import signal

from tests.cleaning.scenes import Cleaned
from tests.cleanup.acting import Actor, Play
from tests.cleanup.scene import Scene, enter
from tests.isolation.room import in_a_room
from tests.isolation.stage import FULL, OTHER_UID, ZERO, Stage


def kept(done: Cleaned, action: str = "never") -> dict[str, list[int]]:
    """Return pids by name of what the plan keeps."""
    found: dict[str, list[int]] = {}
    for one in done.host["plan"]["kept"]:
        if one["action"] == action:
            found.setdefault(one["name"], []).extend(one["pids"])
    return found


def service(name: str, *, uid: int | None = None, argv: str = "") -> Play:
    """Return a service that has both GPUs open and holds nothing."""

    def play(actor: Actor) -> None:
        actor.title(argv or f"/usr/bin/{name}", name=name)
        actor.open(FULL, ZERO)
        if uid is not None:
            actor.become(uid)
        actor.rest()

    return play


@in_a_room
def test_c01_the_fabric_manager(stage: Stage) -> None:
    """Known by its unit and by its cut name; zero is proven beside it."""
    scene = Scene(stage)
    group = scene.cgroup("/system.slice/nvidia-fabricmanager.service")

    def by_unit(actor: Actor) -> None:
        enter(group)
        service("fm-child")(actor)

    by_name = scene.actor(service("nv-fabricmanager"), session=True)
    in_unit = scene.actor(by_unit, session=True)
    tenant = scene.holder(0, 1)
    done = scene.clean("--all-users", "--managed", "--force")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.fates == {tenant: "ended"}
    assert kept(done) == {"nv-fabricmanager": sorted([by_name, in_unit])}
    assert scene.of(tenant) == ["exit -9"]
    assert scene.lives(by_name, in_unit)


@in_a_room
def test_c02_the_persistence_daemon(stage: Stage) -> None:
    """Of a user of its own, which --all-users does not give up."""
    scene = Scene(stage)
    daemon = scene.actor(service("nvidia-persistenced", uid=143), session=True)
    tenant = scene.holder(1)
    done = scene.clean("--all-users")
    assert (done.code, done.fates) == (0, {tenant: "ended"}), done.text
    assert kept(done) == {"nvidia-persistenced": [daemon]}
    assert scene.refused("--yes", "--all-users", "--pid", str(daemon)) == 2
    assert scene.lives(daemon)


@in_a_room
def test_c04_a_desktop(stage: Stage) -> None:
    """What only draws is protected: its memory stays, and nobody calls that zero."""
    scene = Scene(stage)

    def draws(name: str, used: int) -> Play:
        def play(actor: Actor) -> None:
            actor.title(f"/usr/bin/{name}")
            actor.hold(0, kind="G", used=used << 20)
            actor.rest()

        return play

    screen = [
        scene.actor(draws("Xorg", 207), session=True),
        scene.actor(draws("gnome-shell", 164), session=True),
        scene.actor(draws("firefox", 64), session=True),
    ]
    tenant = scene.holder(0, 1)
    done = scene.clean("--all-users")
    assert (done.code, done.gpu_outcomes) == (1, ["PROTECTED", "CLEANED"]), done.text
    assert done.fates == {tenant: "ended"}
    assert "435 MiB" in done.host["gpus"][0]["reason"]
    assert sorted(pid for pids in kept(done).values() for pid in pids) == sorted(screen)
    assert scene.lives(*screen)


@in_a_room
def test_c05_mps(stage: Stage) -> None:
    """Clients go; daemon and server stay, and what the server holds is told."""
    scene = Scene(stage)

    def server(actor: Actor) -> None:
        actor.title("/usr/bin/nvidia-cuda-mps-server", name="nvidia-cuda-mps-server")
        actor.hold(0, used=30 << 20)
        actor.rest()

    def control(actor: Actor) -> None:
        actor.title("/usr/bin/nvidia-cuda-mps-control", "-d", name="nvidia-cuda-mps-control")
        actor.fork(server, "server")
        actor.rest()

    def client(actor: Actor) -> None:
        actor.hold(0, kind="CM")
        actor.rest()

    daemon = scene.actor(control, session=True)
    clients = [scene.actor(client, group=True) for _ in range(2)]
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (1, ["PROTECTED", "CLEANED"]), done.text
    assert done.fates == dict.fromkeys(clients, "ended")
    assert kept(done) == {"nvidia-cuda-mps": [scene.pid("server")]}
    assert scene.lives(daemon, scene.pid("server"))


@in_a_room
def test_c06_agents_of_the_cluster(stage: Stage) -> None:
    scene = Scene(stage)
    names = (
        *("nvidia-imex", "nvidia-powerd", "nvidia-device-plugin", "nvidia-mig-manager"),
        *("gpu-feature-discovery", "nv-hostengine", "dcgm-exporter"),
    )
    agents = [scene.actor(service(name), session=True) for name in names]
    tenant = scene.holder(0)
    done = scene.clean("--all-users", "--force")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.fates == {tenant: "ended"}
    assert sorted(pid for pids in kept(done).values() for pid in pids) == sorted(agents)
    assert scene.lives(*agents)


@in_a_room
def test_c07_ourselves_and_whoever_started_us(stage: Stage) -> None:
    """The scene started gpudash, and has a GPU open itself: neither name nor handle dooms it."""
    scene = Scene(stage)
    tenant = scene.holder(0)
    heard: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    handle = os.open(FULL, os.O_RDWR)
    done = scene.clean("--all-users", "--force")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.fates == {tenant: "ended"}
    assert os.getpid() in kept(done)["own"]
    assert scene.refused("--yes", "--pid", str(os.getpid())) == 2, "nobody can ask for it"
    os.close(handle)
    assert heard == []


@in_a_room
def test_c10_a_monitor_of_somebody_else(stage: Stage) -> None:
    scene = Scene(stage)
    scene.device_map = "1:7=0,1:5=1,1:8=control"

    def monitor(actor: Actor) -> None:
        actor.title("python", "/usr/bin/nvitop", "-m", name="nvitop")
        actor.open("/dev/random", FULL, ZERO)
        actor.become(OTHER_UID)
        actor.rest()

    watcher, tenant = scene.actor(monitor, session=True), scene.holder(1)
    done = scene.clean("--all-users", "--force")
    assert (done.code, done.fates) == (0, {tenant: "ended"}), done.text
    assert kept(done, "watching") == {"nvitop": [watcher]}
    assert scene.lives(watcher)
