"""Hosts that can't be read: each a named state with one sentence of advice; the others go on."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudash.core import remote
from gpudash.core.errors import ExitCode
from gpudash.core.model import Link
from tests.cli.running import Done
from tests.fake_driver import FakeDriver
from tests.ssh.conftest import StartSshd
from tests.ssh.fake_host import FakeHost, Process, greet, healthy, token_of
from tests.ssh.sshd import Home, Sshd, folder_without_python, free_port, session_env
from tests.ssh.watching import add, read, watching

Command = Callable[..., Done]


def test_refused_name_and_silence(gpudash: Command, home: Home, gpu_a: Sshd) -> None:
    """Three hosts that can't be reached, in one command with one that can."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        home.name("closed", free_port())
        home.name("unknown", 22, "HostName gpu.invalid")
        home.name("silent", silent.getsockname()[1], "ConnectTimeout 1")
        done = gpudash("check", "closed", "unknown", "silent", "gpu-a")
    assert done.code == 3
    assert "8 × H200" in done.out or "8 ×" in done.out
    for words in ("refuses the connection", "is not known here", "does not answer"):
        assert words in done.err, done.err


@pytest.mark.parametrize(
    ("shell", "status", "title"),
    [
        ("echo This account is currently not available.; exit 1", 1, "probe not started"),
        ("exit 127", 127, "no python3"),
        ("kill -9 $$", 137, "probe killed"),
    ],
)
async def test_a_shell_that_refuses(
    home: Home, start_sshd: StartSshd, shell: str, status: int, title: str
) -> None:
    start_sshd("gpu-a", f"ForceCommand {shell}")
    (host,) = (await read(home, "gpu-a")).hosts
    assert host.problem is not None
    assert host.problem.title == title
    assert host.problem.advice
    assert host.problem.exit_code is ExitCode.UNKNOWN


@pytest.mark.parametrize("transport", ["asyncssh", "openssh"])
async def test_an_account_that_expired(home: Home, start_sshd: StartSshd, transport: str) -> None:
    """Where sshd lets somebody in only to change a password, which needs a terminal."""
    words = "WARNING: Your password has expired."
    start_sshd("gpu-a", f'ForceCommand echo "{words}" >&2; exit 1')
    (host,) = (await read(home, "gpu-a", transport=transport)).hosts
    assert host.problem is not None
    assert (host.problem.title, host.problem.needs_person) == ("account expired", True)
    assert host.problem.advice
    assert host.problem.exit_code is ExitCode.UNREACHABLE


async def test_an_account_that_expired_is_told_before_the_login(home: Home) -> None:
    async with FakeHost(password="secret") as host:
        host.banner = "Your account has expired; please contact your system administrator.\n"
        add(home, "gpu-b", host)
        (seen,) = (await read(home, "gpu-b")).hosts
    assert seen.problem is not None
    assert seen.problem.title == "account expired"


@pytest.mark.parametrize("has_home", [True, False])
async def test_a_home_that_takes_no_byte(
    home: Home, start_sshd: StartSshd, fake_driver: FakeDriver, has_home: bool, tmp_path: Path
) -> None:
    """A full disk, told by a limit that kills who writes to a file; or no home at all."""
    env = session_env(fake_driver)
    if not has_home:
        env["HOME"] = str(tmp_path / "nowhere")
    start_sshd("gpu-a", 'ForceCommand ulimit -f 0; sh -c "$SSH_ORIGINAL_COMMAND"', env=env)
    (host,) = (await read(home, "gpu-a")).hosts
    assert (host.link, host.problem) == (Link.LIVE, None)


@pytest.mark.parametrize("shell", ["tcsh", "fish", "rbash", "dash", "bash --norc"])
async def test_login_shells(
    home: Home, start_sshd: StartSshd, fake_driver: FakeDriver, shell: str
) -> None:
    """As sshd does it: the login shell gets the command as one word after -c."""
    import shutil

    assert shutil.which(shell.split()[0]), f"{shell} is needed: .ci/run installs it"
    start_sshd(
        "gpu-a",
        f'ForceCommand {shell} -c "$SSH_ORIGINAL_COMMAND"',
        env=session_env(fake_driver),
    )
    (host,) = (await read(home, "gpu-a")).hosts
    assert (host.link, host.problem) == (Link.LIVE, None)


async def test_a_shell_that_talks(
    home: Home, start_sshd: StartSshd, fake_driver: FakeDriver
) -> None:
    noise = 'echo "Welcome \\"to\\" {the} machine"; echo warning >&2'
    start_sshd(
        "gpu-a",
        f'ForceCommand {noise}; sh -c "$SSH_ORIGINAL_COMMAND"; echo bye',
        env=session_env(fake_driver),
    )
    (host,) = (await read(home, "gpu-a")).hosts
    assert (host.link, host.problem) == (Link.LIVE, None)


# -- python3 -----------------------------------------------------------------------------------


def stub(folder: Path, text: str) -> str:
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(folder)


STUBS = {
    "absent": "",
    "too old": "exit 96",
    "a stub": 'echo "python3: install it first" >&2; exit 127',
    "a stub that ends well": "echo Python was not found",
}


