"""Claims: one process has a GPU, and nobody keeps it longer than that process lives."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

import pytest

from gpudash.sources.claims import Claims

HOLDER = """
import subprocess, sys
from gpudash.sources.claims import Claims
claims = Claims()
print(len(claims.take([sys.argv[1]], 1)), flush=True)
child = subprocess.Popen(["sleep", "60"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def gpus() -> list[str]:
    """UUIDs that no other test claims at the same time."""
    return [f"GPU-{uuid.uuid4()}" for _ in range(4)]


def test_each_gpu_has_one_owner(gpus: list[str]) -> None:
    ours, others = Claims(), Claims()
    try:
        assert ours.take(gpus, 2) == tuple(gpus[:2])
        assert others.take(gpus, 2) == tuple(gpus[2:])
        assert Claims().take(gpus, 1) == ()
    finally:
        ours.release()
        others.release()


def test_too_few_is_none_and_keeps_none(gpus: list[str]) -> None:
    ours, others = Claims(), Claims()
    try:
        assert ours.take(gpus[:3], 3) == tuple(gpus[:3])
        assert others.take(gpus, 2) == ()
        assert others.uuids == ()
        ours.release()
        assert others.take(gpus, 4) == tuple(gpus)
        assert others.take(gpus, 4) == tuple(gpus)
    finally:
        ours.release()
        others.release()


def test_everybody_who_waits_has_a_place(gpus: list[str]) -> None:
    first, second, elsewhere = Claims(), Claims(), Claims()
    try:
        assert [first.place(gpus[0]), second.place(gpus[0]), elsewhere.place(gpus[1])] == [0, 1, 0]
        first.close()
        first = Claims()
        assert first.place(gpus[0]) == 0
    finally:
        for one in (first, second, elsewhere):
            one.close()


def test_a_killed_owner_keeps_nothing_and_neither_do_its_children(gpus: list[str]) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", HOLDER, gpus[0]], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    assert owner.stdin is not None
    claims = Claims()
    child = 0
    try:
        assert owner.stdout.readline() == b"1\n"
        child = int(owner.stdout.readline())
        assert claims.take(gpus, 1) == (gpus[1],)
        claims.release()
        owner.kill()
        owner.wait()
        os.kill(child, 0)
        assert claims.take(gpus, 1) == (gpus[0],)
    finally:
        claims.release()
        owner.kill()
        owner.wait()
        owner.stdin.close()
        owner.stdout.close()
        if child:
            os.kill(child, 9)
