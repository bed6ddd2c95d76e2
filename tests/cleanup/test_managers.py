"""Managers: what starts a program again is asked, told or named, never gone around (B…, A21, A22).

No manager is there. `systemctl`, `docker`, `podman`, `squeue`, `scancel`, `supervisorctl`,
`kubectl` and `crictl` are recording scripts on PATH; the control groups are real ones of the
right names.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.cleanup.acting import Actor, Play
from tests.cleanup.scene import Scene, enter
from tests.fake_driver import holding
from tests.isolation.room import in_a_room
from tests.isolation.stage import FULL, GIB, Stage

CONTAINER = "0123456789abcdef" * 4
RESTARTS = "LoadState=loaded\\nActiveState=active\\nRestart=always\\nTimeoutStopUSec=5s\\n"


def program(group: Path, *words: str, gpu: int = 0) -> Play:
    """Return a program in a control group that holds memory."""

    def play(actor: Actor) -> None:
        enter(group)
        actor.title(*words)
        actor.hold(gpu)
        actor.rest()

    return play


def unit(scene: Scene, name: str, show: str = RESTARTS) -> Path:
    """Make a unit's control group, and a systemctl that stops whoever is in it."""
    group = scene.cgroup(f"/system.slice/{name}")
    scene.command(
        "systemctl",
        f'case "$1" in show) printf "{show}" ;; '
        f"stop) while read pid; do kill -TERM $pid; done < {group}/cgroup.procs ;; esac",
    )
    return group


@in_a_room
def test_a21_ollama_as_a_service(stage: Stage) -> None:
    """A killed server would be back in 3 s: its unit is stopped, after consent."""
    scene = Scene(stage)
    group = unit(scene, "ollama.service")

    def runner(actor: Actor) -> None:
        actor.title("/usr/bin/ollama", "runner", "--model", "m")
        actor.hold(0)
        actor.rest()

    def server(actor: Actor) -> None:
        enter(group)
        actor.title("/usr/bin/ollama", "serve")
        actor.fork(runner, "runner")
        actor.rest()

    root = scene.actor(server, session=True)
    refused = scene.clean()
    assert (refused.code, refused.gpu_outcomes) == (1, ["MANAGED", "CLEANED"]), refused.text
    manager = refused.planned[root]["manager"]
    assert manager["commands"] == [["systemctl", "stop", "ollama.service"]]
    assert manager["restarts"] is True
    assert scene.lives(root, scene.pid("runner"))
    done = scene.clean("--managed")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert scene.ran("systemctl")[-1] == "stop ollama.service"
    assert done.fates == {}, "gpudash signalled nobody"
    assert scene.died(root, scene.pid("runner"))


@in_a_room
def test_a22_a_container_that_was_removed(stage: Stage) -> None:
    """The runtime knows it no more: what it left behind is ended by signals; a client never is."""
    scene = Scene(stage)
    group = scene.cgroup(f"/docker/{CONTAINER}")
    scene.command("docker", f'echo "Error: No such object: {CONTAINER}" >&2; exit 1')

    def worker(actor: Actor) -> None:
        enter(group)
        actor.title("VLLM::Worker_TP0")
        actor.hold(0)
        actor.rest()

    def client(actor: Actor) -> None:
        actor.title("docker", "run", "--gpus", "all", "vllm")
        actor.rest()

    scene.orphan(worker, "worker", session=True)
    command_line = scene.actor(client, group=True)
    done = scene.clean("--leftovers")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    family = done.planned[scene.pid("worker")]
    assert family["manager"]["is_gone"] is True
    assert any("left over from docker container 0123456789ab" in why for why in family["why"])
    assert scene.of(scene.pid("worker")) == ["TERM", "exit -15"]
    assert not any(words.startswith("stop") for words in scene.ran("docker"))
    assert scene.lives(command_line)


