"""The life of a link over a real sshd: cut, healed, killed, many at once, nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudash.core.model import Fleet, Host, Link
from gpudash.core.verify import Verdict, judge_fleet
from tests.cli.running import Done, Runner, command, is_running, wait_for
from tests.fake_driver import FakeDriver
from tests.ssh.conftest import StartSshd
from tests.ssh.sshd import Home, Sshd, session_env
from tests.ssh.watching import read, watching

Command = Callable[..., Done]


def descendants(pid: int) -> list[int]:
    from tests.cli.running import children_of

    found = [pid]
    for child in children_of(pid):
        found += descendants(child)
    return found


def probes(sshd: Sshd) -> list[int]:
    """Return the pids of all Pythons below an sshd."""
    found = []
    for top in sshd.sessions():
        for pid in descendants(top):
            try:
                name = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"-ISBc" in name and b"python" in name[0].rpartition(b"/")[2]:
                found.append(pid)
    return found


def is_zero(fleet: Fleet) -> bool:
    return judge_fleet(fleet).verdict is Verdict.ZERO


async def test_cut_and_healed(home: Home, gpu_a: Sshd) -> None:
    async with watching(home, "gpu-a") as seen:
        await seen.until(is_zero)
        before = probes(gpu_a)
        assert len(before) == 1
        assert gpu_a.cut() >= 1
        await seen.until_all(Link.DOWN)
        assert not is_zero(seen.monitor.fleet)
        problem = seen.host("gpu-a").problem
        assert problem is not None
        assert (problem.title, problem.needs_person) == ("link lost", False)
        await seen.until(is_zero)
        assert gpu_a.logins == 2
        wait_for(lambda: not is_running(before[0]))
    wait_for(lambda: not gpu_a.sessions())


async def test_the_probe_is_killed(home: Home, gpu_a: Sshd) -> None:
    async with watching(home, "gpu-a") as seen:
        await seen.until(is_zero)
        os.kill(probes(gpu_a)[0], signal.SIGKILL)
        await seen.until_all(Link.DOWN)
        problem = seen.host("gpu-a").problem
        assert problem is not None
        assert problem.title == "probe killed"
        await seen.until(is_zero)


async def test_sshd_is_away_for_a_while(home: Home, gpu_a: Sshd) -> None:
    async with watching(home, "gpu-a") as seen:
        await seen.until(is_zero)
        gpu_a.stop()
        await seen.until(lambda fleet: fleet.hosts[0].retry >= 2)
        problem = seen.host("gpu-a").problem
        assert problem is not None
        assert problem.title == "refused"
        gpu_a.start()
        seen.monitor.reconnect("gpu-a")
        await seen.until(is_zero)


async def test_another_boot_begins_another_history(
    home: Home, gpu_a: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gpudash.core.events import Event, Hello

    boots: list[str | None] = []
    async with watching(home, "gpu-a") as seen:
        (inner,) = seen.monitor.listeners

        def note(event: Event, before: Host, after: Host) -> None:
            if isinstance(event, Hello):
                boots.append(event.facts.boot_id)
            inner(event, before, after)

        monkeypatch.setattr(seen.monitor, "listeners", [note])
        await seen.until(is_zero)
        gpu_a.cut()
        await seen.until_all(Link.DOWN)
        await seen.until(is_zero)
    assert len(set(boots)) == 1
    assert boots[0]


async def test_64_hosts_at_once(home: Home, start_sshd: StartSshd, fake_driver: FakeDriver) -> None:
    """One sshd with its default limit: what comes in a crowd would be dropped."""
    sshd = start_sshd("gpu-a", "MaxStartups 10:30:100", env=session_env(fake_driver))
    names = [f"node{number:02}" for number in range(64)]
    for name in names:
        home.name(name, sshd.port)
    # First occurrence counts in sshd_config: the limit above stands before it.
    firsts: list[int] = []
    async with watching(home, *names, interval_s=30.0) as seen:
        await seen.until(lambda fleet: any(host.link is Link.LIVE for host in fleet.hosts))
        firsts.append(sum(host.link is Link.LIVE for host in seen.monitor.fleet.hosts))
        await seen.until_all(Link.LIVE)
        assert is_zero(seen.monitor.fleet)
        assert len(probes(sshd)) == 64
        assert sshd.logins == 64
    assert firsts[0] < 64
    wait_for(lambda: not sshd.sessions())


# -- nothing left behind -----------------------------------------------------------------------


def streaming(runner: Runner, home: Home, *hosts: str) -> subprocess.Popen[bytes]:
    env = runner.env(None, PATH=f"{home.bin}:/usr/bin:/bin")
    process = subprocess.Popen(
        command("stream", "--interval", "200ms", *hosts),
        env=env,
        cwd=runner.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdout is not None
    while b"gpudash.sample" not in process.stdout.readline():
        assert process.poll() is None
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("has_holder", [False, True])
def test_nothing_is_left_behind(
    ssh_runner: Runner,
    home: Home,
    gpu_a: Sshd,
    fake_driver: FakeDriver,
    number: signal.Signals,
    has_holder: bool,
) -> None:
    if has_holder:
        from tests.fake_driver import Process

        listed = Process(os.getpid(), used=1 << 20)
        fake_driver.with_process(0, listed).with_used(0, 1 << 20).write()
    process = streaming(ssh_runner, home, "gpu-a")
    wait_for(lambda: len(probes(gpu_a)) >= 1 + has_holder)
    left = [pid for top in gpu_a.sessions() for pid in descendants(top)]
    assert left
    process.send_signal(number)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    wait_for(lambda: not any(is_running(pid) for pid in left))
    wait_for(lambda: gpu_a.sessions() == [])


def test_nothing_is_written_there(gpudash: Command, gpu_a: Sshd) -> None:
    home = gpu_a.folder / "home"
    assert gpudash("check", "gpu-a").code == 0
    assert list(home.iterdir()) == []


def test_check_and_stream_agree(gpudash: Command, gpu_a: Sshd, fake_driver: FakeDriver) -> None:
    fake_driver.with_used(3, 5 << 20).write()
    done = gpudash("stream", "gpu-a", "--count", "2", "--interval", "200ms")
    assert done.code == 0
    lines = [json.loads(line) for line in done.out.splitlines()]
    samples = [line for line in lines if line["schema"] == "gpudash.sample/1"]
    assert [gpu["used_bytes"] for gpu in samples[-1]["gpus"]][3] == 5 << 20


def test_a_count_does_not_wait_for_a_host_that_never_answers(
    gpudash: Command, home: Home, gpu_a: Sshd
) -> None:
    home.name("closed", 1)
    done = gpudash("stream", "gpu-a", "closed", "--count", "2", "--interval", "200ms")
    assert done.code == 3
    lines = [json.loads(line) for line in done.out.splitlines()]
    samples = [line["host"] for line in lines if line["schema"] == "gpudash.sample/1"]
    assert samples.count("gpu-a") >= 2


async def test_how_far_a_host_is_and_what_its_clock_says(home: Home, gpu_a: Sshd) -> None:
    """Over asyncssh, over OpenSSH's client and by `check`, on the probe's own stream."""
    for transport in ("asyncssh", "openssh"):
        async with watching(home, "gpu-a", transport=transport) as seen:
            fleet = await seen.until(lambda fleet: fleet.hosts[0].round_trip_s is not None)
            assert fleet.hosts[0].clock_offset_s == pytest.approx(0.0, abs=60.0)
    (host,) = (await read(home, "gpu-a")).hosts
    assert host.round_trip_s is not None
    assert host.clock_offset_s is not None
