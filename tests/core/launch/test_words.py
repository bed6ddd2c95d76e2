"""Scopes that environments name, what commands are called, and who returns at once."""

from __future__ import annotations

import shlex

import pytest

from gpudash.core.errors import UsageError
from gpudash.core.launch.detaching import returned_words, starter_of
from gpudash.core.launch.spec import Spec, parse_env, visible_scope


def scope_of(line: str, ours: str | None = None, **env: str) -> tuple[list[str], str]:
    scope, where = visible_scope(Spec(argv=tuple(shlex.split(line)), env=env), ours)
    return [item.text for item in scope.items] if scope else [], where


def test_the_nearest_word_counts() -> None:
    line = "env CUDA_VISIBLE_DEVICES=2,3 python t.py"
    assert scope_of(line, "0", CUDA_VISIBLE_DEVICES="1") == (
        ["2", "3"],
        "CUDA_VISIBLE_DEVICES in the command",
    )
    assert scope_of("python t.py", "0", CUDA_VISIBLE_DEVICES="1")[1].endswith("--env")
    assert scope_of("t", "GPU-12ab, 3")[0] == ["GPU-12ab", "3"]
    assert scope_of("t") == ([], "")
    assert scope_of("t", "0,1,-1,2")[0] == ["0", "1"]


@pytest.mark.parametrize("value", ["", "-1", "NoDevFiles", "0,,1", ","])
def test_no_gpu_is_no_scope(value: str) -> None:
    with pytest.raises(UsageError, match="CUDA_VISIBLE_DEVICES"):
        scope_of("t", value)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("python -m sglang.launch_server --port 1", "sglang"),
        ("env A=b python3 /a/train.py", "train.py"),
        ("vllm serve /m", "vllm"),
        ("/usr/bin/make train", "make"),
        ("python", "python"),
        ("A=b", "A=b"),
    ],
)
def test_what_it_is_called(line: str, name: str) -> None:
    assert Spec(argv=tuple(shlex.split(line))).name == name


def test_secrets_are_masked() -> None:
    assert "s3cret" not in Spec(argv=("serve", "--api-key", "s3cret")).masked


def test_env() -> None:
    assert parse_env(["A=b", "C=d=e", "F="]) == {"A": "b", "C": "d=e", "F": ""}
    for word in ("A", "=b", "A B=c", "1A=b"):
        with pytest.raises(UsageError, match="--env"):
            parse_env([word])


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("docker compose up -d", "--container"),
        ("docker run -d image", "--container"),
        ("sudo -n systemctl start vllm", "--unit"),
        ("sbatch job.sh", "--log"),
        ("tmux new -d -s x serve", "--log"),
        ("CUDA_VISIBLE_DEVICES=0 nohup ./serve", "--log"),
    ],
)
def test_who_returns_at_once(line: str, names: str) -> None:
    argv = tuple(shlex.split(line))
    assert starter_of(argv) is not None
    assert names in returned_words(argv)
    assert "goes on" in returned_words(argv)


@pytest.mark.parametrize("line", ["docker ps", "python t.py", "systemctl status x", "", "A=b"])
def test_who_does_not(line: str) -> None:
    argv = tuple(shlex.split(line))
    assert starter_of(argv) is None
    assert "--container NAME, --unit NAME or --log FILE" in returned_words(argv)
