"""Who logs in, with what, and through whom; against a real sshd and one in this process."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from gpudash.core.errors import ExitCode
from gpudash.core.model import Link
from tests.fake_driver import FakeDriver
from tests.ssh.conftest import StartSshd
from tests.ssh.fake_host import FakeHost
from tests.ssh.sshd import Home, Sshd, make_key, session_env
from tests.ssh.watching import add, read, watching


async def test_a_key(home: Home, gpu_a: Sshd) -> None:
    fleet = await read(home, "gpu-a")
    (host,) = fleet.hosts
    assert (host.link, host.transport, len(host.gpus)) == (Link.LIVE, "ssh", 8)
    assert gpu_a.logins == 1


async def test_an_agent(
    home: Home, gpu_a: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key file is gone: only the agent has it."""
    socket = tmp_path / "agent"
    agent = subprocess.Popen(
        ["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    try:
        from tests.cli.running import wait_for

        wait_for(socket.is_socket)
        env = {**os.environ, "SSH_AUTH_SOCK": str(socket)}
        subprocess.run(["ssh-add", "-q", str(home.key)], env=env, check=True)
        home.key.unlink()
        home.config.insert(0, f"Host gpu-a\n  IdentityAgent {socket}")
        home.write()
        (host,) = (await read(home, "gpu-a")).hosts
        assert host.link is Link.LIVE, host.problem
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait()


@pytest.mark.parametrize("format_", ["PEM", "RFC4716"])
async def test_an_encrypted_key_waits_for_a_person(home: Home, gpu_a: Sshd, format_: str) -> None:
    """The second is OpenSSH's own format."""
    for path in (home.key, home.public):
        path.unlink()
    make_key(home.key, "open me", "-t", "ecdsa", "-m", format_)
    (host,) = (await read(home, "gpu-a")).hosts
    assert host.problem is not None
    assert (host.problem.title, host.problem.needs_person) == ("needs you", True)
    assert host.problem.exit_code is ExitCode.UNREACHABLE
    asked: list[str] = []

    async def ask(place: str, prompt: str, is_seen: bool) -> str:
        asked.append(prompt)
        return "open me"

    (host,) = (await read(home, "gpu-a", ask=ask)).hosts
    assert host.link is Link.LIVE
    assert asked == [f"Passphrase of {home.key}: "]


async def test_a_password_is_kept_and_a_wrong_one_is_not(home: Home) -> None:
    given = ["wrong", "right"]

    async def ask(place: str, prompt: str, is_seen: bool) -> str:
        assert (prompt.endswith("password: "), is_seen) == (True, False)
        return given.pop(0)

    async with FakeHost(password="right") as server:
        add(home, "gpu-b", server)
        async with watching(home, "gpu-b", ask=ask) as seen:
            await seen.until_all(Link.DOWN)
            assert seen.host("gpu-b").problem.title == "needs you"  # type: ignore[union-attr]
            assert server.passwords == []
            seen.hosts.logins.invite("gpu-b")
            seen.monitor.reconnect("gpu-b")
            await seen.until_all(Link.LIVE)
            assert server.passwords == ["wrong", "right"]
            server.cut()
            await seen.until_all(Link.DOWN)
            await seen.until_all(Link.LIVE)
            assert server.passwords == ["wrong", "right", "right"]


async def test_a_refused_login_is_not_tried_again(home: Home, start_sshd: StartSshd) -> None:
    sshd = start_sshd()
    sshd.authorized.write_text("")
    async with watching(home, "gpu-a") as seen:
        await seen.until_all(Link.DOWN)
        problem = seen.host("gpu-a").problem
        assert problem is not None
        assert (problem.title, problem.needs_person) == ("login refused", True)
        tried = sshd.log.count("Connection from")
        assert tried == 1


async def test_hosts_behind_one_jump_share_its_connection(
    home: Home, start_sshd: StartSshd, fake_driver: FakeDriver
) -> None:
    jump = start_sshd("jump")
    behind = start_sshd("gpu-a", env=session_env(fake_driver))
    names = [f"node{number}" for number in range(6)]
    for name in names:
        home.name(name, behind.port, "ProxyJump jump")
    async with watching(home, *names) as seen:
        await seen.until_all(Link.LIVE)
    assert (jump.logins, behind.logins) == (1, 6)
