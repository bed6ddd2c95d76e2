"""Holders: who keeps memory, and who ends with whom (A… of cleanup.jsonl)."""

from __future__ import annotations

import os
import signal
import socket

from tests.cleanup.acting import Actor, Play
from tests.cleanup.scene import Scene
from tests.fake_driver import MIB, Process
from tests.isolation.room import in_a_room
from tests.isolation.stage import FULL, GIB, Stage


@in_a_room
def test_a02_workers_orphaned_in_warm_up(stage: Stage) -> None:
    """The engine dies by SIGTERM before it has a handler: its workers are found and ended."""
    scene = Scene(stage)

    def worker(actor: Actor) -> None:
        actor.title("VLLM::Worker_TP0")
        actor.hold(1)
        actor.ignore_term()
        actor.rest()

    def engine(actor: Actor) -> None:
        actor.title("VLLM::EngineCore")
        actor.fork(worker, "worker")
        actor.rest()

    def server(actor: Actor) -> None:
        actor.title("/opt/env/bin/python", "/opt/env/bin/vllm", "serve", "m", name="vllm")
        actor.fork(engine, "engine")
        actor.rest()

    root, bystander = scene.actor(server, group=True), scene.bystander()
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert scene.died(root, scene.pid("engine"), scene.pid("worker"))
    assert scene.of(root) == ["TERM", "exit -15"]
    assert scene.of(scene.pid("worker")) == ["TERM", "exit -9"]
    assert scene.lives(bystander)


@in_a_room
def test_a03_a_title_saves_nobody(stage: Stage) -> None:
    """setproctitle leaves neither python in comm nor the command line: killall finds nobody."""
    scene = Scene(stage)

    def worker(actor: Actor) -> None:
        actor.title("sglang::scheduler_TP0")
        actor.hold(0)
        actor.rest()

    def namesake(actor: Actor) -> None:
        actor.title("sglang::scheduler_TP0")
        actor.rest()

    holder, other = scene.actor(worker, group=True), scene.actor(namesake, group=True)
    done = scene.clean()
    assert (done.code, done.fates) == (0, {holder: "ended"}), done.text
    assert scene.of(holder) == ["TERM", "exit -15"]
    assert done.planned[holder]["name"] == "sglang scheduler TP0"
    assert scene.lives(other), "a name selects nobody"


@in_a_room
def test_a04_names_that_no_killall_knows(stage: Stage) -> None:
    """A console script, a versioned python, torch's main thread."""
    scene = Scene(stage)

    def called(name: str, gpu: int) -> Play:
        def play(actor: Actor) -> None:
            actor.name(name)
            actor.hold(gpu)
            actor.rest()

        return play

    names = ("vllm", "python3.11", "pt_main_thread")
    holders = [scene.actor(called(name, at % 2), group=True) for at, name in enumerate(names)]
    bystander = scene.bystander()
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.fates == dict.fromkeys(holders, "ended")
    assert all(scene.of(holder) == ["TERM", "exit -15"] for holder in holders)
    assert scene.lives(bystander)


@in_a_room
def test_a05_schedulers_that_outlived_their_server(stage: Stage) -> None:
    """A chain of forks with a session in the middle; SIGTERM does nothing without a tokenizer."""
    scene = Scene(stage)

    def scheduler(rank: int) -> Play:
        def play(actor: Actor) -> None:
            actor.title(f"sglang::scheduler_DP0_TP{rank}_EP0")
            actor.hold(rank)
            actor.ignore_term()
            actor.rest()

        return play

    def middle(actor: Actor) -> None:
        for rank in (0, 1):
            actor.fork(scheduler(rank), "scheduler")

    def server(actor: Actor) -> None:
        actor.fork(middle, "middle", session=True)

    scene.reap(scene.actor(server, group=True))
    workers, alive = scene.pids("scheduler"), scene.holder(1)
    planned = scene.plan("--leftovers").planned[workers[0]]
    assert (planned["state"], planned["life"]) == ("orphan", "leftover")
    assert (planned["grace_s"], planned["needs"]) == (3.0, [])
    done = scene.clean("--leftovers")
    assert (done.code, done.gpu_outcomes) == (1, ["CLEANED", "HELD"]), done.text
    assert scene.died(*workers), done.text
    assert [scene.of(worker) for worker in workers] == [["TERM", "exit -9"]] * 2
    assert scene.lives(alive)


