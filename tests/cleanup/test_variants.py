"""More of the same kinds: what the cases do not say, and practice does."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import time
from pathlib import Path

from tests.cleanup.acting import Actor, Play
from tests.cleanup.scene import Scene, enter
from tests.cleanup.test_managers import CONTAINER, program
from tests.cleanup.test_protected import kept
from tests.cli.running import is_running
from tests.isolation.room import in_a_room
from tests.isolation.stage import FULL, GIB, OTHER_UID, ZERO, Stage


def titled(*words: str, gpus: tuple[int, ...] = (0,), **env: str) -> Play:
    """Return a program of that command line that holds memory."""

    def play(actor: Actor) -> None:
        actor.title(*words)
        if env:
            actor.env(**env)
        if gpus:
            actor.hold(*gpus)
        actor.rest()

    return play


def above(*words: str, below: Play, role: str = "below") -> Play:
    """Return a program without a GPU that has a child."""

    def play(actor: Actor) -> None:
        actor.title(*words)
        actor.fork(below, role)
        actor.rest()

    return play


# -- whose family it is ------------------------------------------------------------------------


@in_a_room
def test_a_notebook_kernel_goes_and_its_server_stays(stage: Stage) -> None:
    scene = Scene(stage)
    kernel = titled("python", "-m", "ipykernel_launcher", "-f", "/run/kernel-1.json")
    server = scene.actor(above("python", "/usr/bin/jupyter-lab", below=kernel), session=True)
    done = scene.clean()
    assert (done.code, done.fates) == (0, {scene.pid("below"): "ended"}), done.text
    assert scene.lives(server)


@in_a_room
def test_a_pane_of_tmux_keeps_its_shell(stage: Stage) -> None:
    scene = Scene(stage)
    shell = above("bash", below=titled("python", "train.py"), role="train")

    def server(actor: Actor) -> None:
        actor.title("tmux: server")
        actor.fork(shell, "shell", session=True)
        actor.rest()

    tmux = scene.actor(server, session=True)
    assert scene.clean("--leftovers").code == 1
    assert scene.lives(scene.pid("train"))
    done = scene.clean()
    assert (done.code, done.fates) == (0, {scene.pid("train"): "ended"}), done.text
    assert scene.lives(tmux, scene.pid("shell"))


@in_a_room
def test_ray_is_ended_in_its_own_order(stage: Stage) -> None:
    """raylet, then its workers, gcs_server last."""
    scene = Scene(stage)
    worker = titled("ray::train_func")
    gcs = titled("/opt/ray/core/src/ray/gcs/gcs_server", gpus=())

    def head(actor: Actor) -> None:
        actor.title("python", "/opt/env/bin/ray", "start", "--head", "--block")
        actor.fork(gcs, "gcs")
        actor.fork(
            above("/opt/ray/core/src/ray/raylet/raylet", below=worker, role="worker"), "raylet"
        )
        actor.rest()

    scene.actor(head, session=True)
    done = scene.clean("--grace", "2s")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    asked = [pid for pid, word in scene.events() if word == "TERM"]
    assert asked[0] == scene.pid("raylet")
    assert scene.died(scene.pid("raylet"), scene.pid("worker"), scene.pid("gcs"))
    assert asked[-1] == scene.pid("gcs")


@in_a_room
def test_the_launcher_that_started_gpudash_is_no_family_and_its_workers_are(stage: Stage) -> None:
    scene = Scene(stage)
    handle = os.open(FULL, os.O_RDWR)
    worker = scene.holder(0)
    done = scene.clean()
    assert (done.code, done.fates) == (0, {worker: "ended"}), done.text
    os.close(handle)


# -- rooms and managers ------------------------------------------------------------------------


@in_a_room
def test_our_own_container_is_no_manager(stage: Stage) -> None:
    """gpudash runs in the container whose program it ends: nobody is asked to stop it."""
    scene = Scene(stage)
    group = scene.cgroup(f"/docker/{CONTAINER}")
    scene.command("docker", "exit 1")
    enter(group)
    holder = scene.actor(titled("vllm", "serve"), session=True)
    done = scene.clean()
    assert (done.code, done.fates) == (0, {holder: "ended"}), done.text
    assert done.planned[holder]["manager"] is None


@in_a_room
def test_cron_and_sshd_are_doors_and_no_managers(stage: Stage) -> None:
    scene = Scene(stage)
    scene.command("systemctl", "exit 1")
    groups = [scene.cgroup(f"/system.slice/{name}") for name in ("cron.service", "ssh.service")]
    groups.append(scene.cgroup("/user.slice/user-0.slice/session-3.scope"))
    jobs = [scene.actor(program(group, "python", "job.py"), session=True) for group in groups]
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.fates == dict.fromkeys(jobs, "ended")
    assert scene.ran("systemctl") == []


@in_a_room
def test_a_unit_of_the_user_and_a_container_of_podman(stage: Stage) -> None:
    scene = Scene(stage)
    inside = "/user.slice/user-1000.slice/user@1000.service"
    unit = scene.cgroup(f"{inside}/app.slice/llm.service")
    box = scene.cgroup(f"{inside}/user.slice/libpod-{CONTAINER}.scope")
    for name in ("systemctl", "podman"):
        scene.command(name, "exit 1")
    served = scene.actor(program(unit, "llm"), session=True)
    boxed = scene.actor(program(box, "llm", gpu=1), session=True)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (1, ["MANAGED", "MANAGED"]), done.text
    commands = [done.planned[pid]["manager"]["commands"] for pid in (served, boxed)]
    assert commands == [
        [["systemctl", "--user", "stop", "llm.service"]],
        [["podman", "stop", "-t", "10", CONTAINER[:12]]],
    ]
    assert scene.lives(served, boxed)


@in_a_room
def test_what_a_stopped_unit_left_behind(stage: Stage) -> None:
    """KillMode=process: the unit is inactive, a worker of it lives on."""
    scene = Scene(stage)
    group = scene.cgroup("/system.slice/llm.service")
    scene.command("systemctl", 'printf "LoadState=loaded\\nActiveState=inactive\\nRestart=no\\n"')
    scene.orphan(program(group, "VLLM::Worker_TP0"), "worker", session=True)
    done = scene.clean("--leftovers")
    assert (done.code, done.fates) == (0, {scene.pid("worker"): "ended"}), done.text


@in_a_room
def test_a_manager_that_hangs_counts_as_alive(stage: Stage) -> None:
    scene = Scene(stage)
    group = scene.cgroup(f"/docker/{CONTAINER}")
    scene.command("docker", "while :; do :; done")
    worker = scene.actor(program(group, "VLLM::Worker_TP0"), session=True)
    done = scene.clean("--leftovers")
    assert (done.code, done.gpu_outcomes) == (1, ["MANAGED", "CLEANED"]), done.text
    assert scene.lives(worker)


@in_a_room
def test_other_supervisors(stage: Stage) -> None:
    """runit and s6 are told by their own command; pm2 is named and not gone around."""
    scene = Scene(stage)
    names = ("runsv", "s6-supervise", "PM2 v5.3.0: God Daemon")
    tools = [
        scene.actor(above(name, below=titled("llm"), role=name.split()[0]), session=True)
        for name in names
    ]
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (1, ["MANAGED", "CLEANED"]), done.text
    below = [scene.pid(name.split()[0]) for name in names]
    found = [done.planned[pid]["manager"]["commands"] for pid in below]
    assert [commands[0][:2] if commands else [] for commands in found] == [
        ["sv", "stop"],
        ["s6-svc", "-d"],
        [],
    ]
    assert scene.lives(*tools, *below)


@in_a_room
def test_a_job_known_by_its_environment_alone(stage: Stage) -> None:
    scene = Scene(stage)
    scene.command("squeue", "echo RUNNING")
    scene.command("scancel")
    rank = scene.actor(titled("python", "train.py", SLURM_JOB_ID="42"), session=True)
    done = scene.clean("--managed")
    assert (done.code, done.gpu_outcomes) == (1, ["MANAGED", "CLEANED"]), done.text
    assert scene.ran("scancel") == []
    assert scene.lives(rank)


# -- what changes under a plan -----------------------------------------------------------------


@in_a_room
def test_a_process_that_became_another_program(stage: Stage) -> None:
    """Same pid, same start, another executable: no signal."""
    scene = Scene(stage)

    def changes(actor: Actor) -> None:
        actor.hold(0)
        actor.up()
        actor.until((actor.folder / "change").exists)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.execv("/bin/sleep", ["sleep", "1000"])

    holder = scene.actor(changes, group=True)
    with scene.terminal("--hold", "400ms") as running:
        running.read_until("Carry this out?")
        (scene.folder / "change").touch()
        scene.until(lambda: Path(f"/proc/{holder}/comm").read_text() == "sleep\n")
        running.answer("y\n")
    assert is_running(holder)
    assert scene.of(holder) == []
    os.kill(holder, signal.SIGKILL)


@in_a_room
def test_who_was_born_after_the_plan_and_asked_to_end(stage: Stage) -> None:
    """On SIGTERM it hands its memory to a child in a session of its own and ends."""
    scene = Scene(stage)

    def heir(actor: Actor) -> None:
        actor.ignore_term()
        actor.rest()

    def root(actor: Actor) -> None:
        actor.hold(0)

        def hand_over(actor: Actor) -> None:
            actor.fork(heir, "heir", session=True)
            actor.end()

        actor.on_term(hand_over)
        actor.rest()

    scene.actor(root, group=True)
    done = scene.clean("--grace", "1s")
    heir_pid = scene.pid("heir")
    assert (done.code, done.gpu_outcomes) == (1, ["RESPAWNING", "CLEANED"]), done.text
    assert f"came back as pid {heir_pid}" in done.host["gpus"][0]["reason"]
    assert scene.lives(heir_pid), "it is named, and not chased"
    again = scene.clean("--grace", "300ms")
    assert (again.code, again.fates) == (0, {heir_pid: "ended"}), again.text


@in_a_room
def test_forking_all_the_time(stage: Stage) -> None:
    """Children with the handle are born while the family is killed."""
    scene = Scene(stage)

    def child(actor: Actor) -> None:
        actor.ignore_term()
        actor.rest()

    def root(actor: Actor) -> None:
        actor.hold(0)
        actor.ignore_term()
        actor.fork(child, "child")
        actor.up()
        while True:
            time.sleep(0.1)
            actor.fork(child, "child")

    scene.actor(root, group=True)
    done = scene.clean("--grace", "500ms")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert scene.died(*scene.pids("child"))


@in_a_room
def test_a_timeout_ends_no_family_half_way(stage: Stage) -> None:
    """Asked, and not forced: the order is aborted, and the next clean can have the lock."""
    scene = Scene(stage)

    def stays(actor: Actor) -> None:
        actor.hold(0)
        actor.ignore_term()
        actor.rest()

    holder = scene.actor(stays, group=True)
    done = scene.begin("--yes", "--grace", "60s", "--timeout", "4s").end()
    assert done.code == 5, done.text
    assert scene.of(holder) == ["TERM"]
    again = scene.clean("--grace", "300ms")
    assert again.code == 0, again.text
    assert scene.of(holder) == ["TERM", "TERM", "exit -9"], "one for each run"


@in_a_room
def test_two_at_once(stage: Stage) -> None:
    scene = Scene(stage)

    def slow(actor: Actor) -> None:
        actor.hold(0)
        actor.ignore_term()
        actor.rest()

    holder = scene.actor(slow, group=True)
    both = [scene.begin("--yes", "--grace", "4s", "--hold", "400ms") for _ in range(2)]
    codes = sorted(one.end().code for one in both)
    assert codes == [0, 2]
    assert scene.of(holder) == ["TERM", "exit -9"]


# -- leftovers ---------------------------------------------------------------------------------


@in_a_room
def test_an_orphan_that_still_works_is_no_leftover(stage: Stage) -> None:
    """Its log grew; another one uses the CPU."""
    scene = Scene(stage)

    def logs(actor: Actor) -> None:
        actor.title("VLLM::Worker_TP0")
        handle = os.open(actor.folder / "run.log", os.O_WRONLY | os.O_CREAT)
        os.write(handle, b"step 1\n")
        actor.hold(0)
        actor.rest()

    def works(actor: Actor) -> None:
        actor.title("sglang::scheduler_TP1")
        actor.hold(1)
        actor.up()
        while True:
            pass

    scene.orphan(logs, "logs", session=True)
    scene.orphan(works, "works", session=True)
    done = scene.clean("--leftovers")
    assert (done.code, done.gpu_outcomes) == (1, ["HELD", "HELD"]), done.text
    assert is_running(scene.pid("logs"))
    assert is_running(scene.pid("works"))
    os.kill(scene.pid("works"), signal.SIGKILL)


@in_a_room
def test_seen_from_inside_a_container(stage: Stage) -> None:
    """The driver lists host pids: a handle tells who it is here, and a namesake is nobody."""
    scene = Scene(stage)
    scene.device_map += ",pids=host"
    namesake = scene.bystander()
    holder = scene.holder(0, listed=namesake)
    done = scene.clean()
    assert (done.code, done.fates) == (0, {holder: "ended"}), done.text
    assert scene.lives(namesake)


@in_a_room
def test_a_program_that_computes_and_draws_is_no_desktop(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0, kind="CG")
    done = scene.clean()
    assert (done.code, done.fates) == (0, {holder: "ended"}), done.text


@in_a_room
def test_a_shell_that_keeps_the_memory_of_the_dead_is_named(stage: Stage) -> None:
    """Nobody ends a shell; the plan says that it holds the handle."""
    scene = Scene(stage)

    def shell(actor: Actor) -> None:
        actor.title("bash")
        actor.rest()

    def rank(actor: Actor) -> None:
        actor.hold(0)
        actor.fork(shell, "shell")
        actor.rest()

    dead = scene.actor(rank, group=True)
    os.kill(dead, signal.SIGKILL)
    scene.reap(dead)
    done = scene.clean()
    assert done.code == 1, done.text
    assert kept(done) == {"shells and tools": [scene.pid("shell")]}
    assert str(scene.pid("shell")) in done.host["gpus"][0]["reason"], done.host["gpus"]
    assert scene.lives(scene.pid("shell"))


@in_a_room
def test_somebody_elses_orphan_is_not_ours_to_clean(stage: Stage) -> None:
    scene = Scene(stage)

    def worker(actor: Actor) -> None:
        actor.title("VLLM::Worker_TP0")
        actor.hold(0)
        actor.open(ZERO)
        actor.become(OTHER_UID)
        actor.rest()

    scene.orphan(worker, "worker", session=True)
    done = scene.clean("--leftovers")
    assert (done.code, done.gpu_outcomes) == (1, ["FOREIGN", "CLEANED"]), done.text
    assert scene.lives(scene.pid("worker"))


@in_a_room
def test_memory_that_the_driver_does_not_attribute(stage: Stage) -> None:
    """Two programs have the GPU open and are listed nowhere: both may hold it."""
    scene = Scene(stage)
    one = scene.holder(0, kind="-", used=GIB)
    other = scene.holder(0, kind="-", used=GIB)
    watcher = scene.actor(lambda actor: (actor.name("nvtop"), actor.open(FULL), actor.rest())[2])
    done = scene.clean()
    assert (done.code, done.fates) == (0, {one: "ended", other: "ended"}), done.text
    assert scene.lives(watcher)


# -- more of the driver ------------------------------------------------------------------------


@in_a_room
def test_a_checkpoint_is_waited_for(stage: Stage) -> None:
    """It grows beyond the grace: the grace is extended while it does."""
    scene = Scene(stage)

    def trains(actor: Actor) -> None:
        actor.hold(0)

        def save(actor: Actor) -> None:
            handle = os.open(actor.folder / "model.pt", os.O_WRONLY | os.O_CREAT)
            for _ in range(20):
                os.write(handle, b"x" * (1 << 20))
                time.sleep(0.1)
            actor.log("saved")
            actor.end()

        actor.on_term(save)
        actor.rest()

    root = scene.actor(trains, group=True)
    done = scene.clean("--grace", "700ms")
    assert (done.code, done.fates) == (0, {root: "ended"}), done.text
    assert scene.of(root) == ["TERM", "saved", "exit 0"]


@in_a_room
def test_no_grace_at_all(stage: Stage) -> None:
    scene = Scene(stage)
    root = scene.holder(0)
    done = scene.begin("--yes", "--grace", "0s", "--hold", "400ms").end()
    assert done.code == 0, done.text
    assert scene.of(root) == ["exit -9"]


@in_a_room
def test_a_mapping_without_a_descriptor(stage: Stage) -> None:
    """Nothing is open, and the driver lists nobody: the map is the evidence."""
    scene = Scene(stage)
    holder = stage.holder(1, kind="-", devices=(), maps=(ZERO,))
    bystander = scene.bystander()
    done = scene.clean()
    assert (done.code, done.fates) == (0, {holder.pid: "ended"}), done.text
    assert holder.process.wait() == -signal.SIGTERM
    assert scene.lives(bystander)


@in_a_room
def test_unified_memory_is_never_zero(stage: Stage) -> None:
    scene = Scene(stage)
    stage.write(stage.driver.unify(0))
    done = scene.clean("--timeout", "10s")
    assert (done.code, done.gpu_outcomes) == (4, ["UNKNOWN", "CLEANED"]), done.text


@in_a_room
def test_a_lost_gpu_beside_a_job(stage: Stage) -> None:
    scene = Scene(stage)
    stage.write(stage.driver.lose(0))
    holder = scene.holder(1)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (4, ["UNKNOWN", "CLEANED"]), done.text
    assert done.fates == {holder: "ended"}


@in_a_room
def test_a_pid_of_a_member_names_its_family(stage: Stage) -> None:
    scene = Scene(stage)
    root = scene.actor(above("python", "serve.py", below=titled("python", "w.py")), group=True)
    other = scene.holder(0)
    done = scene.clean("--pid", str(scene.pid("below")))
    assert (done.code, done.gpu_outcomes) == (1, ["HELD", "CLEANED"]), done.text
    assert scene.died(root, scene.pid("below"))
    assert scene.lives(other)


@in_a_room
def test_a_family_of_two_users(stage: Stage) -> None:
    """A child that became another user is not ended with its root, and named."""
    scene = Scene(stage)

    def theirs(actor: Actor) -> None:
        actor.hold(1)
        actor.become(OTHER_UID)
        actor.rest()

    def mine(actor: Actor) -> None:
        actor.fork(theirs, "theirs")
        actor.hold(0)
        actor.rest()

    root = scene.actor(mine, group=True)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (1, ["CLEANED", "FOREIGN"]), done.text
    assert scene.died(root)
    assert scene.lives(scene.pid("theirs"))


@in_a_room
def test_a_ptraced_holder_is_killed_by_consent(stage: Stage) -> None:
    """A debugger holds it: SIGTERM does nothing to it, SIGKILL does."""
    scene = Scene(stage)
    holder = scene.holder(0)

    def debugs(actor: Actor) -> None:
        call = ctypes.CDLL(None).ptrace
        call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        assert call(0x4206, holder, None, None) == 0
        assert call(0x4207, holder, None, None) == 0
        os.waitpid(holder, 0x40000000)
        actor.rest()

    debugger = scene.actor(debugs, group=True)
    done = scene.clean("--grace", "300ms")
    assert scene.lives(debugger)
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text


@in_a_room
def test_a_stopped_shell_job_with_children(stage: Stage) -> None:
    """The whole family is suspended: each one that is asked is woken."""
    scene = Scene(stage)

    def child(actor: Actor) -> None:
        actor.hold(1)
        actor.rest()

    def root(actor: Actor) -> None:
        actor.hold(0)
        actor.fork(child, "child")
        actor.rest()

    top = scene.actor(root, group=True)
    pids = [top, scene.pid("child")]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    done = scene.clean("--grace", "10s")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert all("TERM" in scene.of(pid) and "exit -15" in scene.of(pid) for pid in pids)


PLACES = (
    *("gnome-terminal-server", "konsole", "kitty", "alacritty", "xterm", "terminator"),
    *("tmate", "ttyd", "nvim", "emacs", "gdb", "pycharm", "bwrap"),
    *("lxc-start", "gitlab-runner", "Runner.Worker", "sge_shepherd"),
    *("xonsh", "nu", "elvish", "pwsh", "mksh", "yash", "ksh93"),
    *("vi", "helix", "mc", "ranger", "qterminal", "pueued", "tsp"),
)
"""In which people work, or from which work is started for them: all of it would end with them."""


@in_a_room
def test_what_work_was_started_from_stays(stage: Stage) -> None:
    scene = Scene(stage)
    job = titled("python", "train.py")
    java = ("java", "-Xmx2g", "-Didea.paths.selector=PyCharm", "com.intellij.idea.Main")
    places = [scene.actor(above(f"/usr/bin/{name}", below=job), group=True) for name in PLACES]
    places.append(scene.actor(above(*java, below=job), group=True))
    places.append(scene.actor(above("Apptainer runtime parent", below=job), group=True))
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert done.fates == dict.fromkeys(scene.pids("below"), "ended")
    assert scene.lives(*places)


@in_a_room
def test_what_hangs_below_a_login_that_is_not_ours(stage: Stage) -> None:
    """Everybody is root, and no session number tells: below another door it is another's."""
    scene = Scene(stage)
    job = titled("python", "train.py")
    door = scene.actor(above("/usr/bin/mosh-server", below=job), group=True)
    done = scene.clean()
    (pid,) = scene.pids("below")
    assert (done.code, done.gpu_outcomes) == (1, ["HELD", "CLEANED"]), done.text
    assert done.planned[pid]["belongs"] == "another session's"
    assert scene.lives(door, pid)


