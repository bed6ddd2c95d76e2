"""What is read after a cleanup, and when it is no zero (E…)."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cleanup.acting import Actor, Play, told
from tests.cleanup.scene import Scene
from tests.fake_driver import FOREVER, MIB, FakeDriver, Instance, Process
from tests.isolation.room import in_a_room
from tests.isolation.stage import FULL, ZERO, Stage


@in_a_room
def test_e01_what_the_driver_reserves_is_no_use_and_a_little_is_no_zero(stage: Stage) -> None:
    scene = Scene(stage)
    stage.write(stage.driver.with_gpu(0, reserved=541_917_184))
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.host["ordered"] is False
    stage.write(stage.driver.with_used(0, 4 * MIB))
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (1, ["UNATTRIBUTED", "CLEANED"]), done.text


@in_a_room
def test_e04_a_driver_that_hangs(stage: Stage) -> None:
    """Nobody is signalled on an old reading, and gpudash ends in its own time."""
    scene = Scene(stage)
    holder = scene.holder(0)
    healthy = stage.driver
    stage.write(stage.driver.with_delay(0, "MemoryInfo*", FOREVER))
    done = scene.clean("--timeout", "4s")
    assert done.code in (4, 5), done.text
    assert done.host["ordered"] is False
    assert done.host["outcome"] == "UNKNOWN"
    assert scene.lives(holder)
    stage.write(healthy)


@in_a_room
def test_e04_a_driver_that_hangs_in_mid_clean(stage: Stage) -> None:
    """The hand needs no driver: the order is carried to its end, and zero is not said."""
    scene = Scene(stage)

    def stays(actor: Actor) -> None:
        actor.hold(0)
        actor.ignore_term()
        actor.rest()

    holder, bystander = scene.actor(stays, group=True), scene.bystander()
    healthy = stage.driver
    running = scene.begin("--yes", "--grace", "1s", "--hold", "400ms", "--timeout", "8s")
    scene.until(lambda: scene.heard(holder, "TERM"))
    stage.write(stage.driver.with_delay(0, "MemoryInfo*", FOREVER))
    done = running.end()
    stage.write(healthy)
    assert done.code in (4, 5), done.text
    assert done.gpu_outcomes == ["UNKNOWN", "UNKNOWN"]
    assert done.fates == {holder: "ended"}
    assert scene.of(holder) == ["TERM", "exit -9"]
    assert scene.lives(bystander)


@in_a_room
def test_e06_a_gpu_that_needs_a_reset(stage: Stage) -> None:
    """Its name is told, nothing is reset, and the other GPU has its own word."""
    scene = Scene(stage)
    scene.command("nvidia-smi", "exit 1")
    stage.write(stage.driver.with_gpu(0, recovery=1))
    holder = scene.holder(1)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (6, ["RESET-REQUIRED", "CLEANED"]), done.text
    assert "reset" in done.host["gpus"][0]["reason"]
    assert done.fates == {holder: "ended"}
    assert not any("reset" in words for words in scene.ran("nvidia-smi"))


@in_a_room
def test_e06_a_gpu_that_is_lost_in_mid_clean(stage: Stage) -> None:
    """It falls off the bus between SIGTERM and the last look: unknown, never clean."""
    scene = Scene(stage)

    def stays(actor: Actor) -> None:
        actor.hold(0, 1)
        actor.ignore_term()
        actor.rest()

    holder = scene.actor(stays, group=True)
    running = scene.begin("--yes", "--grace", "1s", "--hold", "400ms", "--timeout", "20s")
    scene.until(lambda: scene.heard(holder, "TERM"))
    stage.write(stage.driver.lose(0))
    done = running.end()
    assert (done.code, done.gpu_outcomes) == (4, ["UNKNOWN", "CLEANED"]), done.text
    assert scene.of(holder) == ["TERM", "exit -9"]


@in_a_room
def test_e07_who_stands_in_the_way_of_a_reset(stage: Stage) -> None:
    """A reset is refused by whoever has a handle: the plan lists all of them and ends nobody."""
    scene = Scene(stage)
    stage.write(stage.driver.with_gpu(0, recovery=1))

    def opens(*words: str) -> Play:
        def play(actor: Actor) -> None:
            actor.title(*words)
            actor.open(FULL, ZERO)
            actor.rest()

        return play

    daemon = scene.actor(opens("/usr/bin/nvidia-persistenced"), session=True)
    monitor = scene.actor(opens("nvtop"), session=True)
    done = scene.clean("--all-users", "--force")
    assert (done.code, done.gpu_outcomes) == (6, ["RESET-REQUIRED", "CLEANED"]), done.text
    rows = {one["name"]: (one["action"], one["pids"]) for one in done.host["plan"]["kept"]}
    assert rows["nvidia-persistenced"] == ("never", [daemon])
    assert ("watching", [monitor]) in rows.values()
    assert scene.lives(daemon, monitor)


@in_a_room
def test_e08_slices_of_a_gpu(stage: Stage) -> None:
    """Memory and process are an instance's; who holds it goes, the instances stay."""
    scene = Scene(stage)
    scene.device_map = "1:7=0,1:5=1,1:9=other"
    scene.command("nvidia-smi", "exit 1")
    stage.write(sliced(stage.driver, 0, None))

    def play(actor: Actor) -> None:
        actor.open(FULL, "/dev/urandom")
        actor.rest()

    holder = scene.actor(play, group=True)
    stage.write(sliced(stage.driver, 5000 * MIB, holder))
    running = scene.begin("--yes", "--grace", "1s", "--hold", "400ms")
    scene.until(lambda: scene.heard(holder, "exit -15"))
    stage.write(sliced(stage.driver, 0, None))
    done = running.end()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.fates == {holder: "ended"}
    assert done.planned[holder]["used_bytes"] == 5000 * MIB
    assert scene.ran("nvidia-smi") == []


