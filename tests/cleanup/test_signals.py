"""Signals: to whom, when, how often, and what comes after them (D…)."""

from __future__ import annotations

import os
import signal
import socket
import time
from pathlib import Path

from tests.cleanup.acting import Actor, Play
from tests.cleanup.scene import Scene
from tests.cleanup.sleeping import frozen_disk, vforked
from tests.cli.running import is_running
from tests.fake_driver import MIB
from tests.isolation.room import in_a_room
from tests.isolation.stage import FULL, GIB, OTHER_UID, Stage


@in_a_room
def test_d01_asleep_in_the_kernel(stage: Stage) -> None:
    """SIGKILL waits behind a frozen disk: STUCK, no further signal, the other GPU is its own."""
    scene = Scene(stage)
    with frozen_disk(stage.folder) as frozen:

        def writes(actor: Actor) -> None:
            actor.hold(0)
            actor.up()
            handle = os.open(frozen.folder / "file", os.O_WRONLY)
            os.write(handle, b"x")
            actor.rest()

        stuck = scene.actor(writes, group=True)
        scene.until(lambda: _state(stuck) == "D")
        other, bystander = scene.holder(1), scene.bystander()
        done = scene.clean("--grace", "300ms", "--timeout", "8s")
        assert (done.code, done.gpu_outcomes) == (6, ["STUCK", "CLEANED"]), done.text
        assert done.fates == {stuck: "stuck", other: "ended"}
        assert f"pid {stuck} can't be killed" in done.host["gpus"][0]["reason"]
        assert is_running(stuck)
        assert scene.lives(bystander)
    scene.until(lambda: scene.died(stuck))
    assert scene.of(stuck) == ["exit -9"]


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


@in_a_room
def test_d02_a_moment_in_state_d(stage: Stage) -> None:
    """Who waits for a vfork is asleep in the kernel and dies at once by SIGKILL: not stuck."""
    scene = Scene(stage)
    program = vforked(stage.folder)

    def waits(actor: Actor) -> None:
        handle = actor.hold(0, opens=False)
        device = os.open(FULL, os.O_RDWR)
        for one in (handle, device):
            os.set_inheritable(one, True)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        actor.up()
        os.execv(program, [str(program)])

    sleeper = scene.actor(waits, group=True)
    scene.until(lambda: _state(sleeper) == "D")
    done = scene.clean("--grace", "300ms")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.planned[sleeper]["state"] == "D"
    assert done.fates[sleeper] == "ended"
    assert scene.of(sleeper) == ["exit -9"]


@in_a_room
def test_d03_a_suspended_program(stage: Stage) -> None:
    """SIGTERM, then SIGCONT, so that its handler runs; the plan says that it is suspended."""
    scene = Scene(stage)

    def saves(actor: Actor) -> None:
        actor.hold(0)

        def end(actor: Actor) -> None:
            actor.log("saved")
            actor.end()

        actor.on_term(end)
        actor.rest()

    stopped = scene.actor(saves, group=True)
    os.kill(stopped, signal.SIGSTOP)
    scene.until(lambda: _state(stopped) == "T")
    leftovers = scene.clean("--leftovers")
    assert leftovers.code == 1, "nobody's leftover: it waits for its user"
    assert is_running(stopped)
    done = scene.clean("--grace", "20s")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.planned[stopped]["state"] == "suspended"
    assert set(scene.of(stopped)) - {"CONT"} == {"TERM", "saved", "exit 0"}


@in_a_room
def test_d03_a_debugged_program(stage: Stage) -> None:
    """Somebody debugs it: the plan names who, and it is no leftover."""
    scene = Scene(stage)
    holder = scene.holder(0)

    def debugs(actor: Actor) -> None:
        assert _trace(PTRACE_SEIZE, holder) == 0
        assert _trace(PTRACE_INTERRUPT, holder) == 0
        os.waitpid(holder, WALL)
        actor.rest()

    debugger = scene.actor(debugs, group=True)
    plan = scene.plan()
    family = plan.planned[holder]
    assert family["state"] == "suspended"
    assert "key" in family["needs"]
    assert f"pid {debugger} debugs it" in family["why"]
    assert scene.lives(debugger)


PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000


def _trace(request: int, pid: int) -> int:
    import ctypes

    call = ctypes.CDLL(None, use_errno=True).ptrace
    call.restype = ctypes.c_long
    return int(call(ctypes.c_long(request), ctypes.c_long(pid), None, None))


@in_a_room
def test_d04_sglang_drains_its_requests(stage: Stage) -> None:
    """Idle it gets 3 s, with a client 25; who waits for requests for ever is killed."""
    scene = Scene(stage)

    def scheduler(actor: Actor) -> None:
        actor.title("sglang::scheduler_TP0")
        actor.hold(0)
        actor.rest()

    def server(actor: Actor) -> None:
        actor.title("python", "-m", "sglang.launch_server", "--port", "30000")
        listener = socket.create_server(("127.0.0.1", 0))
        actor.fork(scheduler, "scheduler")
        (actor.folder / "port").write_text(str(listener.getsockname()[1]))
        actor.ignore_term()
        actor.rest()

    root = scene.actor(server, group=True)
    assert scene.plan().planned[root]["grace_s"] == 3.0
    port = int((stage.folder / "port").read_text())
    with socket.create_connection(("127.0.0.1", port)):
        done = scene.clean("--grace", "400ms")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.planned[root]["clients"] == 1
    assert any("1 client connected" in why for why in done.planned[root]["why"])
    assert scene.of(root) == ["TERM", "exit -9"]
    assert scene.of(scene.pid("scheduler")) == ["exit -9"], "the members were not asked"


@in_a_room
def test_d04_sglang_of_a_further_node(stage: Stage) -> None:
    """It logs SIGTERM and never ends by it: no grace is spent on it."""
    scene = Scene(stage)

    def server(actor: Actor) -> None:
        actor.title("python", "-m", "sglang.launch_server", "--node-rank", "1")
        actor.hold(0)
        actor.ignore_term()
        actor.rest()

    root = scene.actor(server, group=True)
    done = scene.begin("--yes", "--hold", "400ms").end()
    assert (done.code, done.planned[root]["grace_s"]) == (0, 0.0), done.text
    assert scene.of(root) == ["exit -9"]


def _waits(scene: Scene) -> int:
    """Return how often the hand said so far that it waits: twice a second, once somebody was asked.

    Whatever it would do to who is slow, it has had the time for by the second one.
    """
    return sum(
        '"kind":"waiting"' in line.replace(" ", "")
        for record in scene.folder.glob("home-*/.local/state/gpudash/records/*.jsonl")
        for line in record.read_text().splitlines()
    )


@in_a_room
def test_d06_nobody_is_asked_twice(stage: Stage) -> None:
    """After the first SIGTERM the default action is back: a second one would leak the workers."""
    scene = Scene(stage)

    def worker(actor: Actor) -> None:
        actor.title("VLLM::Worker_TP0")
        actor.hold(0)
        actor.rest()

    def engine(actor: Actor) -> None:
        actor.title("VLLM::EngineCore")
        child = actor.fork(worker, "worker")

        def end(actor: Actor) -> None:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            actor.until(lambda: _waits(scene) >= 2)
            os.kill(child, signal.SIGINT)
            actor.wait(child)
            actor.end()

        actor.on_term(end)
        actor.rest()

    root, bystander = scene.actor(engine, group=True), scene.bystander()
    done = scene.clean("--grace", "20s")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert scene.of(root) == ["TERM", "exit 0"]
    assert scene.of(scene.pid("worker")) == ["INT", "exit -2"]
    assert scene.lives(bystander)


@in_a_room
def test_d07_our_deadline_is_longer_than_its_own(stage: Stage) -> None:
    """The inner timers end the workers; ours, which the plan shows, comes after all of them."""
    scene = Scene(stage)

    def worker(actor: Actor) -> None:
        actor.title("VLLM::Worker_TP0")
        actor.hold(0)
        actor.ignore_term()
        actor.rest()

    def server(actor: Actor) -> None:
        actor.title("python", "/opt/env/bin/vllm", "serve", "m", "--shutdown-timeout", "1")
        child = actor.fork(worker, "worker")

        def end(actor: Actor) -> None:
            os.kill(child, signal.SIGTERM)
            actor.until(lambda: _waits(scene) >= 2)
            os.kill(child, signal.SIGKILL)
            actor.wait(child)
            actor.end()

        actor.on_term(end)
        actor.rest()

    root = scene.actor(server, group=True)
    done = scene.begin("--yes", "--hold", "400ms").end()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.planned[root]["grace_s"] == 6.0
    assert scene.of(root) == ["TERM", "exit 0"], "it was not killed"