@in_a_room
def test_a06_loaders_keep_the_memory_of_a_dead_rank(stage: Stage) -> None:
    """The driver names the dead rank; its loaders hold the handle that they inherited."""
    scene = Scene(stage)

    def loader(actor: Actor) -> None:
        actor.name("pt_data_worker")
        actor.ignore_term()
        actor.rest()

    def rank(actor: Actor) -> None:
        actor.hold(0)
        for _ in range(3):
            actor.fork(loader, "loader")
        actor.rest()

    dead, bystander = scene.actor(rank, group=True), scene.bystander()
    os.kill(dead, signal.SIGKILL)
    scene.reap(dead)
    done = scene.begin("--yes", "--leftovers", "--hold", "400ms").end()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    family = done.planned[scene.pids("loader")[0]]
    assert (family["dead_pids"], family["life"], family["grace_s"]) == ([dead], "leftover", 1.0)
    assert any(f"pid {dead}, which is dead" in why for why in family["why"])
    assert all(scene.of(pid) == ["TERM", "exit -9"] for pid in scene.pids("loader"))
    assert scene.lives(bystander)


@in_a_room
def test_a06_loaders_of_a_living_rank_are_members_and_no_roots(stage: Stage) -> None:
    scene = Scene(stage)

    def loader(actor: Actor) -> None:
        actor.name("pt_data_worker")
        actor.rest()

    def rank(actor: Actor) -> None:
        actor.hold(0)
        child = actor.fork(loader, "loader")

        def end(actor: Actor) -> None:
            os.kill(child, signal.SIGINT)
            actor.wait(child)
            actor.end()

        actor.on_term(end)
        actor.rest()

    root = scene.actor(rank, group=True)
    done = scene.clean("--grace", "20s")
    assert done.code == 0, done.text
    assert list(done.planned) == [root]
    assert scene.of(root) == ["TERM", "exit 0"]
    assert scene.of(scene.pid("loader")) == ["INT", "exit -2"], "its root ended it"


@in_a_room
def test_a07_a_pid_that_does_not_exist(stage: Stage) -> None:
    """Who has the GPU open is the probable holder; without anybody the memory stays on the plan."""
    scene = Scene(stage)
    lost = Process(999_998, 10_151 * MIB)
    stage.write(stage.driver.with_process(1, lost).with_used(1, 10_151 * MIB))
    keeper = scene.holder(0, listed=999_999, used=10_151 * MIB)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (1, ["CLEANED", "UNATTRIBUTED"]), done.text
    assert scene.of(keeper) == ["TERM", "exit -15"]
    assert done.planned[keeper]["dead_pids"] == [] or done.planned[keeper]["dead_pids"] == [999_999]
    (unseen,) = done.host["plan"]["unseen"]
    assert "999998 is dead" in unseen["words"]


@in_a_room
def test_a08_a_main_thread_that_ended(stage: Stage) -> None:
    """fuser and lsof see nothing of it; its pid is not over before its last thread."""
    scene = Scene(stage)
    holder = stage.holder(0, zombie_leader=True, ignore_term=True)
    done = scene.clean("--grace", "300ms")
    assert done.code == 0, done.text
    assert done.planned[holder.pid]["state"] == "zombie leader", done.planned
    assert done.fates == {holder.pid: "ended"}
    assert holder.process.wait() == -signal.SIGKILL


@in_a_room
def test_a10_bar1_is_no_vote_and_a_handle_without_memory_no_holder(stage: Stage) -> None:
    scene = Scene(stage)
    stage.write(stage.driver.with_gpu_rows(0, f"bar1 {256 << 30} {200 * MIB}"))

    def helper(actor: Actor) -> None:
        actor.open(FULL)
        actor.rest()

    watcher = scene.actor(helper, group=True)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    (kept,) = done.host["plan"]["kept"]
    assert (kept["action"], kept["pids"]) == ("watching", [watcher])
    assert scene.lives(watcher)


