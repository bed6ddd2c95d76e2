"""`gpudash stream`: samples and changes of the link, one JSON object a line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.cli import schema
from tests.cli.running import Runner, children_of, command, is_running, wait_for
from tests.fake_driver import MIB, FakeDriver

FAST = ("stream", "--interval", "100ms")


def lines_of(text: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        is_sample = line["schema"] == "gpudash.sample/1"
        schema.check(line, schema.SAMPLE if is_sample else schema.LINK)
    return lines


@contextmanager
def running(runner: Runner, driver: FakeDriver, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a stream and wait for its first sample."""
    with subprocess.Popen(
        command(*FAST, *words),
        env=runner.env(driver),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            while "gpudash.sample" not in process.stdout.readline():
                assert process.poll() is None
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def test_a_count(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    driver = fake_driver.with_used(3, MIB).write()
    done = gpudash_command(driver, *FAST, "--count", "3")
    lines = lines_of(done.out)
    assert (done.code, done.err) == (0, "")
    assert lines[0]["link"] == "live"
    samples = [line for line in lines if line["schema"] == "gpudash.sample/1"]
    assert [line["seq"] for line in samples] == [1, 2, 3]
    assert [gpu["used_bytes"] for gpu in samples[0]["gpus"]] == [0, 0, 0, MIB, 0, 0, 0, 0]
    assert not samples[0]["simulated"]


@pytest.mark.parametrize("code", [9, 18])
def test_no_driver_ends_it(gpudash_command: Runner, fake_driver: FakeDriver, code: int) -> None:
    done = gpudash_command(fake_driver.with_init_error(code).write(), *FAST)
    assert done.code == 4
    assert [line["link"] for line in lines_of(done.out)] == ["down"]
    assert done.err.startswith("gpudash: local: ")


def test_no_gpus_ends_it(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    done = gpudash_command(fake_driver.with_state(gpus=()).write(), *FAST)
    assert done.code == 4
    assert "0 GPUs" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("--interval", "1"),
        ("--interval", "10ms"),
        ("--interval", "2h"),
        ("--count", "0"),
        ("--count", "x"),
        ("--cuont", "3"),
    ],
    ids=" ".join,
)
def test_wrong_words(
    gpudash_command: Runner, fake_driver: FakeDriver, words: tuple[str, ...]
) -> None:
    done = gpudash_command(fake_driver, "stream", *words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("gpudash: ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted(
    gpudash_command: Runner, fake_driver: FakeDriver, number: signal.Signals
) -> None:
    with running(gpudash_command, fake_driver) as process:
        probes = children_of(process.pid)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (130, "")
    assert probes
    wait_for(lambda: not any(is_running(pid) for pid in probes))


def test_a_reader_that_leaves_ends_it(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    with running(gpudash_command, fake_driver) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_a_full_disk_ends_it(gpudash_command: Runner, fake_driver: FakeDriver) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            command(*FAST),
            env=gpudash_command.env(fake_driver),
            stdout=full,
            stderr=subprocess.PIPE,
            timeout=60,
        )
    assert done.returncode == 4
    assert b"stdout can't be written" in done.stderr


def test_a_probe_that_is_killed_is_told_and_replaced(
    gpudash_command: Runner, fake_driver: FakeDriver
) -> None:
    with running(gpudash_command, fake_driver) as process:
        (probe,) = children_of(process.pid)
        os.kill(probe, signal.SIGKILL)
        assert process.stdout is not None
        seen = []
        while seen[-1:] != ["live"]:
            line = json.loads(process.stdout.readline())
            if "link" in line:
                seen.append(line["link"])
        assert seen == ["down", "live"]