@in_a_room
def test_a22_a_container_that_lives(stage: Stage) -> None:
    """Its runtime stops it, after consent, with the runtime's own timeout."""
    scene = Scene(stage)
    group = scene.cgroup(f"/system.slice/docker-{CONTAINER}.scope")
    scene.command(
        "docker",
        'case "$1" in inspect) echo \'"/llm" true "unless-stopped" 7\' ;; '
        f"stop) while read pid; do kill -TERM $pid; done < {group}/cgroup.procs ;; esac",
    )
    root = scene.actor(program(group, "vllm", "serve"), session=True)
    refused = scene.clean()
    assert (refused.code, refused.gpu_outcomes) == (1, ["MANAGED", "CLEANED"]), refused.text
    stop = ["docker", "stop", "-t", "7", CONTAINER[:12]]
    assert refused.planned[root]["manager"]["commands"] == [stop]
    assert scene.lives(root)
    done = scene.clean("--managed")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert scene.ran("docker")[-1] == " ".join(stop[1:])
    assert scene.of(root) == ["TERM", "exit -15"]


@in_a_room
def test_b01_a_unit_that_starts_again(stage: Stage) -> None:
    """Its unit is read from the control group, asked, and stopped after consent."""
    scene = Scene(stage)
    group = unit(scene, "x.service")
    root, bystander = scene.actor(program(group, "/opt/x"), session=True), scene.bystander()
    refused = scene.clean()
    assert (refused.code, refused.gpu_outcomes) == (1, ["MANAGED", "CLEANED"]), refused.text
    assert "it starts again what is ended past it" in refused.planned[root]["why"]
    assert scene.lives(root)
    done = scene.clean("--managed")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert scene.ran("systemctl")[-1] == "stop x.service"
    assert scene.of(root) == ["TERM", "exit -15"], "it was systemctl that signalled"
    assert scene.lives(bystander)


@in_a_room
def test_b01_a_unit_that_can_not_be_stopped_is_not_gone_around(stage: Stage) -> None:
    """Where systemctl refuses, nobody falls back to signals."""
    scene = Scene(stage)
    group = scene.cgroup("/system.slice/x.service")
    scene.command("systemctl", 'case "$1" in stop) echo "Access denied" >&2; exit 4 ;; esac')
    root = scene.actor(program(group, "/opt/x"), session=True)
    done = scene.clean("--managed")
    assert (done.code, done.gpu_outcomes) == (1, ["MANAGED", "CLEANED"]), done.text
    assert done.families[root]["outcome"] == "MANAGED"
    assert "stop x.service" in scene.ran("systemctl")
    assert scene.lives(root)


@in_a_room
def test_b03_a_program_of_supervisord(stage: Stage) -> None:
    """It is stopped by its name through supervisorctl; supervisord lives and starts nothing."""
    scene = Scene(stage)
    stopped = stage.folder / "stopped"

    def served(actor: Actor) -> None:
        actor.title("vllm", "serve", "m")
        actor.env(SUPERVISOR_PROCESS_NAME="llm", SUPERVISOR_GROUP_NAME="llm")
        actor.hold(0)
        actor.rest()

    def supervisor(actor: Actor) -> None:
        actor.title("python", "/usr/bin/supervisord", "-n", name="supervisord")
        actor.up()
        while not stopped.exists():
            actor.wait(actor.fork(served, "served"))
        actor.rest()

    above = scene.actor(supervisor, session=True)
    scene.until(lambda: bool(scene.pids("served")))
    first = scene.pid("served")
    scene.command(
        "supervisorctl",
        'case "$1" in status) echo "llm RUNNING pid 1" ;; '
        f"stop) : > {stopped}; kill -TERM {first} ;; esac",
    )
    refused = scene.clean()
    assert (refused.code, refused.gpu_outcomes) == (1, ["MANAGED", "CLEANED"]), refused.text
    assert refused.planned[first]["manager"]["commands"] == [["supervisorctl", "stop", "llm:llm"]]
    assert scene.lives(first, above)
    done = scene.clean("--managed")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert scene.ran("supervisorctl")[-1] == "stop llm:llm"
    assert scene.pids("served") == [first]
    assert scene.of(first) == ["TERM", "exit -15"]
    assert not {"TERM", "exit -15"} & set(scene.of(above))


@in_a_room
def test_b04_a_loop_in_a_shell(stage: Stage) -> None:
    """What comes back is named with its loop and not chased; the loop's shell is not signalled."""
    scene = Scene(stage)
    script = stage.folder / "loop.sh"
    holder = Path(holding.__file__).with_name("holder.py")
    words = f"--gpu=0 --bytes={GIB} --folder={stage.driver.folder} --device={FULL}"
    python = sys.executable
    script.write_text(f"while :; do {python} -ISB {holder} {words}; done\n")
    shell, _ = stage.start(["/bin/sh", str(script)])
    done = scene.clean("--hold", "4s")
    (first,) = done.planned
    assert (done.code, done.gpu_outcomes) == (1, ["RESPAWNING", "CLEANED"]), done.text
    assert scene.died(first)
    reason = done.host["gpus"][0]["reason"]
    assert f"pid {shell} (sh) starts it" in reason
    assert scene.lives(shell)
    again = scene.plan()
    (second,) = again.planned
    assert second != first, "the newcomer was not chased"