@in_a_room
def test_the_first_process_of_a_container_below(stage: Stage) -> None:
    """Pid 1 in its own pid namespace: SIGTERM is lost on it, and its family ends with it."""
    scene = Scene(stage)

    def inner(actor: Actor) -> None:
        actor.title("python", "serve.py")
        actor.hold(0)
        actor.rest()

    def first(actor: Actor) -> None:
        actor.title("python", "entry.py")
        actor.fork(inner, "inner")
        actor.rest()

    def outer(actor: Actor) -> None:
        actor.title("containerd-shim")
        assert ctypes.CDLL(None).unshare(0x20000000) == 0
        actor.fork(first, "first")
        actor.up()
        actor.wait()
        actor.rest()

    shim = scene.actor(outer, session=True)
    done = scene.clean("--grace", "500ms")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    first_pid = scene.pid("first")
    assert scene.died(first_pid)
    assert is_running(shim)


@in_a_room
def test_desktop_programs_that_also_compute(stage: Stage) -> None:
    """A browser of the desktop's session is no job, whatever else it does; a terminal's job is."""
    scene = Scene(stage)
    inside = "/user.slice/user-1000.slice/user@1000.service/app.slice"
    browser = scene.cgroup(f"{inside}/app-gnome-firefox-4711.scope")
    terminal = scene.cgroup(f"{inside}/app-org.gnome.Terminal.slice/vte-spawn-1.scope")

    def draws(group: Path, name: str) -> Play:
        def play(actor: Actor) -> None:
            enter(group)
            actor.title(name)
            actor.hold(0, kind="CG")
            actor.rest()

        return play

    firefox = scene.actor(draws(browser, "firefox"), session=True)
    job = scene.actor(draws(terminal, "isaac-sim"), session=True)
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (1, ["PROTECTED", "CLEANED"]), done.text
    assert done.fates == {job: "ended"}
    assert scene.lives(firefox)


