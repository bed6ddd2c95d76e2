"""The scan as shipped: who has a stand-in open, in which way, and what became of listed pids.

Other processes of this machine may have the stand-ins open too: only what these tests started
is looked at. Scenes of whole machines are in tests/isolation.
"""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from gpudash.core.events import Scanned
from gpudash.core.holding import Device, Existence, Handle, Scan
from gpudash.core.wire import MAX_LINE_BYTES
from gpudash.probe import handles
from gpudash.sources import shipping
from tests.fake_driver import FakeDriver, Holder
from tests.probe.running import Program

STANDINS = [[1, 7, "gpu", 0], [1, 5, "gpu", 1], [1, 9, "uvm", 0]]
FULL, ZERO = "/dev/full", "/dev/zero"


@pytest.fixture
def hand() -> Iterator[Program]:
    with Program(shipping.hand_payload(), dict(os.environ), devices=STANDINS) as program:
        yield program


def scanned(hand: Program, *pids: int, **more: object) -> Scan:
    start = len(hand.events)
    hand.send(1, "scan", pids=list(pids), **more)
    assert hand.of("ack", id=1)["ok"]
    (scan,) = (event.scan for event in hand.events[start:] if isinstance(event, Scanned))
    return scan


def gpu_handle(scan: Scan, pid: int) -> Handle:
    process = scan.process(pid)
    assert process is not None
    (handle,) = (handle for handle in process.handles if handle.device is Device.GPU)
    return handle


def test_who_has_a_device_open(hand: Program, fake_driver: FakeDriver) -> None:
    with Holder(fake_driver, devices=(FULL, FULL, "/dev/urandom")) as holder:
        scan = scanned(hand)
        stat = Path(f"/proc/{holder.pid}/stat").read_text()
    process = scan.process(holder.pid)
    assert process is not None
    assert gpu_handle(scan, holder.pid) == Handle(device=Device.GPU, gpu="index-0", count=2)
    assert {handle.device for handle in process.handles} == {Device.GPU, Device.UVM}
    assert process.identity.start_ticks == int(stat.rpartition(")")[2].split()[19])
    python = os.stat(sys.executable)
    assert process.identity.exe == (python.st_dev, python.st_ino)
    assert process.parent == os.getpid()
    assert process.is_readable
    assert process.namespace_pids[-1] == holder.pid
    assert process.exe_path == os.path.realpath(sys.executable)
    assert scan.process(os.getpid()) is not None, "ancestors come along"
    assert scan.is_simulated
    assert not scan.is_whole


def test_the_hand_and_who_is_above_it_are_named(hand: Program) -> None:
    scan = scanned(hand)
    assert scan.own[:2] == (hand.child.pid, os.getpid())
    assert scan.own[-1] == 1


def test_a_child_that_inherited_a_handle(hand: Program, fake_driver: FakeDriver) -> None:
    with Holder(fake_driver, devices=(FULL,), inherit=True) as holder:
        assert holder.child_pid is not None
        holder.kill()
        scan = scanned(hand, holder.pid, holder.child_pid)
        assert scan.listed == ((holder.pid, Existence.DEAD),)
        assert scan.process(holder.pid) is None
        assert gpu_handle(scan, holder.child_pid).count == 1


def test_a_main_thread_that_ended_hides_no_handle(hand: Program, fake_driver: FakeDriver) -> None:
    with Holder(fake_driver, devices=(ZERO,), zombie_leader=True) as holder:
        scan = scanned(hand, holder.pid)
    process = scan.process(holder.pid)
    assert process is not None
    assert (process.state, process.threads, process.argv) == ("Z", 1, ())
    handle = Handle(device=Device.GPU, gpu="index-1", is_thread_only=True)
    assert gpu_handle(scan, holder.pid) == handle
    assert scan.listed == (), "it lives"


def test_a_zombie_is_dead(hand: Program) -> None:
    dead = subprocess.Popen([sys.executable, "-ISBc", ""])
    try:
        os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
        scan = scanned(hand, dead.pid, os.getpid())
    finally:
        dead.wait()
    assert scan.listed == ((dead.pid, Existence.DEAD),)


def test_what_is_only_mapped_is_found_on_request(hand: Program, fake_driver: FakeDriver) -> None:
    with Holder(fake_driver, maps=(ZERO,)) as holder:
        assert scanned(hand).process(holder.pid) is None
        scan = scanned(hand, maps=True)
    handle = gpu_handle(scan, holder.pid)
    assert (handle.gpu, handle.count) == ("index-1", 0)
    assert handle.is_path_only is (os.geteuid() != 0)


def test_everybody(hand: Program) -> None:
    scan = scanned(hand, all=True)
    assert scan.is_whole
    living = {process.pid for process in scan.processes}
    assert {1, os.getpid(), hand.child.pid} <= living
    assert all(len(line) <= MAX_LINE_BYTES for line in hand.raw.split(b"\n"))


