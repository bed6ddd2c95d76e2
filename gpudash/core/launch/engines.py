"""What an engine's command line names: its port, its model, how many GPUs it wants. As data.

Flags as in the engines' own argument parsers (SGLang 0.5, vLLM 0.11, TensorRT-LLM 1.1, llama.cpp,
TGI 3, LMDeploy 0.9, torch 2.9, accelerate 1, DeepSpeed 0.18). `-` and `_` are one in long flags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpudash.core.launch.checks import Check, Kind

GPU_COUNT = "GPUs"
_ELSEWHERE = frozenset(
    {
        *("docker", "podman", "nerdctl", "kubectl", "apptainer", "singularity", "ssh", "ray"),
        *("srun", "sbatch", "salloc", "mpirun", "mpiexec"),
        *("systemctl", "systemd-run", "tmux", "screen"),
    }
)
"""What runs somewhere else, where other ports and paths count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine or launcher."""

    name: str
    programs: tuple[str, ...]
    """What the program, its module or its script is called: several words follow each other."""
    port: tuple[str, ...] = ()
    default_port: int | None = None
    no_port: tuple[str, ...] = ()
    """With one of these it takes no port of its own."""
    host: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Flags whose value is a path or, like `org/model`, a name in a hub."""
    files: tuple[str, ...] = ()
    """Flags whose value is a path whatever it looks like."""
    has_model_word: bool = False
    """The model may be the first word that is no flag."""
    has_script: bool = False
    """The first word that is no flag is a script."""
    sizes: tuple[tuple[str, ...], ...] = ()
    """Flags of sizes whose product is the number of GPUs, over all nodes."""
    nodes: tuple[str, ...] = ()
    counts: tuple[str, ...] = ()
    """Flags of the number of GPUs on this node."""
    bare: tuple[str, ...] = ()
    """Flags without a value, where a word follows that is the model or the script."""


ENGINES = (
    Engine(
        name="sglang",
        programs=("sglang.launch_server", "sglang serve"),
        port=("--port",),
        default_port=30000,
        host=("--host",),
        paths=(
            "--model-path",
            "--model",
            "--speculative-draft-model-path",
            "--speculative-draft-model",
            "--tokenizer-path",
        ),
        sizes=(("--tp", "--tp-size", "--tensor-parallel-size"), ("--pp-size", "--pp")),
        nodes=("--nnodes",),
    ),
    Engine(
        name="vllm",
        programs=(
            "vllm serve",
            "vllm.entrypoints.openai.api_server",
            "vllm.entrypoints.api_server",
        ),
        port=("--port",),
        default_port=8000,
        host=("--host",),
        paths=("--model", "--tokenizer"),
        has_model_word=True,
        sizes=(("--tensor-parallel-size", "-tp"), ("--pipeline-parallel-size", "-pp")),
        nodes=("--nnodes",),
    ),
    Engine(
        name="tensorrt-llm",
        programs=("trtllm-serve serve", "trtllm-serve"),
        port=("--port",),
        default_port=8000,
        host=("--host",),
        paths=("--tokenizer",),
        has_model_word=True,
        sizes=(("--tp-size",), ("--pp-size",)),
    ),
    Engine(
        name="llama.cpp",
        programs=("llama-server",),
        port=("--port",),
        default_port=8080,
        host=("--host",),
        files=("-m", "--model", "-md", "--model-draft", "-mm", "--mmproj"),
    ),
    Engine(
        name="tgi",
        programs=("text-generation-launcher",),
        port=("--port", "-p"),
        default_port=3000,
        paths=("--model-id",),
        counts=("--num-shard",),
    ),
    Engine(
        name="lmdeploy",
        programs=("lmdeploy serve api_server",),
        port=("--server-port",),
        default_port=23333,
        host=("--server-name",),
        has_model_word=True,
        sizes=(("--tp",),),
        nodes=("--nnodes",),
    ),
    Engine(
        name="torchrun",
        programs=("torchrun", "torch.distributed.run", "torch.distributed.launch"),
        port=("--master-port",),
        default_port=29500,
        no_port=("--standalone", "--rdzv-backend", "--rdzv-endpoint", "--node-rank"),
        counts=("--nproc-per-node",),
        has_script=True,
        bare=("--standalone", "-m", "--module", "--no-python"),
    ),
    Engine(
        name="accelerate",
        programs=("accelerate launch", "accelerate.commands.launch"),
        port=("--main-process-port",),
        sizes=(("--num-processes", "-n"),),
        nodes=("--num-machines",),
    ),
    Engine(
        name="deepspeed",
        programs=("deepspeed",),
        port=("--master-port",),
        counts=("--num-gpus",),
    ),
)


def engine_of(argv: tuple[str, ...]) -> tuple[Engine, tuple[str, ...]] | None:
    """Return the engine that a command starts, and the words behind its name."""
    words = list(without_env(argv)[1])
    while words:
        word = words.pop(0)
        if _base(word) in _ELSEWHERE:
            return None
        for engine in ENGINES:
            for program in engine.programs:
                first, *rest = program.split(" ")
                if _is_called(_base(word), first) and words[: len(rest)] == rest:
                    return engine, tuple(words[len(rest) :])
        if word.endswith(".py") or word == "-c":
            # Somebody's own program: what follows are its words.
            return None
    return None


