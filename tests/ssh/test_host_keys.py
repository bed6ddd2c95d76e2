"""Host keys are checked (law 6): unknown, changed, revoked, accepted, not checked."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from gpudash.core.model import Link
from gpudash.services.door import Door
from tests.cli.running import Done
from tests.fake_driver import FakeDriver
from tests.ssh.conftest import StartSshd
from tests.ssh.sshd import Home, Sshd, make_key, session_env
from tests.ssh.watching import read, watching

Command = Callable[..., Done]


@pytest.fixture
def stranger(start_sshd: StartSshd, fake_driver: FakeDriver) -> Sshd:
    """A host whose key nobody knows."""
    return start_sshd(known=False, env=session_env(fake_driver))


def change_key(home: Home, sshd: Sshd) -> None:
    """Let known_hosts hold another key than the host's."""
    other = make_key(home.folder / "other")
    public = " ".join(other.with_name("other.pub").read_text().split()[:2])
    home.known.write_text(f"[127.0.0.1]:{sshd.port} {public}\n")


def test_an_unknown_key_is_exit_3_and_says_what_to_do(gpudash: Command, stranger: Sshd) -> None:
    done = gpudash("check", "gpu-a", "--format", "json")
    assert done.code == 3
    assert "is not known here: ssh-ed25519  SHA256:" in done.err
    assert "log in once: ssh gpu-a" in done.err
    (host,) = json.loads(done.out)["hosts"]
    assert (host["verdict"], host["problem"]["title"]) == ("UNKNOWN", "host key unknown")
    assert stranger.logins == 0


def test_a_changed_key_is_refused_loudly(gpudash: Command, home: Home, gpu_a: Sshd) -> None:
    change_key(home, gpu_a)
    done = gpudash("check", "gpu-a", "--format", "json")
    assert done.code == 3
    assert "The host key is not the one in known_hosts." in done.err
    assert f"ssh-keygen -R '[127.0.0.1]:{gpu_a.port}'" in done.err
    assert gpu_a.logins == 0


async def test_a_changed_key_can_not_be_accepted(home: Home, gpu_a: Sshd) -> None:
    change_key(home, gpu_a)
    async with watching(home, "gpu-a") as seen:
        await seen.until_all(Link.DOWN)
        host = seen.host("gpu-a")
        assert host.problem is not None
        assert host.problem.detail.count("SHA256:") == 2
        assert Door(seen.hosts.logins).offered(host) is None


def test_a_revoked_key_is_refused(gpudash: Command, home: Home, gpu_a: Sshd) -> None:
    home.known.write_text(f"{gpu_a.known_line}@revoked * {gpu_a.public}\n")
    done = gpudash("check", "gpu-a")
    assert (done.code, gpu_a.logins) == (3, 0)


def test_no_checks_are_obeyed_and_shown(gpudash: Command, home: Home, gpu_a: Sshd) -> None:
    change_key(home, gpu_a)
    home.config.insert(0, "Host gpu-a\n  StrictHostKeyChecking no")
    home.write()
    done = gpudash("check", "gpu-a", "--format", "json")
    assert done.code == 0
    (host,) = json.loads(done.out)["hosts"]
    assert host["link_notes"] == ["host key not checked (StrictHostKeyChecking no)"]
    assert "HOST KEY NOT CHECKED" in gpudash("check", "gpu-a").out
    assert gpudash("doctor", "gpu-a").out.count("host key not checked") == 1
    streamed = gpudash("stream", "gpu-a", "--count", "1").out.splitlines()
    live = [json.loads(line) for line in streamed if '"link":"live"' in line]
    assert live[0]["link_notes"] == host["link_notes"]


@pytest.mark.parametrize("is_hashed", [False, True])
def test_accept_new(gpudash: Command, home: Home, stranger: Sshd, is_hashed: bool) -> None:
    hashing = "yes" if is_hashed else "no"
    home.config.insert(
        0, f"Host gpu-a\n  StrictHostKeyChecking accept-new\n  HashKnownHosts {hashing}"
    )
    home.write()
    home.known.write_text("# no newline at the end")
    assert gpudash("check", "gpu-a").code == 0
    comment, line = home.known.read_text().splitlines()
    assert comment == "# no newline at the end"
    assert line.startswith("|1|") is is_hashed
    assert line.endswith(stranger.public)
    # What was written is what is trusted from now on.
    home.config[0] = "Host gpu-a\n  StrictHostKeyChecking yes"
    home.write()
    assert gpudash("check", "gpu-a").code == 0


def test_strict_yes_offers_nothing(gpudash: Command, home: Home, stranger: Sshd) -> None:
    home.config.insert(0, "Host gpu-a\n  StrictHostKeyChecking yes")
    home.write()
    done = gpudash("check", "gpu-a")
    assert done.code == 3
    assert "StrictHostKeyChecking is yes" in done.err
    assert home.known.read_text() == ""


@pytest.mark.parametrize("saves", [False, True])
async def test_a_person_accepts(home: Home, stranger: Sshd, saves: bool) -> None:
    async with watching(home, "gpu-a") as seen:
        door = Door(seen.hosts.logins)
        await seen.until_all(Link.DOWN)
        host = seen.host("gpu-a")
        offered = door.offered(host)
        assert offered is not None
        assert offered.host == f"[127.0.0.1]:{stranger.port}"
        assert stranger.log.count("Connection from") == 1
        door.accept(host, save=saves)
        seen.monitor.reconnect("gpu-a")
        await seen.until_all(Link.LIVE)
    assert (stranger.public in home.known.read_text()) is saves
    (again,) = (await read(home, "gpu-a")).hosts
    assert (again.link is Link.LIVE) is saves


async def test_an_odd_line_costs_only_itself(home: Home, gpu_a: Sshd) -> None:
    home.known.write_text(f"[broken line\n|1|x|y {gpu_a.public}\n@what * x\n{gpu_a.known_line}")
    (host,) = (await read(home, "gpu-a")).hosts
    assert host.link is Link.LIVE