@in_a_room
def test_a_utilisation_that_hangs_at_100_is_no_memory(stage: Stage) -> None:
    scene = Scene(stage)
    stage.write(stage.driver.with_gpu(0, util=100))
    done = scene.clean()
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text


@in_a_room
def test_listed_with_no_memory_at_all(stage: Stage) -> None:
    """A rank is listed on GPUs where it holds 0 bytes: those are no part of its shares."""
    scene = Scene(stage)

    def play(actor: Actor) -> None:
        actor.hold(0)
        actor.hold(1, used=0)
        actor.rest()

    holder = scene.actor(play, group=True)
    done = scene.clean("--gpu", "0")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED"]), done.text
    assert [share["index"] for share in done.planned[holder]["gpus"]] == [0]


@in_a_room
def test_a_gpu_that_vanishes_in_mid_clean(stage: Stage) -> None:
    """The one that was named is gone from the driver when zero should be proven."""
    scene = Scene(stage)

    def stays(actor: Actor) -> None:
        actor.hold(1)
        actor.ignore_term()
        actor.rest()

    holder = scene.actor(stays, group=True)
    running = scene.begin(
        "--yes", "--gpu", "1", "--grace", "1s", "--hold", "400ms", "--timeout", "20s"
    )
    scene.until(lambda: scene.heard(holder, "TERM"))
    stage.write(stage.driver.vanish(1))
    done = running.end()
    assert (done.code, done.gpu_outcomes) == (4, ["UNKNOWN"]), done.text
    assert scene.of(holder) == ["TERM", "exit -9"]


