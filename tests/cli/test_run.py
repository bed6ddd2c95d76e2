"""The words of `gpudash run`: what is no command, and what does not go together."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.running import Runner

CMD = ("--", "true")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "run what?"),
        (("--",), "no command follows --"),
        (("--", ""), "the command after -- is an empty word"),
        (("--zero", "--gpus", "1", *CMD), "--zero and --gpus exclude each other"),
        (("--free", "1GiB", *CMD), "--free belongs to --gpus"),
        (("--gpus", "0", *CMD), "must be at least 1"),
        (("--yes", *CMD), "--yes belongs to --clean"),
        (("--pid", "7", *CMD), "--pid belongs to --clean"),
        (("--env", "A", *CMD), "--env A: not K=V"),
        (("--cwd", "", *CMD), "--cwd is empty"),
        (("--url", "localhost:1", *CMD), "begins with http"),
        (("--container", "a", "--unit", "b", *CMD), "one source at a time"),
        (("--foreground", "--unit", "b", *CMD), "--foreground shows CMD's own output"),
        (("--preflight", "nothing", *CMD), "unknown preflight nothing"),
        (("--report", "/no/such/x", *CMD), "--report /no/such/x can't be written"),
        (("--format", "yaml", *CMD), "unknown format yaml"),
        (("--host", "a[1-2]", *CMD), "--host a[1-2] names 2 hosts"),
        (("--gpus", "1", "--host", "gpu-a", *CMD), "--gpus chooses and claims GPUs"),
        (("--gpu", "x", *CMD), "neither an index"),
        (("extra", *CMD), "unexpected word extra"),
        (("--timeout", "soon", *CMD), "--timeout"),
        (("--", "echo", "x" * 70_000), "longer than 60 KiB"),
    ],
)  # fmt: skip
def test_what_does_not_go(gpudash_command: Runner, words: tuple[str, ...], said: str) -> None:
    done = gpudash_command(None, "run", *words)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""


def test_a_scope_that_leaves_no_gpu(gpudash_command: Runner) -> None:
    done = gpudash_command(None, "run", *CMD, CUDA_VISIBLE_DEVICES="")
    assert done.code == 2
    assert "leaves the command no GPU" in done.err


def test_a_machine_without_a_driver_launches_what_asks_for_no_gpu(
    gpudash_command: Runner, tmp_path: Path
) -> None:
    words = ("--cwd", str(tmp_path), "--format", "json", "--", "sh", "-c", "echo hi; exit 3")
    path = os.environ["PATH"]
    done = gpudash_command(None, "run", *words, PATH=path)
    assert done.code == 7, done.err
    (log,) = tmp_path.glob("sh-*.log")
    assert log.read_text() == "hi\n"
    asks = ("--cwd", str(tmp_path), "--", "vllm", "serve", "org/model", "-tp", "2")
    done = gpudash_command(None, "run", *asks, PATH=path)
    assert done.code == 4, done.err
    assert len(list(tmp_path.iterdir())) == 1


def test_help(gpudash_command: Runner) -> None:
    done = gpudash_command(None, "run", "--help")
    assert done.code == 0
    assert "7 failed whatever CMD returned" in done.out.replace("\n", " ").replace("  ", " ")