@in_a_room
def test_b05_a_pod(stage: Stage) -> None:
    """The command is printed and never run: not with --managed either."""
    scene = Scene(stage)
    pod = "pod0f1e2d3c-1111-2222-3333-444455556666"
    group = scene.cgroup(f"/kubepods.slice/kubepods-{pod}.slice/cri-containerd-{CONTAINER}.scope")
    for tool in ("kubectl", "crictl"):
        scene.command(tool, "exit 1")

    def play(actor: Actor) -> None:
        enter(group)
        actor.title("vllm", "serve", "m")
        actor.env(POD_NAME="llm-0", POD_NAMESPACE="ml", KUBERNETES_SERVICE_HOST="192.0.2.1")
        actor.hold(0)
        actor.rest()

    root = scene.actor(play, session=True)
    done = scene.clean("--managed")
    assert (done.code, done.gpu_outcomes) == (1, ["MANAGED", "CLEANED"]), done.text
    manager = done.planned[root]["manager"]
    assert manager["commands"] == [["kubectl", "-n", "ml", "delete", "pod", "llm-0"]]
    assert manager["is_run"] is False
    assert done.planned[root]["action"] == "leave"
    assert scene.ran("kubectl") == []
    assert not any("stop" in words or "rm" in words for words in scene.ran("crictl"))
    assert scene.lives(root)


def job(scene: Scene, squeue: str) -> tuple[Path, int]:
    """Put an orphan into the control group of job 42; squeue answers with a script."""
    group = scene.cgroup("/slurm/uid_1000/job_42/step_0")
    scene.command("squeue", squeue)
    scene.command("scancel")

    def play(actor: Actor) -> None:
        enter(group)
        actor.hold(0)
        actor.rest()

    return group, scene.orphan(play, "rank", session=True)


@in_a_room
def test_b06_a_job_that_lives(stage: Stage) -> None:
    """scancel is printed, by step before the whole job, and never run."""
    scene = Scene(stage)
    _, rank = job(scene, "echo RUNNING")
    done = scene.clean("--managed")
    assert (done.code, done.gpu_outcomes) == (1, ["MANAGED", "CLEANED"]), done.text
    assert done.planned[rank]["manager"]["commands"] == [
        ["scancel", "--signal=TERM", "42.0"],
        ["scancel", "42"],
    ]
    assert scene.ran("scancel") == []
    assert scene.lives(rank)


@in_a_room
def test_b06_a_job_that_is_gone(stage: Stage) -> None:
    """What it left behind is a normal family, and a leftover."""
    scene = Scene(stage)
    message = "slurm_load_jobs error: Invalid job id specified"
    _, rank = job(scene, f'echo "{message}" >&2; exit 1')
    done = scene.clean("--leftovers")
    assert (done.code, done.gpu_outcomes) == (0, ["CLEANED", "CLEANED"]), done.text
    assert any("left over from Slurm job 42" in why for why in done.planned[rank]["why"])
    assert scene.of(rank) == ["TERM", "exit -15"]
    assert scene.ran("scancel") == []


@in_a_room
def test_b08_somebody_new_while_zero_is_held(stage: Stage) -> None:
    """An orchestrator elsewhere starts a job: it is nobody of the plan, and zero is not said."""
    scene = Scene(stage)
    holder = scene.holder(0)

    def newcomer(actor: Actor) -> None:
        actor.title("python", "serve.py", "--new")
        actor.hold(0)
        actor.rest()

    running = scene.begin("--yes", "--grace", "1s", "--hold", "3s")
    scene.until(lambda: scene.heard(holder, "exit -15"))
    new = scene.actor(newcomer, group=True)
    done = running.end()
    assert (done.code, done.gpu_outcomes) == (1, ["HELD", "CLEANED"]), done.text
    assert f"pid {new}" in done.host["gpus"][0]["reason"]
    assert done.fates == {holder: "ended"}
    assert scene.lives(new)
