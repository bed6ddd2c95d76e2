"""Other ways to a host: the OpenSSH client, an open ControlMaster, any words, no OpenSSH at all."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from gpudash.core import remote
from gpudash.core.model import Link
from gpudash.core.ways import Way
from gpudash.services.survey import survey
from gpudash.sources import openssh
from gpudash.sources.base import SourceError
from gpudash.sources.hosts import Hosts
from gpudash.sources.openssh import openssh_problem
from gpudash.sources.ssh import resolve
from tests.cli.running import children_of, is_running, wait_for
from tests.fake_driver import FakeDriver
from tests.ssh.conftest import StartSshd
from tests.ssh.sshd import SSH, Home, Sshd, folder_without_python, session_env
from tests.ssh.test_links import descendants
from tests.ssh.watching import LIMIT_S, Watching, read, watching


async def test_openssh(home: Home, gpu_a: Sshd, fake_driver: FakeDriver) -> None:
    """Sampler and hand share one login, by a master of our own that ends with us."""
    from tests.fake_driver import Process

    listed = Process(os.getpid(), used=1 << 20)
    fake_driver.with_process(0, listed).with_used(0, 1 << 20).write()
    async with watching(home, "gpu-a", transport="openssh") as seen:
        await seen.until(lambda fleet: bool(fleet.hosts[0].processes))
        host = seen.host("gpu-a")
        assert (host.link, host.transport) == (
            Link.LIVE,
            "openssh: chosen in the configuration",
        )
        assert gpu_a.logins == 1
        gpu_a.cut()
        await seen.until_all(Link.DOWN)
        problem = host.problem or seen.host("gpu-a").problem
        assert problem is not None
        assert problem.title == "link lost"
        await seen.until_all(Link.LIVE)
        (socket,) = Path(openssh._folder()).iterdir()
        assert socket.is_socket()
    assert not socket.exists()
    assert not gpu_a.sessions()


async def test_openssh_refused(home: Home, gpu_a: Sshd) -> None:
    gpu_a.authorized.write_text("")
    async with watching(home, "gpu-a", transport="openssh") as seen:
        await seen.until_all(Link.DOWN)
        problem = seen.host("gpu-a").problem
        assert problem is not None
        assert (problem.title, problem.needs_person) == ("login refused", True)


async def test_openssh_unknown_key(home: Home, start_sshd: StartSshd) -> None:
    start_sshd(known=False)
    (host,) = (await read(home, "gpu-a", transport="openssh")).hosts
    assert host.problem is not None
    assert host.problem.title == "host key unknown"


async def test_a_live_master_is_used(home: Home, gpu_a: Sshd) -> None:
    assert SSH is not None
    control = Path("/tmp") / f"gd-{os.getpid()}-{gpu_a.port}"
    home.config.insert(0, f"Host gpu-a\n  ControlPath {control}")
    home.write()
    master = subprocess.Popen(
        [SSH, "-F", str(home.config_file), "-M", "-N", "-n", "gpu-a"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(control.is_socket)
        (host,) = (await read(home, "gpu-a")).hosts
        assert (host.link, host.transport) == (Link.LIVE, "openssh: a ControlMaster is open")
        assert gpu_a.logins == 1
    finally:
        master.terminate()
        master.wait()
    # A socket that is left over from a crash is no master.
    control.unlink(missing_ok=True)
    (host,) = (await read(home, "gpu-a")).hosts
    assert (host.transport, gpu_a.logins) == ("ssh", 2)


async def test_what_a_session_must_not_have_is_off(home: Home, gpu_a: Sshd, tmp_path: Path) -> None:
    """RemoteCommand, forwards, a terminal and a local command of the user's configuration."""
    mark = tmp_path / "ran"
    home.config.insert(
        0,
        "Host gpu-a\n  RemoteCommand false\n  RequestTTY force\n  ForwardAgent yes\n"
        f"  LocalForward 127.0.0.1:{gpu_a.port} 127.0.0.1:1\n  PermitLocalCommand yes\n"
        f"  LocalCommand touch {mark}",
    )
    home.write()
    for transport in ("asyncssh", "openssh"):
        (host,) = (await read(home, "gpu-a", transport=transport)).hosts
        assert (host.link, host.problem) == (Link.LIVE, None)
    assert not mark.exists()
    assert "forwarding" not in gpu_a.log.lower()