@pytest.mark.parametrize("what", list(STUBS))
@pytest.mark.parametrize("has_smi", [True, False])
async def test_no_python_there(
    home: Home,
    start_sshd: StartSshd,
    fake_driver: FakeDriver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
    has_smi: bool,
) -> None:
    monkeypatch.setattr(remote, "PYTHONS", ("python3",))
    folder = folder_without_python(tmp_path / "small")
    if STUBS[what]:
        stub(folder, STUBS[what])
    fake_driver.with_used(1, 1 << 20).write()
    sshd = start_sshd(env=session_env(fake_driver, smi=has_smi, path=str(folder)))
    (host,) = (await read(home, "gpu-a")).hosts
    if not has_smi:
        assert host.problem is not None
        titles = {"too old": "python3 too old", "a stub that ends well": "probe not started"}
        assert host.problem.title == titles.get(what, "no python3")
        return
    assert (host.link, host.transport) == (Link.LIVE, "ssh")
    assert host.facts is not None
    assert host.facts.source == "nvidia-smi"
    assert host.facts.unsupported
    assert [gpu.reading.used_bytes for gpu in host.gpus if gpu.reading][:2] == [0, 1 << 20]
    assert sshd.logins == 1


async def test_the_next_python_is_taken(
    home: Home,
    start_sshd: StartSshd,
    fake_driver: FakeDriver,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    monkeypatch.setattr(remote, "PYTHONS", ("python3", sys.executable))
    folder = folder_without_python(tmp_path / "small")
    stub(folder, "exit 96")
    start_sshd(env=session_env(fake_driver, path=str(folder)))
    (host,) = (await read(home, "gpu-a")).hosts
    assert host.facts is not None
    assert host.facts.source == "nvml"


# -- what a host may send ----------------------------------------------------------------------


async def garbage(process: Process) -> None:
    """A hundred megabytes, before the probe has a chance."""
    block = b"x" * 63 + b"\n"
    for _ in range(100 << 4):
        process.stdout.write(block * 1024)
        await process.stdout.drain()


async def garbage_later(process: Process) -> None:
    """The same in the middle of a stream."""
    await greet(process)
    await garbage(process)


async def endless_line(process: Process) -> None:
    process.stdout.write(await token_of(process) + b"\n")
    for _ in range(100 << 4):
        process.stdout.write(b"[" * 65536)
        await process.stdout.drain()


@pytest.mark.parametrize("handler", [garbage, endless_line])
async def test_garbage_is_given_up(home: Home, handler: Callable[[Process], None]) -> None:
    async with FakeHost(handler) as bad, FakeHost() as good:  # type: ignore[arg-type]
        add(home, "bad", bad)
        add(home, "good", good)
        async with watching(home, "bad", "good") as seen:
            await seen.until(
                lambda fleet: (
                    fleet.host("bad").link is Link.DOWN and fleet.host("good").link is Link.LIVE
                )
            )
            problem = seen.host("bad").problem
            assert problem is not None
            assert problem.title == "garbage"
            assert len(problem.detail) < 4096


async def test_garbage_in_mid_stream_ends_it(home: Home) -> None:
    async with FakeHost(garbage_later) as host:
        add(home, "gpu-b", host)
        async with watching(home, "gpu-b") as seen:
            await seen.until_all(Link.DOWN)
            problem = seen.host("gpu-b").problem
            assert problem is not None
            assert problem.title == "garbage"


async def test_cut_in_mid_line(home: Home) -> None:
    async def half(process: Process) -> None:
        await greet(process)
        process.stdout.write(b'{"t":"sample","seq":2,"mono":3.0,"gp')
        await process.stdout.drain()
        host.cut()
        host.handler = healthy

    async with FakeHost(half) as host:
        add(home, "gpu-b", host)
        async with watching(home, "gpu-b", interval_s=30.0) as seen:
            await seen.until_all(Link.DOWN)
            problem = seen.host("gpu-b").problem
            assert problem is not None
            assert (problem.title, problem.exit_code) == ("link lost", ExitCode.UNREACHABLE)
            assert seen.host("gpu-b").samples == 1
            await seen.until_all(Link.LIVE)


async def test_what_a_host_calls_itself_is_only_text(home: Home) -> None:
    async def evil(process: Process) -> None:
        token = await token_of(process)
        process.stderr.write(b"\x1b]52;c;evil\x07\x1b[2J" * 1000)
        process.stdout.write(token + b'\n{"t": "\\u001b[31m[bold]x"}\n' * 3)
        await process.stdout.drain()
        process.exit(3)

    async with FakeHost(evil) as host:
        add(home, "gpu-b", host)
        (seen,) = (await read(home, "gpu-b")).hosts
    assert seen.problem is not None
    from gpudash.core.names import clean_text

    assert clean_text(seen.problem.sentence) == seen.problem.sentence
    assert len(seen.problem.detail) <= 2000


async def test_a_host_that_says_nothing(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its home hangs: the shell never comes to the command. The limit is set short here."""
    from gpudash.sources import here

    monkeypatch.setattr(here, "FIRST_WORD_S", 0.05)

    async def mute(process: Process) -> None:
        await asyncio.Event().wait()

    async with FakeHost(mute) as host:
        add(home, "gpu-b", host)
        (seen,) = (await read(home, "gpu-b")).hosts
    assert seen.problem is not None
    assert seen.problem.title == "no answer"
