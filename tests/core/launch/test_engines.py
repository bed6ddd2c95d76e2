"""What command lines name, engine by engine."""

from __future__ import annotations

import shlex

import pytest

from gpudash.core.launch.checks import Kind
from gpudash.core.launch.engines import checks_of, engine_of


def named(line: str) -> dict[str, object]:
    """Return what a command line asks for: port, paths, count of GPUs."""
    found: dict[str, object] = {}
    for check in checks_of(tuple(shlex.split(line))):
        match check.kind:
            case Kind.PORT_FREE:
                found["port"] = check.arguments["port"]
                if "host" in check.arguments:
                    found["host"] = check.arguments["host"]
            case Kind.PATH_EXISTS:
                found.setdefault("paths", [])
                found["paths"].append(check.arguments["path"])  # type: ignore[attr-defined]
            case Kind.GPUS:
                found["gpus"] = check.arguments["count"]
    return found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "python -m sglang.launch_server --model-path /models/k2 --tp 8 --port 30001",
            {"port": 30001, "paths": ["/models/k2"], "gpus": 8},
        ),
        ("python3 -m sglang.launch_server --model org/model", {"port": 30000}),
        (
            "/opt/v/bin/python3.11 -u -m sglang.launch_server --model=~/m --tp-size=4 --pp-size 2 "
            "--nnodes 2 --speculative-draft-model-path ./d --host 0.0.0.0",
            {"port": 30000, "host": "0.0.0.0", "paths": ["~/m", "./d"], "gpus": 4},
        ),
        ("sglang serve --model-path a/b --tensor_parallel_size 2", {"port": 30000, "gpus": 2}),
        (
            "CUDA_VISIBLE_DEVICES=0,1 vllm serve /models/x -tp 2 --port=8100 --port 8101",
            {"port": 8101, "paths": ["/models/x"], "gpus": 2},
        ),
        (
            "env A=b numactl -N 0 python -m vllm.entrypoints.openai.api_server --model ./m "
            "--tensor_parallel_size 4 --pipeline-parallel-size 2 --host ::1",
            {"port": 8000, "host": "::1", "paths": ["./m"], "gpus": 8},
        ),
        ("vllm serve org/model --enforce-eager", {"port": 8000}),
        (
            "trtllm-serve /engines/x --tp_size 8 --port 9000",
            {"port": 9000, "paths": ["/engines/x"], "gpus": 8},
        ),
        (
            "trtllm-serve serve /engines/x --tp_size 2",
            {"port": 8000, "paths": ["/engines/x"], "gpus": 2},
        ),
        (
            "./build/bin/llama-server -m models/a.gguf --port 8081 -ngl 99",
            {"port": 8081, "paths": ["models/a.gguf"]},
        ),
        (
            "text-generation-launcher --model-id /data/m --num-shard 4",
            {"port": 3000, "paths": ["/data/m"], "gpus": 4},
        ),
        (
            "lmdeploy serve api_server /models/q --tp 2 --server-port 23334",
            {"port": 23334, "paths": ["/models/q"], "gpus": 2},
        ),
        (
            "torchrun --nproc_per_node 8 train.py --port 5 --nproc_per_node 3",
            {"port": 29500, "paths": ["train.py"], "gpus": 8},
        ),
        (
            "torchrun --standalone --nproc-per-node=4 /a/train.py",
            {"paths": ["/a/train.py"], "gpus": 4},
        ),
        ("torchrun --nproc_per_node gpu -m pkg.train", {"port": 29500}),
        ("python -m torch.distributed.run --nproc_per_node 2 --master_port 1234 t.py",
         {"port": 1234, "paths": ["t.py"], "gpus": 2}),
        ("torchrun --nnodes 2 --node_rank 1 --nproc_per_node 8 t", {"paths": ["t"], "gpus": 8}),
        ("accelerate launch --num_processes 8 --num_machines 2 t.py", {"gpus": 4}),
        ("deepspeed --num_gpus 4 train.py --deepspeed c.json", {"gpus": 4}),
    ],
)  # fmt: skip
def test_what_is_named(line: str, expected: dict[str, object]) -> None:
    assert named(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        "python train.py --port 8000",
        "python my_torchrun_wrapper.py torchrun",
        "make serve",
        "docker run --gpus all image vllm serve /models/x --port 8000",
        "srun -N2 torchrun --nproc_per_node 8 t.py",
        "bash -c 'vllm serve x'",
        "python -c 'import vllm' vllm serve",
        "python",
        "echo",
    ],
)
def test_what_names_nothing(line: str) -> None:
    assert named(line) == {}


def test_who_asks_is_said() -> None:
    (port, model, gpus) = checks_of(("vllm", "serve", "/m", "-tp", "2"), cwd="/srv")
    assert port.origin == "vllm: its default"
    assert (model.origin, model.arguments) == ("vllm: model", {"path": "/m", "cwd": "/srv"})
    assert gpus.origin == "vllm: -tp"


def test_the_words_behind_the_name() -> None:
    found = engine_of(("python", "-m", "sglang.launch_server", "--tp", "8"))
    assert found is not None
    assert (found[0].name, found[1]) == ("sglang", ("--tp", "8"))
