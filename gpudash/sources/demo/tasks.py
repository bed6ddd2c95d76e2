"""The invented people and processes of the demo, named and arranged as the real ones are.

Times are seconds of demo time: 0 is the launch, what runs since before it started at a negative
time. A task never changes; whether it exists at a moment is its tenant's to say.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A user of the simulated hosts."""

    uid: int
    name: str


ROOT = Person(uid=0, name="root")
"""Who looks at the hosts: root's processes are the viewer's own."""
ANA = Person(uid=1001, name="ana")
BEN = Person(uid=1002, name="ben")
CHRIS = Person(uid=1003, name="chris")


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One simulated process."""

    pid: int
    started_s: float
    person: Person
    comm: str
    argv: tuple[str, ...]
    parent: Task | None = None
    """None: pid 1."""
    is_dead: bool = False
    """The driver lists it, /proc does not have it."""
    keeper: int = 0
    """Pid of who inherited a dead one's handles, and keeps its memory."""
    group: int = 0
    """Of processes; 0 is its own."""
    ports: tuple[int, ...] = ()
    clients: int = 0
    exit_s: float | None = 0.6
    """How long it takes to end when it is asked to; None: it does not care."""

    def ancestors(self) -> tuple[Task, ...]:
        """Return who is above, from the parent upwards, without pid 1."""
        if self.parent is None:
            return ()
        return self.parent, *self.parent.ancestors()


def _home(person: Person) -> str:
    return "/root" if person.uid == 0 else f"/home/{person.name}"


def shell(pid: int, started_s: float, person: Person) -> Task:
    """Return a login shell in a tmux server that outlives it."""
    tmux = Task(
        pid=pid - 1,
        started_s=started_s - 2.0,
        person=person,
        comm="tmux: server",
        argv=("tmux", "new-session", "-s", "work"),
    )
    return Task(
        pid=pid, started_s=started_s, person=person, comm="bash", argv=("-bash",), parent=tmux
    )


def sglang_server(pid: int, started_s: float, model: str, ranks: int) -> Task:
    """Return an SGLang server; its main process keeps its command line and holds no memory."""
    argv = ("python3", "-m", "sglang.launch_server", "--model-path", f"/models/{model}")
    return Task(
        pid=pid,
        started_s=started_s,
        person=ROOT,
        comm="python3",
        argv=(*argv, "--tp-size", str(ranks), "--host", "0.0.0.0", "--port", "30000"),
        ports=(30_000,),
        clients=1,
        parent=shell(pid - 61, started_s - 3600.0, ROOT),
    )


def sglang_scheduler(
    pid: int,
    started_s: float,
    rank: int,
    server: Task | None,
    *,
    keeper: int = 0,
    exit_s: float | None = 0.6,
) -> Task:
    """Return one rank of an SGLang server: the process that holds the memory.

    With a `keeper` it is dead, and that pid has its handles.
    """
    return Task(
        pid=pid,
        started_s=started_s,
        person=ROOT,
        comm="sglang::schedul",
        argv=(f"sglang::scheduler_TP{rank}",),
        parent=server,
        is_dead=bool(keeper),
        keeper=keeper,
        exit_s=exit_s,
    )


def forked(pid: int, started_s: float, dead: Task) -> Task:
    """Return a child that a dead process forked: it has its title, its group and its handles."""
    return Task(
        pid=pid,
        started_s=started_s,
        person=dead.person,
        comm=dead.comm,
        argv=dead.argv,
        group=dead.pid,
        exit_s=None,
    )


def daemon(pid: int, started_s: float, *argv: str, person: Person = ROOT) -> Task:
    """Return a program that runs since long ago and belongs to nobody's work."""
    comm = argv[0].rpartition("/")[2][:15]
    return Task(pid=pid, started_s=started_s, person=person, comm=comm, argv=argv)


def vllm_server(pid: int, started_s: float, model: str, port: int, ranks: int = 1) -> Task:
    """Return vLLM's API server, started by its console script."""
    argv = ("/opt/vllm/bin/python", "/opt/vllm/bin/vllm", "serve", model)
    spread = ("--tensor-parallel-size", str(ranks)) if ranks > 1 else ()
    return Task(
        pid=pid,
        started_s=started_s,
        person=ROOT,
        comm="vllm",
        argv=(*argv, *spread, "--port", str(port)),
        ports=(port,),
        clients=2,
        exit_s=0.5,
        parent=shell(pid - 44, started_s - 900.0, ROOT),
    )


def vllm_engine(server: Task) -> Task:
    """Return vLLM's engine; with one rank it holds the memory itself."""
    return Task(
        pid=server.pid + 64,
        started_s=server.started_s + 9.0,
        person=server.person,
        comm="VLLM::EngineCor",
        argv=("VLLM::EngineCore",),
        parent=server,
    )


def vllm_worker(engine: Task, rank: int) -> Task:
    """Return one tensor-parallel worker of vLLM."""
    return Task(
        pid=engine.pid + 131 + rank,
        started_s=engine.started_s + 4.0,
        person=engine.person,
        comm="VLLM::Worker_TP",
        argv=(f"VLLM::Worker_TP{rank}",),
        parent=engine,
    )


def notebook(pid: int, started_s: float, person: Person) -> Task:
    """Return a notebook's kernel below a Jupyter server."""
    server = Task(
        pid=pid - 290,
        started_s=started_s - 700.0,
        person=person,
        comm="jupyter-lab",
        argv=(f"{_home(person)}/venv/bin/python", "jupyter-lab", "--no-browser"),
    )
    kernel = f"{_home(person)}/.local/share/jupyter/runtime/kernel-{pid:08x}.json"
    return Task(
        pid=pid,
        started_s=started_s,
        person=person,
        comm="python",
        argv=(server.argv[0], "-m", "ipykernel_launcher", "-f", kernel),
        parent=server,
    )


def script(pid: int, started_s: float, person: Person, name: str) -> Task:
    """Return a plain `python NAME` of somebody, started from a shell."""
    return Task(
        pid=pid,
        started_s=started_s,
        person=person,
        comm="python",
        argv=("python", name),
        parent=shell(pid - 37, started_s - 300.0, person),
    )


def torchrun(pid: int, started_s: float, person: Person, ranks: int) -> Task:
    """Return torchrun's agent: it holds no memory and starts the ranks."""
    home = f"{_home(person)}/venv/bin"
    return Task(
        pid=pid,
        started_s=started_s,
        person=person,
        comm="torchrun",
        argv=(f"{home}/python", f"{home}/torchrun", f"--nproc-per-node={ranks}", "train.py"),
        parent=shell(pid - 52, started_s - 1200.0, person),
    )


def torch_rank(pid: int, started_s: float, person: Person, agent: Task | None) -> Task:
    """Return one rank of a training run."""
    return Task(
        pid=pid,
        started_s=started_s,
        person=person,
        comm="pt_main_thread",
        argv=(f"{_home(person)}/venv/bin/python", "-u", "train.py"),
        parent=agent,
    )