@in_a_room
def test_d08_memory_that_comes_back_slowly(stage: Stage) -> None:
    """It falls while nobody is there any more: waited for, killed once, never stuck."""
    scene = Scene(stage)
    holder = scene.actor(_draining(4, 0.6), group=True)
    done = scene.clean("--grace", "300ms")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.fates == {holder: "ended"}
    assert done.planned[holder]["host_bytes"] > 0
    assert scene.of(holder) == ["TERM", "exit -9"]
    assert done.host["times"]["first_zero_s"] >= done.host["times"]["last_exit_s"]


@in_a_room
def test_d09_memory_that_a_kernel_thread_gives_back(stage: Stage) -> None:
    """2 GiB stay for 1.5 s after the last holder is gone: that is no unattributed memory."""
    scene = Scene(stage)
    holder = scene.actor(_draining(1, 1.5, used=2 * GIB), group=True)
    done = scene.clean("--force")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert scene.of(holder) == ["exit -9"]


def _draining(steps: int, seconds: float, used: int = GIB) -> Play:
    """Return a holder whose memory comes back in steps after its end.

    A process without any device, out of its family, has its handles as the driver's kernel thread
    has: it waits for the holder's end.
    """

    def play(actor: Actor) -> None:
        handles = [actor.hold(0, opens=False, used=used // steps) for _ in range(steps)]
        holder = os.getpid()

        def driver(actor: Actor) -> None:
            actor.title("nv_queue")
            actor.up()
            actor.until(lambda: not is_running(holder))
            for handle in handles:
                time.sleep(seconds)
                os.close(handle)
            actor.end()

        def between(actor: Actor) -> None:
            actor.fork(driver, "driver", session=True)

        actor.fork(between)
        actor.wait()
        for handle in handles:
            os.close(handle)
        actor.open(FULL)
        actor.ignore_term()
        actor.rest()

    return play


@in_a_room
def test_d11_a_pid_that_was_used_again(stage: Stage) -> None:
    """The holder ends while its plan is on the screen, and a bystander gets its pid."""
    scene = Scene(stage)
    holder = scene.holder(0)
    with scene.terminal("--hold", "400ms") as running:
        running.read_until("Carry this out?")
        os.kill(holder, signal.SIGKILL)
        scene.reap(holder)
        bystander = scene.born_as(holder, lambda actor: actor.rest())
        assert bystander == holder
        done = running.answer("y\n")
    assert done.code == 0, done.text
    assert scene.of(bystander) == ["exit -9"], "the holder's own end, and nothing after it"
    assert is_running(bystander)


@in_a_room
def test_d13_another_users_process(stage: Stage) -> None:
    """Seen through the driver alone; named with its user, and not touched, asked for or not."""
    scene = Scene(stage)
    holder = scene.holder(0)
    done = scene.clean(uid=OTHER_UID)
    assert (done.code, done.gpu_outcomes) == (1, ["FOREIGN", "CLEANED"]), done.text
    assert done.planned[holder]["user"] == "root"
    assert "name" in done.planned[holder]["needs"]
    assert done.host["plan"]["unreadable"] > 0
    assert done.host["ordered"] is False
    asked = scene.clean("--all-users", uid=OTHER_UID)
    assert asked.code == 1, asked.text
    assert asked.fates[holder] == "refused"
    assert scene.lives(holder)


@in_a_room
def test_d13_root_leaves_other_users_alone(stage: Stage) -> None:
    """Root may, and does not unless another user's work is asked for by name."""
    scene = Scene(stage)

    def theirs(actor: Actor) -> None:
        actor.hold(0)
        actor.become(OTHER_UID)
        actor.rest()

    foreign, mine = scene.actor(theirs, session=True), scene.holder(1)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (1, ["FOREIGN", "CLEANED"]), done.text
    assert done.fates == {mine: "ended"}
    assert scene.lives(foreign)
    named = scene.clean("--user", str(OTHER_UID))
    assert (named.code, named.fates) == (0, {foreign: "ended"}), named.text


@in_a_room
def test_d14_a_process_that_proc_hides(stage: Stage) -> None:
    """The driver knows it, kill finds it alive, and /proc hides it: it is nobody's dead pid."""
    scene = Scene(stage)
    holder = scene.holder(0)
    stage.mount_proc("hidepid=2")
    done = scene.clean("--all-users", uid=OTHER_UID)
    assert (done.code, done.gpu_outcomes) == (1, ["FOREIGN", "CLEANED"]), done.text
    (unseen,) = done.host["plan"]["unseen"]
    assert unseen["words"] == f"pid {holder} is alive for the driver and hidden from this user"
    assert done.host["ordered"] is False
    assert scene.lives(holder)


@in_a_room
def test_d16_pids_that_the_driver_scrambles(stage: Stage) -> None:
    """Its list names innocents, one of them twice: handles alone are believed."""
    scene = Scene(stage)
    innocent = [scene.bystander(), scene.bystander()]

    def holds(actor: Actor) -> None:
        actor.hold(0, listed=innocent[0])
        actor.hold(0, listed=innocent[0], used=MIB, kind="G")
        actor.hold(1, listed=innocent[1])
        actor.rest()

    holder = scene.actor(holds, group=True)
    done = scene.clean()
    assert (done.code, done.fates) == (0, {holder: "ended"}), done.text
    assert any("can't be true" in note for note in done.host["plan"]["notes"])
    assert scene.lives(*innocent)


@in_a_room
def test_d18_orphans_of_a_reaper(stage: Stage) -> None:
    """Orphans go to whoever adopts below pid 1; that one is neither their root nor touched."""
    scene = Scene(stage)

    def worker(actor: Actor) -> None:
        actor.title("VLLM::Worker_TP0")
        actor.hold(0)
        actor.rest()

    def server(actor: Actor) -> None:
        actor.title("python", "serve.py")
        actor.fork(worker, "worker")
        actor.rest()

    def reaper(name: str) -> Play:
        def play(actor: Actor) -> None:
            actor.title(name)
            actor.adopt_orphans()
            child = actor.fork(server, session=True)
            os.kill(child, signal.SIGKILL)
            actor.wait(child)
            actor.rest()

        return play

    reapers = [scene.actor(reaper(name), group=True) for name in ("systemd", "tini")]
    workers = scene.pids("worker")
    done = scene.clean("--leftovers")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.fates == dict.fromkeys(workers, "ended")
    assert scene.lives(*reapers)


@in_a_room
def test_d19_gpudash_is_killed_half_way(stage: Stage) -> None:
    """After SIGTERM and before SIGKILL: the order goes on, a second cleaner is refused meanwhile,
    and the next one fetches what it came to."""
    scene = Scene(stage)

    def saves(actor: Actor) -> None:
        actor.hold(0)

        def end(actor: Actor) -> None:
            actor.until((actor.folder / "saved").exists)
            actor.end()

        actor.on_term(end)
        actor.rest()

    holder, bystander = scene.actor(saves, group=True), scene.bystander()
    first = scene.begin("--yes", "--grace", "100s")
    scene.until(lambda: scene.heard(holder, "TERM"))
    os.kill(first.process.pid, signal.SIGKILL)
    first.process.communicate()
    second = scene.clean()
    assert second.code == 2, second.text
    assert second.host["refused"].startswith("locked by pid ")
    (scene.folder / "saved").touch()
    scene.until(lambda: scene.died(holder))
    third = scene.clean()
    assert (third.code, third.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), third.text
    (before,) = third.host["picked_up"]
    assert [(one["pid"], one["fate"]) for one in before["targets"]] == [(holder, "ended")]
    assert scene.of(holder) == ["TERM", "exit 0"], "one SIGTERM, from the first"
    assert scene.lives(bystander)
