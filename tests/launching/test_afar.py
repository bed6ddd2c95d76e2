"""A launch over a real sshd: the same order, and a server that outlives the link."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.cli.running import children_of, is_running, wait_for
from tests.isolation.room import in_a_room
from tests.isolation.stage import Stage
from tests.launching.playing import Show, ask, end_server
from tests.ssh.sshd import Home, Sshd, session_env

HOST = "gpu-a"


@in_a_room
def test_to_ready_on_another_host_and_on_without_the_link(stage: Stage) -> None:
    show = Show(stage)
    home = Home(stage.folder / "ssh")
    env = session_env(stage.driver)
    sshd = Sshd(stage.folder / "sshd", home.public, env=env).start()
    stage.at_end(sshd.stop)
    home.knows(sshd)
    home.name(HOST, sshd.port)
    stage.variables["PATH"] = f"{home.bin}:/usr/local/bin:/usr/bin:/bin"
    folder = stage.folder / "there"
    folder.mkdir()
    flags = ("--host", HOST, "--cwd", str(folder), "--gpu", "0-1", "--zero", "--hold", "500ms")
    process = stage.begin_gpudash(*show.words(show.play(), "--stay", *flags))
    wait_for(lambda: bool(show.records()) and "ready" in show.kinds())
    line = next(one for one in show.records()[-1] if one["kind"] == "launched")
    assert line["host"] == HOST
    assert Path(line["log"]).parent == folder
    assert (line["cwd"], line["pid"] in descendants(sshd)) == (str(folder), False)
    env_there = Path(f"/proc/{line['pid']}/environ").read_bytes().split(b"\0")
    assert b"CUDA_VISIBLE_DEVICES=0,1" in env_there
    assert b"CUDA_DEVICE_ORDER=PCI_BUS_ID" in env_there
    sshd.stop()
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert f"pid {line['pid']} runs on".encode() in err
    assert ask("/more") == 200
    wait_for(lambda: probes() == [])
    assert is_running(line["pid"])
    end_server(line["pid"])


def descendants(sshd: Sshd) -> list[int]:
    """Return everybody below an sshd's connections."""
    found = list(sshd.sessions())
    for pid in found:
        found += children_of(pid)
    return found


def probes() -> list[int]:
    """Return the probes that run in this room."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            words = (path / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"-ISBc" in words and is_running(int(path.name)):
            found.append(int(path.name))
    return found
