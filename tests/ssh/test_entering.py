"""Before anything is shown: everybody at once without a question, then those who ask, in turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gpudash.cli import entering
from gpudash.core.model import Link
from gpudash.services.survey import survey
from gpudash.sources.hosts import Hosts
from tests.cli.running import Done, Runner
from tests.cli.test_commands import loaded
from tests.fake_driver import FakeDriver
from tests.ssh.fake_host import FakeHost
from tests.ssh.sshd import Home, Sshd
from tests.ssh.watching import LIMIT_S, add, ways

Command = Callable[..., Done]


async def test_those_who_ask_are_asked_in_turn(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    now: list[int] = []

    async def answer(place: str, prompt: str, is_seen: bool) -> str | None:
        assert not now
        now.append(1)
        asked.append(prompt.strip())
        now.pop()
        return {"One-time code:": "42"}.get(prompt.strip(), "secret")

    monkeypatch.setattr(entering, "ask_on_terminal", answer)
    async with (
        FakeHost() as free,
        FakeHost(password="secret") as first,
        FakeHost(password="secret") as second,
        FakeHost(code="42") as jump,
    ):
        add(home, "free", free)
        add(home, "first", first)
        add(home, "second", second)
        add(home, "jump", jump)
        for name in ("behind1", "behind2"):
            home.name(name, free.port, "ProxyJump jump")
        names = ("free", "first", "second", "behind1", "behind2")
        hosts = Hosts(ways(home, *names))
        try:
            await entering.enter(hosts, LIMIT_S)
            assert hosts.logins.ask is None
            fleet = await survey(hosts.sources, LIMIT_S)
        finally:
            await hosts.close()
        assert [host.link for host in fleet.hosts] == [Link.LIVE] * 5
        assert (jump.challenges, jump.logins, free.logins) == (1, 1, 3)
        assert (first.logins, second.logins) == (1, 1)
        assert len(asked) == 3


async def test_who_gives_no_answer_is_not_tried_again(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nothing(place: str, prompt: str, is_seen: bool) -> str | None:
        return None

    monkeypatch.setattr(entering, "ask_on_terminal", nothing)
    async with FakeHost(password="secret") as first:
        add(home, "first", first)
        hosts = Hosts(ways(home, "first"))
        try:
            await entering.enter(hosts, LIMIT_S)
            tried = len(first.connections)
            fleet = await survey(hosts.sources, LIMIT_S)
        finally:
            await hosts.close()
        assert fleet.hosts[0].problem is not None
        assert fleet.hosts[0].problem.title == "needs you"
        assert (len(first.connections), first.passwords) == (tried, [])


def test_a_script_is_never_asked(gpudash: Command, home: Home, gpu_a: Sshd) -> None:
    gpu_a.settings = ("PasswordAuthentication yes", "PubkeyAuthentication no")
    gpu_a.stop()
    gpu_a.start()
    done = gpudash("check", "gpu-a")
    assert done.code == 3
    assert "asks for a password" in done.err


def test_this_machine_and_another(
    ssh_runner: Runner, home: Home, gpu_a: Sshd, fake_driver: FakeDriver
) -> None:
    path = f"{home.bin}:/usr/bin:/bin"
    done = ssh_runner(fake_driver, "check", "local", "gpu-a", "--format", "json", PATH=path)
    hosts = json.loads(done.out)["hosts"]
    assert done.code == 0
    assert [(host["host"], host["transport"]) for host in hosts] == [
        ("local", None),
        ("gpu-a", "ssh"),
    ]


def test_a_pasted_line(gpudash: Command, home: Home, gpu_a: Sshd) -> None:
    line = f"ssh -F {home.config_file} -p {gpu_a.port} -L 1:x:2 127.0.0.1"
    done = gpudash("check", line, PATH="/usr/bin:/bin")
    assert done.code == 0, done.err
    assert "ignored of the ssh line: -L" in done.err


def test_smi_format_is_for_one_host(gpudash: Command, gpu_a: Sshd) -> None:
    assert gpudash("check", "gpu-a", "--format", "smi").out.count(" MiB") == 16
    assert gpudash("check", "gpu-a", "local", "--format", "smi").code == 2


def test_doctor(gpudash: Command, gpu_a: Sshd) -> None:
    done = gpudash("doctor", "gpu-a", "--format", "json")
    assert done.code == 0, done.out
    found = {item["what"]: item for item in json.loads(done.out)["findings"]}
    assert found["gpu-a: transport"]["found"] == "ssh"
    assert f"127.0.0.1:{gpu_a.port}" in found["gpu-a: ssh"]["found"]
    assert found["gpu-a: GPUs"]["found"].startswith("8 × ")
    assert gpudash("doctor", "nowhere").code == 3


@pytest.mark.parametrize("name", ["check", "doctor", "stream"])
def test_no_screen_is_loaded(
    ssh_runner: Runner, home: Home, gpu_a: Sshd, tmp_path: Path, name: str
) -> None:
    words = ("--count", "1") if name == "stream" else ()
    path = f"{home.bin}:/usr/bin:/bin"
    names = loaded(ssh_runner, None, tmp_path, name, "gpu-a", *words, PATH=path)
    assert {"asyncssh", "gpudash.sources.ssh.source"} <= names
    assert not names & {"textual", "rich", "plotext", "gpudash.ui", "gpudash.probe", "pynvml"}