@in_a_room
def test_a_rank_whose_launcher_shell_loop_is_gone(stage: Stage) -> None:
    """`nohup sh loop.sh &`: the loop has no terminal and still brings its program back."""
    scene = Scene(stage)

    def server(actor: Actor) -> None:
        actor.title("python", "serve.py")
        actor.hold(0)
        actor.rest()

    def loop(actor: Actor) -> None:
        actor.title("sh", "loop.sh")
        actor.up()
        while True:
            actor.wait(actor.fork(server, "server"))

    scene.orphan(loop, "loop", session=True)
    scene.until(lambda: bool(scene.pids("server")))
    done = scene.clean("--hold", "4s")
    assert (done.code, done.gpu_outcomes) == (1, ["RESPAWNING", "CLEANED"]), done.text
    assert f"pid {scene.pid('loop')} (sh) starts it" in done.host["gpus"][0]["reason"]
    assert len(scene.pids("server")) == 2, "it was killed once"


@in_a_room
def test_a_unit_that_comes_back_after_it_was_stopped(stage: Stage) -> None:
    """Something else starts the unit again: named, and not chased."""
    scene = Scene(stage)
    group = scene.cgroup("/system.slice/llm.service")
    stopped = scene.folder / "stopped"
    scene.command(
        "systemctl",
        'case "$1" in show) printf "LoadState=loaded\\nActiveState=active\\nRestart=no\\n" ;; '
        f"stop) while read pid; do kill -TERM $pid; done < {group}/cgroup.procs; "
        f": > {stopped} ;; esac",
    )
    first = scene.actor(program(group, "llm"), session=True)
    running = scene.begin("--yes", "--managed", "--hold", "3s")
    scene.until(stopped.exists)
    scene.until(lambda: scene.died(first))
    second = scene.actor(program(group, "llm"), session=True)
    done = running.end()
    assert (done.code, done.gpu_outcomes) == (1, ["RESPAWNING", "CLEANED"]), done.text
    assert "llm.service starts it" in done.host["gpus"][0]["reason"]
    assert scene.lives(second)


