"""What practice adds to the cases: scripts, timers, logins, odd names, drivers that say less."""

from __future__ import annotations

import os
import signal
import time

import pytest

from gpudash.probe.carrier import MOST_ASKERS, Busy, take_lock
from tests.cleanup.acting import Actor, Play
from tests.cleanup.scene import Scene
from tests.fake_driver import MIB, Process
from tests.isolation.room import in_a_room
from tests.isolation.stage import FULL, GIB, Stage


def server(*words: str) -> Play:
    """Return a server of that command line that holds memory."""

    def play(actor: Actor) -> None:
        actor.title("python", "serve.py", *words)
        actor.hold(0)
        actor.rest()

    return play


@in_a_room
def test_a_loop_that_gives_other_words_each_time(stage: Stage) -> None:
    """`--run-name $(date +%s)`: the same script brings it back."""
    scene = Scene(stage)

    def loop(actor: Actor) -> None:
        actor.title("bash", "run.sh")
        first = actor.fork(server("--run", "1"), "server")
        actor.up()
        actor.wait(first)
        actor.fork(server("--run", "2"), "server")
        actor.rest()

    shell = scene.actor(loop, session=True)
    done = scene.clean("--hold", "3s")
    assert (done.code, done.gpu_outcomes) == (1, ["RESPAWNING", "CLEANED"]), done.text
    assert f"pid {shell} (bash) starts it" in done.host["gpus"][0]["reason"]
    assert scene.lives(scene.pid("server"))


@in_a_room
def test_a_timer_that_starts_another_shell_each_time(stage: Stage) -> None:
    scene = Scene(stage)

    def job(actor: Actor) -> None:
        actor.title("sh", "-c", "python serve.py")
        actor.fork(server(), "server")
        actor.up()
        actor.wait()

    def cron(actor: Actor) -> None:
        actor.title("/usr/sbin/cron", "-f")
        first = actor.fork(job)
        actor.up()
        actor.wait(first)
        actor.fork(job)
        actor.rest()

    daemon = scene.actor(cron, session=True)
    done = scene.clean("--hold", "3s")
    assert (done.code, done.gpu_outcomes) == (1, ["RESPAWNING", "CLEANED"]), done.text
    assert len(scene.pids("server")) == 2
    assert scene.lives(daemon, scene.pid("server"))


@in_a_room
def test_another_login_of_the_same_user(stage: Stage) -> None:
    """Everybody is root: whose it is is told by where its login came from."""
    scene = Scene(stage)
    stage.variables["SSH_CONNECTION"] = "192.0.2.1 50000 192.0.2.9 22"

    def login(address: str, role: str) -> Play:
        def play(actor: Actor) -> None:
            actor.env(SSH_CONNECTION=f"{address} 50000 192.0.2.9 22")
            actor.fork(server(), role)

        return play

    scene.reap(scene.actor(login("192.0.2.7", "theirs"), session=True))
    scene.reap(scene.actor(login("192.0.2.1", "mine"), session=True))
    theirs, mine = scene.pid("theirs"), scene.pid("mine")
    done = scene.clean()
    assert (done.code, done.fates) == (1, {mine: "ended"}), done.text
    assert done.planned[theirs]["belongs"] == "another session's"
    assert "192.0.2.7" in done.planned[theirs]["origin"]
    assert scene.lives(theirs)
    named = scene.clean("--pid", str(theirs))
    assert (named.code, named.fates) == (0, {theirs: "ended"}), named.text


@in_a_room
def test_a_name_that_would_write_on_the_terminal(stage: Stage) -> None:
    scene = Scene(stage)

    def play(actor: Actor) -> None:
        actor.title("\x1b[31mevil\x07", "\u202ecod.exe", name="e\x1b[1m")
        actor.hold(0)
        actor.rest()

    scene.actor(play, group=True)
    for words in (("--dry-run",), ("--yes", "--hold", "300ms")):
        done = stage.gpudash("clean", *words)
        said = (done.stdout + done.stderr).decode()
        assert not set("\x1b\x07\u202e") & set(said), said


@in_a_room
def test_a_driver_that_does_not_say_how_much_each_has(stage: Stage) -> None:
    """As in a virtual machine: listed, and its memory is not told."""
    scene = Scene(stage)

    def play(actor: Actor) -> None:
        actor.open(FULL)
        actor.rest()

    holder, bystander = scene.actor(play, group=True), scene.bystander()
    idle = stage.driver
    stage.write(idle.with_process(0, Process(holder, None)).with_used(0, GIB))
    running = scene.begin("--yes", "--grace", "1s", "--hold", "400ms")
    scene.until(lambda: scene.heard(holder, "exit -15"))
    stage.write(idle)
    done = running.end()
    assert (done.code, done.fates) == (0, {holder: "ended"}), done.text
    assert done.planned[holder]["used_bytes"] is None
    assert scene.lives(bystander)


@in_a_room
def test_a_monitor_by_name_that_holds_memory_is_a_tenant(stage: Stage) -> None:
    """A name makes nobody an observer who holds memory."""
    scene = Scene(stage)

    def play(actor: Actor) -> None:
        actor.title("nvtop")
        actor.hold(0, used=300 * MIB)
        actor.rest()

    holder = scene.actor(play, group=True)
    done = scene.clean()
    assert (done.code, done.fates) == (0, {holder: "ended"}), done.text