@in_a_room
def test_a11_an_importer_is_the_next_step(stage: Stage) -> None:
    """Shared memory lives as long as its last importer: here a daemon that caches weights."""
    scene = Scene(stage)

    def daemon(actor: Actor) -> None:
        actor.title("python", "-m", "sglang.srt.weight_cache.daemon")
        actor.rest()

    def middle(actor: Actor) -> None:
        actor.fork(daemon, "daemon", session=True)

    def owner(actor: Actor) -> None:
        actor.hold(0)
        actor.fork(middle)
        actor.wait()
        actor.rest()

    root = scene.actor(owner, group=True)
    first = scene.clean()
    assert scene.of(root) == ["TERM", "exit -15"]
    daemon_pid = scene.pid("daemon")
    assert scene.lives(daemon_pid), "it was in nobody's plan"
    assert (first.code, first.gpu_outcomes) == (1, ["HELD", "CLEANED"]), first.text
    assert f"pid {daemon_pid}" in first.host["gpus"][0]["reason"]
    second = scene.clean()
    assert (second.code, second.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), second.text
    assert any("keeps weights on purpose" in why for why in second.planned[daemon_pid]["why"])
    assert scene.of(daemon_pid) == ["TERM", "exit -15"]


@in_a_room
def test_a13_who_only_watches(stage: Stage) -> None:
    scene = Scene(stage)
    scene.device_map = "1:7=0,1:5=1,1:8=control,1:9=uvm"

    def watches(*paths: str) -> Play:
        def play(actor: Actor) -> None:
            actor.open(*paths)
            actor.rest()

        return play

    control = scene.actor(watches("/dev/random"), group=True)
    monitor = scene.actor(watches("/dev/random", FULL), group=True)

    def tenant(actor: Actor) -> None:
        actor.hold(0)
        actor.open("/dev/urandom", "/dev/random")
        actor.rest()

    holder = scene.actor(tenant, group=True)
    done = scene.clean()
    assert (done.code, done.fates) == (0, {holder: "ended"}), done.text
    watching = {pid for one in done.host["plan"]["kept"] for pid in one["pids"]}
    assert watching == {control, monitor}
    assert scene.lives(control, monitor)


@in_a_room
def test_a14_another_node_of_the_same_device(stage: Stage) -> None:
    """Found by its number: no path leads to it, and the driver lists nobody."""
    scene = Scene(stage)
    node = stage.node(1, 7)

    def play(actor: Actor) -> None:
        actor.hold(0, kind="-", opens=False)
        actor.open(node)
        actor.rest()

    holder, bystander = scene.actor(play, group=True), scene.bystander()
    done = scene.clean()
    assert (done.code, done.fates) == (0, {holder: "ended"}), done.text
    assert scene.lives(bystander)


def _agent(actor: Actor, rank: Play, *, restarts: bool, forwards: bool) -> None:
    """Play an elastic agent: ranks in sessions of their own, started again when one dies."""
    actor.title("python", "/opt/env/bin/torchrun", "--max-restarts=3", "train.py", name="torchrun")
    ranks = [actor.fork(rank, "rank", session=True) for _ in range(2)]

    def forward(actor: Actor) -> None:
        for pid in ranks:
            os.killpg(pid, signal.SIGINT)

    if forwards:
        actor.on_term(forward)
    actor.up()
    while True:
        actor.wait(ranks[0])
        actor.log("restart")
        if not restarts:
            actor.rest()
        ranks[0] = actor.fork(rank, "rank", session=True)


@in_a_room
def test_a16_ranks_in_sessions_of_their_own(stage: Stage) -> None:
    """The agent alone is asked; who still lives after the grace is killed, the agent first."""
    scene = Scene(stage)

    def rank(actor: Actor) -> None:
        actor.name("pt_main_thread")
        actor.hold(0, 1)
        actor.ignore_term()
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        actor.rest()

    agent = scene.actor(lambda actor: _agent(actor, rank, restarts=True, forwards=True), group=True)
    bystander = scene.bystander()
    done = scene.clean("--grace", "500ms")
    ranks = scene.pids("rank")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert len(ranks) == 2, "no rank was started again"
    assert scene.of(agent) == ["TERM", "exit -9"]
    assert [scene.of(pid) for pid in ranks] == [["exit -9"]] * 2, "nobody asked the ranks"
    assert done.planned[agent]["root_pid"] == agent
    assert scene.lives(bystander)