def sliced(driver: FakeDriver, used: int, pid: int | None) -> FakeDriver:
    """Return a driver whose GPU 0 has two instances, the first of which a process holds."""
    instances = (
        Instance(1, 0, "MIG-00000000-0000-0000-0000-000000000001", used=used),
        Instance(2, 0, "MIG-00000000-0000-0000-0000-000000000002"),
    )
    processes = () if pid is None else (Process(pid, used, gi=1, ci=0),)
    return driver.with_gpu(0, mig=(1, 1), instances=instances, used=used, processes=processes)


@in_a_room
def test_e09_a_kill_is_on_record_for_who_reads_the_kernel_log(stage: Stage) -> None:
    """The driver logs Xid 45 for a killed pid: the record has each kill's pid and time, by which
    such a line is known as expected. gpudash reads no kernel log itself."""
    scene = Scene(stage)
    scene.command("dmesg", "echo 'NVRM: Xid (PCI:0000:19:00): 45, pid=3'")
    holder = scene.holder(0)
    done = scene.clean("--force")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    record = stage.gpudash("explain", "--format", "jsonl").stdout
    lines = [json.loads(line) for line in record.splitlines()]
    (kill,) = [line for line in lines if line["kind"] == "signal"]
    assert (kill["pid"], kill["signal"]) == (holder, "KILL")
    assert kill["utc"]
    assert scene.ran("dmesg") == []


@in_a_room
def test_e10_clear_now_and_busy_soon(stage: Stage) -> None:
    """It is started again while zero is held, and takes the GPU later still."""
    scene = Scene(stage)

    def server(actor: Actor) -> None:
        actor.title("python", "serve.py")
        again = any(word == "TERM" for _, word in told(actor.folder))
        actor.up()
        if again:
            actor.until((actor.folder / "open").exists)
        actor.hold(0)
        actor.rest()

    def loop(actor: Actor) -> None:
        actor.title("bash", "run.sh")
        child = actor.fork(server, "server")
        actor.up()
        actor.wait(child)
        actor.fork(server, "server")
        actor.rest()

    shell = scene.actor(loop, session=True)
    first = scene.pid("server")
    running = scene.begin("--yes", "--grace", "1s", "--hold", "4s")
    scene.until(lambda: len(scene.pids("server")) == 2)
    (stage.folder / "open").touch()
    done = running.end()
    second = scene.pid("server")
    assert (done.code, done.gpu_outcomes) == (1, ["RESPAWNING", "CLEANED"]), done.text
    assert f"pid {second}: pid {shell} (bash) starts it" in done.host["gpus"][0]["reason"]
    assert scene.of(first) == ["TERM", "exit -15"]
    assert scene.lives(second)


@in_a_room
def test_e12_a_session_of_the_driver_is_open_all_the_while(stage: Stage) -> None:
    """With persistence off the driver is torn down with its last client, and its start may fail
    (Xid 119): while the last holder ends, the sampler has the library open."""
    scene = Scene(stage)
    stage.write(stage.driver.with_gpu(0, persistence=0).with_gpu(1, persistence=0))

    def holds(actor: Actor) -> None:
        actor.hold(0, 1)

        def end(actor: Actor) -> None:
            for folder in Path("/proc").glob("[0-9]*"):
                if "libnvidia-ml" in (folder / "maps").read_text():
                    actor.log("sampler is open")
            actor.end()

        actor.on_term(end)
        actor.rest()

    holder = scene.actor(holds, group=True)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert "sampler is open" in scene.of(holder)


@in_a_room
def test_e13_each_gpu_has_its_own_word(stage: Stage) -> None:
    """Seven clear and one held: neither hides the other."""
    scene = Scene(stage, gpus=8)
    stage.write(stage.driver.with_used(5, 69 << 30))
    holder = scene.holder(0, 1, 2)
    done = scene.clean()
    words = ["CLEANED"] * 5 + ["UNATTRIBUTED"] + ["CLEANED"] * 2
    assert (done.code, done.gpu_outcomes) == (1, words), done.text
    assert done.fates == {holder: "ended"}
    assert done.host["outcome"] == "UNATTRIBUTED"


@in_a_room
def test_e14_a_gpu_that_was_passed_to_a_machine(stage: Stage) -> None:
    """The driver has it no more: out of scope, neither clean nor failed, and qemu is nobody's."""
    scene = Scene(stage)
    stage.write(stage.driver.vanish(1))

    def machine(actor: Actor) -> None:
        actor.title("/usr/bin/qemu-system-x86_64", "-device", "vfio-pci,host=2a:00.0")
        actor.rest()

    qemu, holder = scene.actor(machine, session=True), scene.holder(0)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED"]), done.text
    assert done.fates == {holder: "ended"}
    assert scene.refused("--yes", "--gpu", "1") == 2
    assert scene.lives(qemu)