def test_an_environment_is_told_by_name_only(hand: Program, fake_driver: FakeDriver) -> None:
    env = {"RANK": "3", "MASTER_PORT": "29500", "VLLM_API_KEY": "secret", "HF_TOKEN": "secret"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in env.items():
            patch.setenv(name, value)
        with Holder(fake_driver, devices=(FULL,)) as holder:
            process = scanned(hand).process(holder.pid)
    assert process is not None
    assert ("RANK", "3") in process.hints
    assert ("MASTER_PORT", "29500") in process.hints
    assert b"secret" not in hand.raw


def test_pids_of_the_host_are_not_looked_up() -> None:
    document = shipping.hand_payload()
    with Program(document, dict(os.environ), devices=STANDINS, pids="host") as hand:
        scan = scanned(hand, os.getpid(), 4_000_000)
    assert [fate for _, fate in scan.listed] == [Existence.FOREIGN, Existence.FOREIGN]
    assert not scan.is_initial_namespace


@pytest.mark.parametrize("pids", [None, 5, "5", {}, [0], ["5"], [1 << 70], [1] * 2001])
def test_what_is_no_list_of_pids(hand: Program, pids: object) -> None:
    hand.send(3, "scan", pids=pids)
    assert not hand.of("ack", id=3)["ok"]


def test_what_a_process_does_comes_with_everybody(hand: Program, tmp_path: Path) -> None:
    log, checkpoint = tmp_path / "server.log", tmp_path / "model.safetensors"
    busy = "import sys\nsys.stderr.write('up'); sys.stderr.flush()\nwhile True: pass"
    with log.open("wb") as out, checkpoint.open("wb") as saving:
        saving.write(b"x")
        saving.flush()
        read, write = os.pipe()
        worker = subprocess.Popen(
            [sys.executable, "-ISBc", busy],
            stdout=out,
            stderr=subprocess.PIPE,
            pass_fds=(saving.fileno(), write),
        )
        try:
            assert worker.stderr is not None
            assert worker.stderr.read(2) == b"up"
            process = scanned(hand, all=True, watch=0.1).process(worker.pid)
            few = scanned(hand, worker.pid).process(worker.pid)
        finally:
            worker.kill()
            worker.communicate()
            os.close(read)
            os.close(write)
    assert process is not None
    assert process.cpu_share is not None
    assert process.cpu_share > 0
    assert process.is_saving
    assert process.log_age_s is not None
    assert any(link.startswith("pipe:") for link in process.links)
    assert (process.tracer, process.blocked) == (0, 0)
    assert process.locked_bytes is not None
    assert few is not None
    assert (few.cpu_share, few.log_age_s, few.links) == (None, None, ())


def test_a_log_that_is_old_is_old(hand: Program, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"x")
    os.utime(log, (1_000_000_000, 1_000_000_000))
    quiet = "import os\nos.write(2, b'up')\nos.read(0, 1)"
    with (
        log.open("ab") as out,
        subprocess.Popen(
            [sys.executable, "-ISBc", quiet],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=subprocess.PIPE,
        ) as worker,
    ):
        assert worker.stderr is not None
        assert worker.stderr.read(2) == b"up"
        process = scanned(hand, all=True).process(worker.pid)
        worker.communicate()
    assert process is not None
    assert process.log_age_s is not None
    assert process.log_age_s > 86_400
    assert not process.is_saving


def test_ports_and_clients_come_with_everybody(hand: Program) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            process = scanned(hand, all=True).process(os.getpid())
            assert process is not None
            assert port in process.ports
            assert process.clients >= 1
            few = scanned(hand, os.getpid()).process(os.getpid())
            assert few is not None
            assert few.ports == ()


def test_libcuda_is_found_where_it_is_mapped(tmp_path: Path) -> None:
    library = tmp_path / "libcuda.so.580.1"
    library.write_bytes(b"\0" * 4096)
    assert handles.has_cuda(os.getpid()) is False
    with library.open("r+b") as file, mmap.mmap(file.fileno(), 4096):
        assert handles.has_cuda(os.getpid()) is True
    assert handles.has_cuda(2**22 + 1) is None


def test_a_thread_that_ends_meanwhile_hides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    class Seen:
        found: ClassVar[dict[str, int]] = {}

        def look(self, folder: str, _flags: int) -> None:
            looked.append(folder)
            if folder.endswith("/11/fd"):
                raise FileNotFoundError(folder)
            self.found["gpu"] = 1

    monkeypatch.setattr(handles.os, "listdir", lambda _path: ["10", "11", "12"])
    handles._look_at_threads(Seen(), 10)
    assert looked == ["/proc/10/task/11/fd", "/proc/10/task/12/fd"]