@in_a_room
def test_a_hundred_loaders(stage: Stage) -> None:
    """126 loaders of cancelled jobs pinned seven GPUs: all of them, and nobody else."""
    scene = Scene(stage)

    def loader(actor: Actor) -> None:
        actor.name("pt_data_worker")
        actor.rest()

    def rank(gpu: int) -> Play:
        def play(actor: Actor) -> None:
            actor.title("python", "-u", "train.py", "--local-rank=0")
            actor.hold(gpu)
            for _ in range(50):
                actor.fork(loader, "loader")
            actor.rest()

        return play

    ranks = [scene.actor(rank(gpu), group=True) for gpu in (0, 1)]
    bystander = scene.bystander()
    for pid in ranks:
        os.kill(pid, signal.SIGKILL)
    scene.reap(*ranks)
    done = scene.clean("--leftovers")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert set(done.fates) == set(scene.pids("loader"))
    assert scene.lives(bystander)


@in_a_room
def test_root_and_workers_in_a_debug_build_of_ones_own(stage: Stage) -> None:
    """A launcher that nothing is known of: its whole tree goes, its sibling stays."""
    scene = Scene(stage)

    def worker(actor: Actor) -> None:
        actor.title("./worker")
        actor.hold(0)
        actor.rest()

    def launcher(actor: Actor) -> None:
        actor.title("./my-launcher")
        actor.fork(worker, "worker", session=True)
        actor.fork(worker, "worker")
        actor.rest()

    def shell(actor: Actor) -> None:
        actor.title("bash")
        actor.fork(launcher, "launcher")
        actor.fork(lambda actor: actor.rest(), "sibling")
        actor.rest()

    login = scene.actor(shell, session=True)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert scene.died(scene.pid("launcher"), *scene.pids("worker"))
    assert scene.lives(login, scene.pid("sibling"))


@in_a_room
def test_a_rank_that_a_person_started_on_each_node(stage: Stage) -> None:
    """`RANK=0 LOCAL_RANK=0 WORLD_SIZE=2 nohup python train.py &`: detached, and no leftover."""
    scene = Scene(stage)

    def rank(actor: Actor) -> None:
        os.setpgid(0, 0)
        actor.title("python", "train.py")
        actor.env(RANK="0", LOCAL_RANK="0", WORLD_SIZE="2", MASTER_ADDR="192.0.2.1")
        actor.hold(0)
        actor.rest()

    def login(actor: Actor) -> None:
        actor.fork(rank, "rank")

    scene.reap(scene.actor(login, session=True))
    rank_pid = scene.pid("rank")
    done = scene.clean("--leftovers")
    assert (done.code, done.gpu_outcomes) == (1, ["HELD", "CLEANED"]), done.text
    assert done.planned[rank_pid]["life"] == "detached"
    assert scene.lives(rank_pid)


@in_a_room
def test_a_data_set_in_shared_memory(stage: Stage) -> None:
    """Put there by somebody before the job that reads it: no segment of that job."""
    scene = Scene(stage)
    data, segment = (stage.mount_shm() / name for name in ("images.npy", "scratch"))
    data.write_bytes(b"x" * 4096)
    made_s = data.stat().st_ctime
    scene.until(lambda: time.time() > made_s + 0.5)

    def reads(actor: Actor) -> None:
        segment.write_bytes(b"x" * 4096)
        for path in (data, segment):
            actor.open(str(path))
        actor.hold(0)
        actor.rest()

    scene.actor(reads, group=True)
    done = scene.clean("--shm")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    rows = {row["name"]: row for row in done.host["leftovers"]["segments"]}
    assert rows[data.name]["why_kept"] == "it was there before the family"
    assert (data.exists(), segment.exists()) == (True, False)


@in_a_room
def test_many_cleaners_ask_for_the_lock(stage: Stage) -> None:
    """However many were refused before, the next one is told who is at work, at once."""
    scene = Scene(stage)

    def stays(actor: Actor) -> None:
        actor.hold(0)
        actor.ignore_term()
        actor.rest()

    holder = scene.actor(stays, group=True)
    first = scene.begin("--yes", "--grace", "60s")
    scene.until(lambda: scene.heard(holder, "TERM"))
    for _ in range(2 * MOST_ASKERS):
        with pytest.raises(Busy, match="locked by pid"):
            take_lock()
    second = scene.clean()
    assert second.code == 2, second.text
    assert second.host["refused"].startswith("locked by pid ")
    first.process.send_signal(signal.SIGINT)
    assert first.end().code == 130
    assert scene.of(holder) == ["TERM"]


@in_a_room
def test_a_queue_that_starts_the_next_job(stage: Stage) -> None:
    """`xargs -n1 python serve.py`: each job has other words; what feeds them is named."""
    scene = Scene(stage)

    def feeds(actor: Actor) -> None:
        actor.title("xargs", "-n1", "python", "serve.py")
        first = actor.fork(server("1"), "server")
        actor.up()
        actor.wait(first)
        actor.fork(server("2"), "server")
        actor.rest()

    queue = scene.actor(feeds, session=True)
    done = scene.clean("--hold", "3s")
    assert (done.code, done.gpu_outcomes) == (1, ["RESPAWNING", "CLEANED"]), done.text
    assert f"pid {queue} (xargs) starts it" in done.host["gpus"][0]["reason"]
    assert scene.lives(queue, scene.pid("server"))