@in_a_room
def test_a17_the_agent_is_ended_and_not_its_ranks_alone(stage: Stage) -> None:
    """A rank alone would be started again: what is asked first is whoever starts it."""
    scene = Scene(stage)

    def rank(actor: Actor) -> None:
        actor.hold(0)
        actor.rest()

    agent = scene.actor(
        lambda actor: _agent(actor, rank, restarts=True, forwards=False), group=True
    )
    done = scene.clean("--grace", "20s")
    ranks = scene.pids("rank")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert len(ranks) == 2
    assert scene.of(agent) == ["TERM", "exit -15"]
    assert [scene.of(pid) for pid in ranks] == [["TERM", "exit -15"]] * 2


@in_a_room
def test_a18_a_launcher_that_forwards_nothing(stage: Stage) -> None:
    """Its script is asked as soon as the launcher is gone, not when the grace is over."""
    scene = Scene(stage)

    def script(actor: Actor) -> None:
        actor.hold(0)
        actor.rest()

    def launcher(actor: Actor) -> None:
        actor.title("python", "/opt/env/bin/accelerate", "launch", "train.py", name="accelerate")
        actor.fork(script, "script")
        actor.up()
        actor.wait()

    root = scene.actor(launcher, group=True)
    done = scene.begin("--yes", "--hold", "400ms", "--timeout", "20s").end()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.planned[root]["grace_s"] == 35.0
    assert scene.of(root) == ["TERM", "exit -15"]
    assert scene.of(scene.pid("script")) == ["TERM", "exit -15"]


@in_a_room
def test_a19_the_level_that_ends_the_others_is_asked_too(stage: Stage) -> None:
    """deepspeed's runner passes nothing on; launch.py below it ends its ranks."""
    scene = Scene(stage)

    def rank(actor: Actor) -> None:
        actor.title("python", "-u", "train.py", "--local_rank=0")
        actor.hold(0)
        actor.rest()

    def launch(actor: Actor) -> None:
        actor.title("python", "-u", "-m", "deepspeed.launcher.launch", "--world_info=x")
        ranks = [actor.fork(rank, "rank") for _ in range(2)]

        def end(actor: Actor) -> None:
            for pid in ranks:
                os.kill(pid, signal.SIGINT)
            actor.wait()
            actor.end()

        actor.on_term(end)
        actor.rest()

    def runner(actor: Actor) -> None:
        actor.title("python", "/opt/env/bin/deepspeed", "train.py", name="deepspeed")
        actor.fork(launch, "launch")
        actor.up()
        actor.wait()

    root = scene.actor(runner, group=True)
    done = scene.begin("--yes", "--hold", "400ms").end()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert scene.of(root)[0] == "TERM"
    assert scene.of(scene.pid("launch")) == ["TERM", "exit 0"]
    assert [scene.of(pid) for pid in scene.pids("rank")] == [["INT", "exit -2"]] * 2, scene.events()


@in_a_room
def test_a20_workers_below_an_mpi_daemon(stage: Stage) -> None:
    """Server and daemon are siblings of one session: both are roots, and the shell above stays."""
    scene = Scene(stage)

    def worker(actor: Actor) -> None:
        actor.title("python", "-m", "mpi4py.futures.server")
        actor.env(OMPI_COMM_WORLD_RANK="0", PMIX_NAMESPACE="prterun-1@1")
        actor.hold(0, 1)
        actor.rest()

    def daemon(actor: Actor) -> None:
        actor.title("/usr/bin/orted", "--hnp")
        for _ in range(2):
            actor.fork(worker, "worker")
        actor.rest()

    def server(actor: Actor) -> None:
        actor.title("python", "/opt/env/bin/trtllm-serve", "m", name="trtllm-serve")
        actor.rest()

    def shell(actor: Actor) -> None:
        actor.title("bash")
        actor.fork(daemon, "daemon")
        actor.fork(server, "server")
        actor.rest()

    login = scene.actor(shell, session=True)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert len(done.planned) == 1, "one family"
    assert scene.of(scene.pid("daemon"))[0] == "TERM"
    assert scene.of(scene.pid("server"))[0] == "TERM"
    assert scene.died(scene.pid("daemon"), scene.pid("server"), *scene.pids("worker"))
    assert scene.lives(login)


