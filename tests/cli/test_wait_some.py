"""`gpudash wait --gpus N`: GPUs that held, nobody else's, and one owner each."""

from __future__ import annotations

import json
import os
import select
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gpudash.sources.claims import Claims
from tests.cli import schema
from tests.cli.running import Runner
from tests.cli.test_check import in_a_container
from tests.cli.test_wait import read_until, record, waiting
from tests.fake_driver import MIB, FakeDriver, Holder, Instance

GIB = 1024 * MIB
FAST = ("--hold", "250ms", "--timeout", "60s")
SLOW = ("--hold", "250ms", "--timeout", "5s")
SHOW = ("--", "sh", "-c", 'echo "$CUDA_DEVICE_ORDER $CUDA_VISIBLE_DEVICES"')
STAY = ("--", "sh", "-c", 'echo "$CUDA_VISIBLE_DEVICES"; read line')


@pytest.fixture
def env(gpudash_command: Runner, tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state"), "PATH": os.environ["PATH"]}


@pytest.fixture
def driver(fake_driver: FakeDriver) -> FakeDriver:
    """Eight GPUs that no other test claims."""
    gpus = tuple(replace(gpu, uuid=f"GPU-{uuid.uuid4()}") for gpu in fake_driver.state.gpus)
    return fake_driver.with_state(gpus=gpus).write()


def held(driver: FakeDriver, *gpus: int) -> FakeDriver:
    for gpu in gpus:
        driver = driver.with_used(gpu, GIB)
    return driver.write()


def uuids(driver: FakeDriver) -> list[str]:
    return [gpu.uuid for gpu in driver.state.gpus]


def test_the_command_sees_its_gpus_and_no_other(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    busy = held(driver, 0, 2)
    done = gpudash_command(busy, "wait", "--gpus", "2", *FAST, *SHOW, **env)
    assert (done.code, done.out) == (0, "PCI_BUS_ID 1,3\n")
    claim = next(line for line in record(env) if line["kind"] == "claim")
    assert [one["index"] for one in claim["claimed"]] == [1, 3]
    assert [one["uuid"] for one in claim["claimed"]] == [uuids(driver)[1], uuids(driver)[3]]


def test_by_uuid_in_scope_and_in_place_of_what_was_set(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    words = ("wait", "--gpus", "1", "--gpu", "5-6", "--as", "uuid", *FAST, *SHOW)
    done = gpudash_command(driver, *words, CUDA_VISIBLE_DEVICES="0", **env)
    assert (done.code, done.out) == (0, f"PCI_BUS_ID {uuids(driver)[5]}\n")
    assert "CUDA_VISIBLE_DEVICES=0 is replaced" in done.err


def test_json_names_what_was_chosen(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    done = gpudash_command(driver, "wait", "--gpus", "2", *FAST, "--format", "json", **env)
    document = json.loads(done.out)
    schema.check(document, schema.WAIT)
    assert [gpu["index"] for gpu in document["chosen"]] == [0, 1]
    assert len(document["proofs"]) == 8


def test_a_claimed_gpu_is_not_chosen(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    claims = Claims()
    assert claims.take(uuids(driver)[:3], 3)
    try:
        done = gpudash_command(driver, "wait", "--gpus", "2", *FAST, *SHOW, **env)
        assert done.out == "PCI_BUS_ID 3,4\n"
        words = ("wait", "--gpus", "6", "--hold", "250ms", "--timeout", "2s", *SHOW)
        done = gpudash_command(driver, *words, **env)
        assert (done.code, done.out) == (5, "")
        assert "claimed by others" in done.err
        assert "unclaimed" in done.err
    finally:
        claims.release()


def test_two_at_once_have_disjoint_pairs(
    gpudash_command: Runner, driver: FakeDriver, tmp_path: Path
) -> None:
    """Four GPUs can be had. What a burst does to a hold is in tests/services/test_some.py."""
    busy = held(driver, 0, 1, 2, 5)
    with ExitStack() as stack:
        waits = [
            stack.enter_context(started(gpudash_command, busy, tmp_path / name))
            for name in ("one", "two")
        ]
        pairs = [first_line(process).split(",") for process in waits]
        assert sorted(pairs[0] + pairs[1]) == ["3", "4", "6", "7"]
        for process in waits:
            process.communicate("\n", timeout=60)


@contextmanager
def started(runner: Runner, driver: FakeDriver, state: Path) -> Iterator[subprocess.Popen[str]]:
    env = {"XDG_STATE_HOME": str(state), "PATH": os.environ["PATH"]}
    words = ("--gpus", "2", *FAST, *STAY)
    with waiting(runner, driver, env, *words) as process:
        yield process


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_killed_waiter_frees_its_claim(
    gpudash_command: Runner, driver: FakeDriver, tmp_path: Path
) -> None:
    """Three GPUs can be had: the second of two waits has its pair when the first one is gone."""
    busy = held(driver, 0, 1, 2, 3, 5)
    with (
        started(gpudash_command, busy, tmp_path / "one") as first,
        started(gpudash_command, busy, tmp_path / "two") as second,
    ):
        waits = {process.stdout: process for process in (first, second)}
        ready, _, _ = select.select(list(waits), [], [], 60)
        winner = waits[ready[0]]
        other = second if winner is first else first
        assert set(first_line(winner).split(",")) <= {"4", "6", "7"}
        read_until(other, "claimed by others")
        winner.kill()
        winner.wait()
        assert len(set(first_line(other).split(",")) & {"4", "6", "7"}) == 2
        other.communicate("\n", timeout=60)
        # Its command goes on by itself; it ends with its stdin.
        assert winner.stdin is not None
        winner.stdin.close()


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (lambda driver: driver.lose(0).lose(1), 4, "only 6 GPUs can ever be had"),
        (lambda driver: driver.lose(0).with_gpu(1, recovery=1), 4, "only 6 GPUs"),
        (lambda driver: driver.with_gpu(0, recovery=1).with_gpu(1, recovery=1), 6, "only 6 GPUs"),
        (lambda driver: driver.with_init_error(9), 4, "driver"),
        (lambda driver: driver.with_state(gpus=()), 4, "0 GPUs"),
    ],
    ids=["lost", "lost and reset", "reset", "no driver", "none"],
)
def test_too_few_for_ever(
    gpudash_command: Runner,
    driver: FakeDriver,
    env: dict[str, str],
    change: object,
    code: int,
    words: str,
) -> None:
    changed = change(driver).write()  # type: ignore[operator]
    done = gpudash_command(changed, "wait", "--gpus", "7", "--timeout", "1h", *SHOW, **env)
    assert (done.code, done.out) == (code, "")
    assert words in done.err


def test_a_lost_gpu_is_no_end_where_enough_are_left(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    sick = driver.lose(0).with_gpu(1, recovery=1).write()
    done = gpudash_command(sick, "wait", "--gpus", "6", *FAST, *SHOW, **env)
    assert done.out == "PCI_BUS_ID 2,3,4,5,6,7\n"


def test_a_mig_gpu_is_not_given_as_a_whole(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    mig = driver.with_gpu(0, mig=(1, 1), instances=(Instance(1, 0, "MIG-a"),)).write()
    done = gpudash_command(mig, "wait", "--gpus", "1", *FAST, *SHOW, **env)
    assert done.out == "PCI_BUS_ID 1\n"


# -- free memory -------------------------------------------------------------------------------


def test_free_memory_beside_ones_own_process(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    """The driver's reserve is not free; memory that nobody can be named for is not ours."""
    busy = driver.with_used(1, 100 * GIB).with_used(2, GIB).write()
    words = ("wait", "--gpus", "2", "--free", "100GiB", "--gpu", "0-3", *SLOW, *SHOW)
    with Holder(busy, gpus=(0,), used=10 * GIB):
        done = gpudash_command(busy, *words, **env)
    # In a pid namespace of its own nobody can tell whose a listed process is.
    expected = (5, "") if in_a_container() else (0, "PCI_BUS_ID 0,3\n")
    assert (done.code, done.out) == expected


def test_no_size_is_too_large_to_wait_for(
    gpudash_command: Runner, driver: FakeDriver, env: dict[str, str]
) -> None:
    words = ("wait", "--gpus", "1", "--free", "200GiB", "--hold", "250ms", "--timeout", "1s")
    done = gpudash_command(driver, *words, **env)
    assert done.code == 5
    assert "of 200.0 GiB wanted" in done.err