def _is_called(name: str, program: str) -> bool:
    """Tell whether a word names a program, a module, or the module's own file."""
    return name in (program, f"{program.rpartition('.')[2]}.py")


def _base(word: str) -> str:
    return word.rpartition("/")[2]


def without_env(argv: tuple[str, ...]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what `env A=B …` or `A=B` in front of a command sets, and the command."""
    found: dict[str, str] = {}
    words = list(argv)
    if words and _base(words[0]) == "env":
        words.pop(0)
    while words and re.match(r"[A-Za-z_]\w*=", words[0]):
        name, _, value = words.pop(0).partition("=")
        found[name] = value
    return found, tuple(words)


# -- checks ------------------------------------------------------------------------------------


def checks_of(argv: tuple[str, ...], *, cwd: str | None = None) -> tuple[Check, ...]:
    """Return what a command line alone says must hold; none where it names no known engine."""
    found = engine_of(argv)
    if found is None:
        return ()
    engine, words = found
    flags = _Flags(words, engine)
    at: dict[str, object] = {} if cwd is None else {"cwd": cwd}
    return (*_ports(engine, flags), *_paths(engine, flags, at), *_counts(engine, flags))


class _Flags:
    """The flags of a command line; the last word on a subject counts, as in argparse."""

    def __init__(self, words: tuple[str, ...], engine: Engine) -> None:
        self.values: dict[str, str] = {}
        self.word: str | None = None
        """The first word that is no flag and no value of one."""
        rest = list(words)
        while rest:
            word = rest.pop(0)
            if word == "--":
                continue
            if not word.startswith("-") or word == "-":
                self.word = self.word or word
                if engine.has_script:
                    return
                continue
            name, has_value, value = word.partition("=")
            name = _normal(name)
            if not has_value and name not in engine.bare and rest and not _is_flag(rest[0]):
                value = rest.pop(0)
            self.values[name] = value

    def get(self, names: tuple[str, ...]) -> tuple[str, str] | None:
        """Return the flag of these that is there, and its value."""
        return next(((name, self.values[name]) for name in names if name in self.values), None)


def _normal(flag: str) -> str:
    return flag.replace("_", "-") if flag.startswith("--") else flag


def _is_flag(word: str) -> bool:
    return word.startswith("-") and not re.fullmatch(r"-\d+(?:\.\d+)?", word)


def _ports(engine: Engine, flags: _Flags) -> Iterator[Check]:
    named = flags.get(engine.port)
    text, origin = (named[1], named[0]) if named else (str(engine.default_port), "its default")
    if not text.isdigit() or not 0 < int(text) < 65536:
        return
    if named is None and flags.get(engine.no_port):
        return
    host = flags.get(engine.host)
    arguments: dict[str, object] = {"port": int(text)}
    if host and re.fullmatch(r"[\d.]+|[\da-f:]*:[\da-f:]+", host[1]):
        arguments["host"] = host[1]
    yield Check(
        name=f"port {text}",
        kind=Kind.PORT_FREE,
        origin=f"{engine.name}: {origin}",
        arguments=arguments,
    )


def _paths(engine: Engine, flags: _Flags, at: dict[str, object]) -> Iterator[Check]:
    named = [(name, flags.values[name]) for name in engine.paths if name in flags.values]
    if engine.has_model_word and flags.word:
        named.append(("model", flags.word))
    found = [(name, value) for name, value in named if is_path(value)]
    found += [(name, flags.values[name]) for name in engine.files if name in flags.values]
    if engine.has_script and flags.word and not flags.get(("-m", "--module", "--no-python")):
        found.append(("script", flags.word))
    for name, value in found:
        yield Check(
            name=f"{name} {value}",
            kind=Kind.PATH_EXISTS,
            origin=f"{engine.name}: {name}",
            arguments={"path": value, **at},
        )


def is_path(text: str) -> bool:
    """Tell whether a model is named by a path; `org/model` is a name in a hub."""
    return text.startswith(("/", "./", "../", "~")) or text in (".", "..")


def _counts(engine: Engine, flags: _Flags) -> Iterator[Check]:
    count, names = 1, []
    for flag in engine.sizes:
        named = flags.get(flag)
        if named and named[1].isdigit():
            count *= int(named[1])
            names.append(named[0])
    nodes = flags.get(engine.nodes)
    if nodes and nodes[1].isdigit() and int(nodes[1]) > 1:
        count = -(-count // int(nodes[1]))
    named = flags.get(engine.counts)
    if named and named[1].isdigit():
        count, names = int(named[1]), [named[0]]
    if names and count:
        yield Check(
            name=GPU_COUNT,
            kind=Kind.GPUS,
            origin=f"{engine.name}: {', '.join(names)}",
            arguments={"count": count},
        )