@in_a_room
def test_a21_ollama_ends_its_runner(stage: Stage) -> None:
    """One SIGTERM to the server, none to the runner; the plan says what spares the server."""
    scene = Scene(stage)
    root = scene.actor(_ollama, group=True)
    done = scene.clean("--grace", "20s")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert any("ollama stop" in why for why in done.planned[root]["why"])
    assert scene.of(root) == ["TERM", "exit 0"]
    assert scene.of(scene.pid("runner")) == ["exit -9"]


def _ollama(actor: Actor) -> None:
    def runner(actor: Actor) -> None:
        actor.title("/usr/bin/ollama", "runner", "--model", "m")
        actor.hold(0)
        actor.rest()

    actor.title("/usr/bin/ollama", "serve")
    child = actor.fork(runner, "runner")

    def end(actor: Actor) -> None:
        os.kill(child, signal.SIGKILL)
        actor.wait(child)
        actor.end()

    actor.on_term(end)
    actor.rest()


@in_a_room
def test_a25_a_live_server_is_no_orphan(stage: Stage) -> None:
    """Two families of one program: a client is connected to one, the root of the other is dead."""
    scene = Scene(stage)

    def engine(gpu: int) -> Play:
        def play(actor: Actor) -> None:
            actor.title("VLLM::EngineCore")
            actor.hold(gpu)
            actor.rest()

        return play

    def server(actor: Actor) -> None:
        actor.title("/opt/env/bin/python", "/opt/env/bin/vllm", "serve", "m", name="vllm")
        listener = socket.create_server(("127.0.0.1", 0))
        actor.fork(engine(0), "live engine")
        (actor.folder / "port").write_text(str(listener.getsockname()[1]))
        actor.rest()

    live = scene.actor(server, group=True)
    port = int((stage.folder / "port").read_text())
    orphan = scene.orphan(engine(1), "orphan")
    with socket.create_connection(("127.0.0.1", port)):
        done = scene.clean("--leftovers")
        assert (done.code, done.gpu_outcomes) == (1, ["HELD", "CLEANED"]), done.text
        assert done.planned[live]["state"] == "active"
        assert "key" in done.planned[live]["needs"]
        assert (done.planned[orphan]["state"], done.planned[orphan]["needs"]) == ("orphan", [])
        assert scene.of(orphan) == ["TERM", "exit -15"]
        assert scene.lives(live, scene.pid("live engine"))


@in_a_room
def test_a26_a_small_context_on_gpu_0(stage: Stage) -> None:
    """To clean GPU 0 stops work on the others: not without a word that names it."""
    scene = Scene(stage, gpus=4)

    def rank(index: int) -> Play:
        def play(actor: Actor) -> None:
            actor.hold(0, used=500 * MIB)
            actor.hold(index, used=60 * GIB)
            actor.rest()

        return play

    ranks = [scene.actor(rank(index), group=True) for index in (1, 2, 3)]
    done = scene.clean("--gpu", "0")
    assert (done.code, done.gpu_outcomes) == (1, ["HELD"]), done.text
    for index, pid in enumerate(ranks, 1):
        family = done.planned[pid]
        assert "collateral" in family["needs"]
        assert {share["index"]: share["in_scope"] for share in family["gpus"]} == {
            0: True,
            index: False,
        }
        assert f"this stops its work on GPU {index} too" in family["why"]
    assert scene.lives(*ranks)
    named = scene.clean("--gpu", "0", "--pid", str(ranks[0]))
    assert named.code == 1, named.text
    assert scene.died(ranks[0])
    assert scene.lives(*ranks[1:])


@in_a_room
def test_a27_a_neighbour_on_another_gpu(stage: Stage) -> None:
    """Two jobs of one user: the scope decides, by index, UUID or bus id, and shows UUIDs."""
    scene = Scene(stage)
    neighbour, holder = scene.holder(0), scene.holder(1)
    state = stage.driver.state.gpus[1]
    for word in ("1", state.uuid, state.bus):
        plan = scene.plan("--gpu", word)
        assert plan.host["plan"]["scope"] == [{"index": 1, "uuid": state.uuid}]
        assert plan.host["chosen"] == [holder]
    done = scene.clean("--gpu", state.uuid)
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED"]), done.text
    assert done.planned[neighbour]["action"] == "leave"
    assert scene.of(holder) == ["TERM", "exit -15"]
    assert scene.lives(neighbour)