@in_a_room
def test_a_leftover_beside_its_living_namesake(stage: Stage) -> None:
    """Workers of a dead server and those of a living one, of one title, folder and minute."""
    scene = Scene(stage)
    worker = titled("VLLM::Worker_TP0", gpus=(0,))

    def engine(actor: Actor) -> None:
        actor.title("VLLM::EngineCore")
        actor.fork(worker, "worker")
        actor.rest()

    def server(actor: Actor) -> None:
        actor.title("python", "/opt/env/bin/vllm", "serve", "m")
        actor.fork(engine, "engine")
        actor.rest()

    dead = scene.actor(server, group=True)
    orphans = [scene.pid("engine"), scene.pid("worker")]
    os.kill(dead, signal.SIGKILL)
    scene.reap(dead)
    live = scene.actor(server, group=True)
    alive = [live, scene.pid("engine"), scene.pid("worker")]
    done = scene.clean("--leftovers")
    assert (done.code, done.gpu_outcomes) == (1, ["HELD", "CLEANED"]), done.text
    assert scene.died(*orphans)
    assert scene.lives(*alive)


@in_a_room
def test_a_client_of_an_orphan(stage: Stage) -> None:
    """Somebody is connected to an engine whose server is dead: alive."""
    scene = Scene(stage)

    def engine(actor: Actor) -> None:
        actor.title("VLLM::EngineCore")
        listener = socket.create_server(("127.0.0.1", 0))
        (actor.folder / "port").write_text(str(listener.getsockname()[1]))
        actor.hold(0)
        actor.rest()

    orphan = scene.orphan(engine, "engine", session=True)
    port = int((scene.folder / "port").read_text())
    with socket.create_connection(("127.0.0.1", port)):
        done = scene.clean("--leftovers")
    assert (done.code, done.gpu_outcomes) == (1, ["HELD", "CLEANED"]), done.text
    assert scene.lives(orphan)


@in_a_room
def test_gpudash_is_asked_to_end_in_mid_clean(stage: Stage) -> None:
    """By SIGTERM, or as its terminal goes: it begins no further step, says so, leaves no lock."""
    scene = Scene(stage)

    def stays(actor: Actor) -> None:
        actor.hold(0)
        actor.ignore_term()
        actor.rest()

    holder = scene.actor(stays, group=True)
    for count, number in enumerate((signal.SIGTERM, signal.SIGHUP), 1):
        running = scene.begin("--yes", "--grace", "60s")
        while scene.of(holder).count("TERM") < count:
            time.sleep(0.01)
        running.process.send_signal(number)
        done = running.end()
        assert (done.code, done.fates) == (130, {holder: "asked"}), done.text
        assert scene.of(holder) == ["TERM"] * count
    assert scene.clean("--grace", "300ms").code == 0