async def test_what_asyncssh_lacks_goes_through_openssh_by_itself(
    home: Home, gpu_a: Sshd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """FIDO, PKCS11 and GSSAPI: chosen by what `ssh -G` says, and the reason is shown."""
    monkeypatch.setattr(resolve, "_is_installed", lambda module: False)
    security_key = tmp_path / "id_ed25519_sk"
    Path(f"{security_key}.pub").write_text("sk-ssh-ed25519@openssh.com AAAA test\n")
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/ticket")
    lines = home.config[:]
    for option, reason in (
        (f"IdentityFile {security_key}", f"security key {security_key}"),
        (f"PKCS11Provider {tmp_path}/absent.so", "PKCS11Provider"),
        ("GSSAPIAuthentication yes", "GSSAPIAuthentication"),
        ("Compression no", ""),
    ):
        home.config[:] = [f"Host gpu-a\n  {option}", *lines]
        home.write()
        (host,) = (await read(home, "gpu-a")).hosts
        assert host.transport == (f"openssh: {reason}" if reason else "ssh")
        assert (host.link, host.problem) == (Link.LIVE, None)


async def test_asyncssh_by_order_names_the_option_that_it_lacks(
    home: Home, gpu_a: Sshd, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(resolve, "_is_installed", lambda module: False)
    home.config.insert(0, f"Host gpu-a\n  PKCS11Provider {tmp_path}/absent.so")
    home.write()
    gpu_a.authorized.write_text("")
    (host,) = (await read(home, "gpu-a", transport="asyncssh")).hosts
    assert host.problem is not None
    assert host.problem.advice.startswith("PKCS11Provider needs the OpenSSH client")


# -- any words ---------------------------------------------------------------------------------

UNSHARE = ("unshare", "--pid", "--fork", "--mount-proc", "sh")


async def through(*words: str) -> Hosts:
    return Hosts([Way(name="pod", command=words)])


@pytest.mark.parametrize("words", [("sh",), ("env", "X=1"), UNSHARE])
async def test_a_command(
    fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    for name, value in fake_driver.env().items():
        monkeypatch.setenv(name, value)
    hosts = await through(*words)
    (host,) = (await survey(hosts.sources, LIMIT_S)).hosts
    assert (host.link, host.problem) == (Link.LIVE, None)
    assert host.transport == f"command: {words[0]}"
    assert host.facts is not None
    assert host.facts.source == "nvml"


@pytest.mark.parametrize("words", [("sh",), UNSHARE])
async def test_the_life_of_a_link_through_a_command(
    fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """Live, measured, killed from outside, begun anew by itself, and nothing left at the end."""
    for name, value in fake_driver.env().items():
        monkeypatch.setenv(name, value)
    others = set(children_of(os.getpid()))
    hosts = await through(*words)
    seen = Watching(hosts, 0.2)
    seen.monitor.start()
    try:
        await seen.until(lambda fleet: fleet.hosts[0].round_trip_s is not None)
        (first,) = set(children_of(os.getpid())) - others
        started = descendants(first)
        os.kill(started[-1], signal.SIGKILL)
        await seen.until_all(Link.DOWN)
        problem = seen.host("pod").problem
        assert problem is not None
        assert problem.title == "probe killed"
        await seen.until_all(Link.LIVE)
        (second,) = set(children_of(os.getpid())) - others
        started += descendants(second)
    finally:
        await seen.monitor.stop()
        await hosts.close()
    wait_for(lambda: not any(map(is_running, started)))


async def test_a_command_without_python(
    fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(remote, "PYTHONS", ("python3",))
    folder = folder_without_python(tmp_path / "small")
    for name, value in session_env(fake_driver, smi=True, path=str(folder)).items():
        monkeypatch.setenv(name, value)
    hosts = await through("sh")
    (host,) = (await survey(hosts.sources, LIMIT_S)).hosts
    assert host.link is Link.LIVE
    assert host.facts is not None
    assert host.facts.source == "nvidia-smi"


async def test_sudo_starts_the_sampler_and_no_hand(
    fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A stand-in for sudo: it notes how it was called and goes on as the same user."""
    sudo = tmp_path / "sudo"
    sudo.write_text(f'#!/bin/sh\necho "$1 $2 $3" >> {tmp_path}/called\nshift\nexec "$@"\n')
    sudo.chmod(0o755)
    for name, value in fake_driver.env().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    hosts = Hosts([Way(name="pod", command=("sh",), has_sudo=True)])
    (host,) = (await survey(hosts.sources, LIMIT_S)).hosts
    assert host.link is Link.LIVE
    with pytest.raises(SourceError, match="goes by sudo"):
        await hosts.sources[0].open_hand()
    assert (tmp_path / "called").read_text() == "-n python3 -ISBc\n"


SUDO_SAYS = (
    "sudo: a password is required",
    "Sorry, user ana is not allowed to execute '/usr/bin/python3' as root on gpu-a.",
    "ana is not in the sudoers file.",
)


@pytest.mark.parametrize("words", SUDO_SAYS)
async def test_a_sudo_that_refuses_is_named_and_not_asked_again(
    fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str
) -> None:
    """Here, behind a command, and over ssh; nvidia-smi does not stand in silently."""
    sudo = tmp_path / "sudo"
    sudo.write_text(f'#!/bin/sh\necho "{words}" >&2\nexit 1\n')
    sudo.chmod(0o755)
    for name, value in fake_driver.env(smi=True).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    hosts = Hosts(
        [Way(name="local", has_sudo=True), Way(name="pod", command=("sh",), has_sudo=True)]
    )
    for host in (await survey(hosts.sources, LIMIT_S)).hosts:
        assert host.problem is not None
        assert (host.problem.title, host.problem.needs_person) == ("sudo refused", True)
        assert words in host.problem.detail


async def test_no_sudo_over_ssh(
    home: Home, start_sshd: StartSshd, fake_driver: FakeDriver, tmp_path: Path
) -> None:
    path = folder_without_python(tmp_path / "small")
    start_sshd(env=session_env(fake_driver, path=str(path)))
    (host,) = (await read(home, "gpu-a", has_sudo=True)).hosts
    assert host.problem is not None
    assert host.problem.title == "no sudo"


async def test_sudo_here_starts_the_sampler_and_no_hand(
    fake_driver: FakeDriver, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sudo = tmp_path / "sudo"
    sudo.write_text(f'#!/bin/sh\nprintf %s "$1" >> {tmp_path}/called\nshift\nexec "$@"\n')
    sudo.chmod(0o755)
    for name, value in fake_driver.env().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    hosts = Hosts([Way(name="local", has_sudo=True)])
    (host,) = (await survey(hosts.sources, LIMIT_S)).hosts
    assert (host.link, host.problem) == (Link.LIVE, None)
    assert (tmp_path / "called").read_text() == "-n"
    with pytest.raises(SourceError, match="goes by sudo"):
        await hosts.sources[0].open_hand()


async def test_an_alias_that_leads_elsewhere_now_is_not_connected_to(
    home: Home, gpu_a: Sshd
) -> None:
    """Rules were read for one HostName; another one may have others."""
    (host,) = (await read(home, "gpu-a", judged_as="127.0.0.1")).hosts
    assert host.link is Link.LIVE
    for judged_as in ("192.0.2.7", ""):
        (host,) = (await read(home, "gpu-a", judged_as=judged_as)).hosts
        assert host.problem is not None
        assert host.problem.title == "another machine now"
    assert gpu_a.logins == 1


async def test_a_command_that_is_not_here() -> None:
    hosts = await through("no-such-kubectl", "exec", "--", "sh")
    (host,) = (await survey(hosts.sources, LIMIT_S)).hosts
    assert host.problem is not None
    assert host.problem.title == "no-such-kubectl not started"
    assert host.problem.exit_code == 3


# -- without OpenSSH ---------------------------------------------------------------------------


async def test_no_openssh_here(home: Home, gpu_a: Sshd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "has_openssh", lambda: False)
    (host,) = (await read(home, "gpu-a")).hosts
    assert (host.link, host.transport, host.problem) == (Link.LIVE, "ssh", None)


@pytest.mark.parametrize(
    ("words", "title", "needs_person"),
    [
        ("ana@x: Permission denied (publickey).", "login refused", True),
        ("ssh: Could not resolve hostname x: Name or service not known", "name not found", False),
        ("ssh: connect to host x port 22: Connection refused", "refused", False),
        ("ssh: connect to host x port 22: Connection timed out", "timed out", False),
        ("@@@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @@@", "not trusted", True),
        ("Host key verification failed.", "host key unknown", True),
        ("client_loop: send disconnect: Broken pipe", "link lost", False),
    ],
)
def test_what_ssh_says(words: str, title: str, needs_person: bool) -> None:
    problem = openssh_problem(255, words, "gpu-a")
    assert problem is not None
    assert (problem.title, problem.needs_person) == (title, needs_person)
    assert problem.exit_code == 3
    assert openssh_problem(97, words, "gpu-a") is None
