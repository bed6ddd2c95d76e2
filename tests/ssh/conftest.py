"""Fixtures: a user's home, sshds that end with the test, the command line in that home."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.running import Runner
from tests.fake_driver import FakeDriver
from tests.ssh.sshd import KEYGEN, SSH, SSHD, Home, Sshd, session_env

StartSshd = Callable[..., Sshd]


@pytest.fixture(scope="session", autouse=True)
def _has_openssh() -> None:
    assert SSHD, "OpenSSH's sshd is needed: .ci/run installs it"
    assert SSH, "OpenSSH's client is needed: .ci/run installs it"
    assert KEYGEN, "ssh-keygen is needed: .ci/run installs it"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


@pytest.fixture
def start_sshd(tmp_path: Path, home: Home) -> Iterator[StartSshd]:
    """Start sshds; they and their sessions end with the test."""
    started: list[Sshd] = []

    def start(name: str = "gpu-a", *settings: str, known: bool = True, **more: object) -> Sshd:
        sshd = Sshd(tmp_path / name, home.public, settings, **more)  # type: ignore[arg-type]
        started.append(sshd.start())
        if known:
            home.knows(sshd)
        home.name(name, sshd.port)
        return sshd

    yield start
    for sshd in started:
        sshd.stop()


@pytest.fixture
def gpu_a(start_sshd: StartSshd, fake_driver: FakeDriver) -> Sshd:
    """One host with eight idle GPUs, named gpu-a."""
    return start_sshd(env=session_env(fake_driver))


@pytest.fixture(scope="session")
def ssh_runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(tmp_path_factory.mktemp("ssh-home"))


@pytest.fixture
def gpudash(ssh_runner: Runner, home: Home) -> Callable[..., object]:
    """Run a command of gpudash in the user's home, on a machine without a GPU."""

    def run(*words: str, **changes: str) -> object:
        path = f"{home.bin}:/usr/bin:/bin"
        return ssh_runner(None, *words, **({"PATH": path} | changes))

    return run
