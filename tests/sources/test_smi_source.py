"""The nvidia-smi source against a scripted stand-in (tests/data/fake_smi.py)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gpudash.core.errors import ExitCode
from gpudash.core.events import Ack, Bye, Hello
from gpudash.core.model import GpuState, Host, Kind, Link, Problem
from gpudash.core.remote import program_argv
from gpudash.core.units import MIB
from gpudash.core.verify import Clear, judge_host
from gpudash.sources import smi, smi_child, smi_stream
from gpudash.sources.base import SourceError, Stream
from gpudash.sources.smi import SmiSource
from gpudash.sources.smi_child import Runner, Running, drained
from gpudash.sources.smi_output import LineBuffer
from tests.sources.smi_machine import LIMIT_S, Machine, Viewer, gpu, is_clear


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def watch(machine: Machine, interval_s: float = 0.1, **more: Any) -> Viewer:
    return Viewer(await machine.source(**more).open_sampler(interval_s))


async def test_stream(machine: Machine) -> None:
    viewer = await watch(machine)
    host = await viewer.until(lambda host: host.samples > 3)
    assert is_clear(host)
    assert [item.info.index for item in host.gpus] == [0, 1]
    assert host.facts is not None
    assert (host.facts.source, host.facts.driver) == ("nvidia-smi", "590.48.01")
    assert host.gpus[0].info.name == "NVIDIA Test, rev. 2"
    reading = host.gpus[0].reading
    assert reading is not None
    assert (reading.power_mw, reading.sm_clock_mhz, reading.throttle_bits) == (60_500, 1410, 1)
    machine.says(gpus=[gpu(0), gpu(1, 512)])
    host = await viewer.until(lambda host: not is_clear(host))
    assert host.gpus[1].reading is not None
    assert host.gpus[1].reading.used_bytes == 512 * MIB
    await viewer.stream.close()
    assert machine.living() == []
    with pytest.raises(SourceError):
        await viewer.until(lambda host: False)


async def test_processes_and_health_come_beside(machine: Machine) -> None:
    machine.says(
        gpus=[gpu(0), gpu(1, 900, gpu_recovery_action="Reset")],
        processes="GPU-00000001-0000, 4711, python a, b, 880\n",
    )
    viewer = await watch(machine)
    host = await viewer.until(
        lambda host: (
            bool(host.gpus and host.gpus[1].reading and host.gpus[1].reading.processes)
            and host.gpus[1].state is GpuState.NEEDS_RESET
        )
    )
    assert host.gpus[1].reading is not None
    process = (host.gpus[1].reading.processes or ())[0]
    assert (process.pid, process.name, process.used_bytes) == (4711, "python a, b", 880 * MIB)
    assert host.gpus[0].info.reserved_bytes == 316 * MIB
    await viewer.stream.close()


async def test_an_old_list_does_not_hold_against_a_newer_zero(machine: Machine) -> None:
    held = "GPU-00000000-0000, 4711, python, 880\n"
    machine.says(gpus=[gpu(0, 900)], processes=held)
    viewer = await watch(machine)
    await viewer.until(lambda host: bool(host.gpus[0].reading and host.gpus[0].reading.processes))
    machine.says(gpus=[gpu(0, 0)], processes="")
    host = await viewer.until(is_clear)
    assert host.gpus[0].reading is not None
    assert not host.gpus[0].reading.processes
    await viewer.stream.close()


async def test_old_driver_without_optional_fields(machine: Machine) -> None:
    machine.says(
        gpus=[gpu(0, driver_version="450.36.06")],
        refuse=["gpu_recovery_action", "memory.reserved", "clocks_throttle_reasons.active"],
    )
    viewer = await watch(machine)
    await viewer.until(
        lambda host: (
            host.facts is not None
            and "whether the driver recommends a reset" in host.facts.unsupported
        )
    )
    words = " ".join(viewer.host.facts.unsupported if viewer.host.facts else ())
    assert "may round it down to 0 MiB" in words
    assert "why clocks are slowed" in words
    await viewer.until(lambda host: host.gpus[0].info.power_limit_mw == 350_000)
    await viewer.until(is_clear)
    await viewer.stream.close()


async def test_death_of_the_child_is_healed(machine: Machine) -> None:
    machine.says(gpus=[gpu(0)], loop="die")
    viewer = await watch(machine)
    host = await viewer.until(lambda host: host.samples > 4)
    assert is_clear(host)
    await viewer.stream.close()
    assert machine.living() == []


async def test_death_of_the_driver_ends_the_stream(machine: Machine) -> None:
    viewer = await watch(machine)
    await viewer.until(is_clear)
    text = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    machine.says(gpus=[gpu(0)], loop="die", fail=[text, 9])
    with pytest.raises(SourceError) as caught:
        await viewer.until(lambda host: False)
    assert caught.value.problem.code == 9
    assert not caught.value.problem.is_no_driver
    await viewer.stream.close()


async def test_garbage_gives_way_to_single_queries(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(smi_stream, "SINGLE_EVERY_S", 0.05)
    machine.says(gpus=[gpu(0)], loop="garbage")
    viewer = await watch(machine)
    host = await viewer.until(
        lambda host: host.facts is not None and "loop fails" in " ".join(host.facts.unsupported)
    )
    machine.says(gpus=[gpu(0, 12)], loop="garbage")
    host = await viewer.until(lambda host: judge_host(host).clear is Clear.NO)
    assert host.link is Link.LIVE
    await viewer.stream.close()
    assert machine.living() == []


async def test_a_gpu_that_vanishes_is_missing(machine: Machine) -> None:
    viewer = await watch(machine)
    await viewer.until(is_clear)
    machine.says(gpus=[gpu(0)])
    host = await viewer.until(lambda host: GpuState.MISSING in [gpu.state for gpu in host.gpus])
    assert judge_host(host).clear is Clear.UNKNOWN
    machine.says(gpus=[gpu(0), gpu(1)])
    await viewer.until(is_clear)
    await viewer.stream.close()


async def test_a_row_that_stays_away_never_counts_as_zero(machine: Machine) -> None:
    viewer = await watch(machine)
    await viewer.until(is_clear)
    machine.says(gpus=[gpu(0), gpu(1)], skip_in_loop=1)
    await viewer.until(lambda host: not is_clear(host))
    await viewer.stream.close()


async def test_an_event_withholds_the_zero_until_asked_again(machine: Machine) -> None:
    machine.says(gpus=[gpu(0, gpu_recovery_action="[Unknown Error]")], loop="events")
    viewer = await watch(machine)
    await viewer.until(lambda host: any("reported" in gpu.reason for gpu in judge_host(host).gpus))
    assert not is_clear(viewer.host)
    await viewer.until(is_clear)
    await viewer.stream.close()


async def test_slices_come_from_the_document(machine: Machine) -> None:
    document = """<nvidia_smi_log><gpu id="00000000:01:00.0"><uuid>GPU-00000000-0000</uuid>
    <mig_devices><mig_device><gpu_instance_id>3</gpu_instance_id>
    <compute_instance_id>0</compute_instance_id>
    <fb_memory_usage><total>100 MiB</total><used>12 MiB</used></fb_memory_usage>
    </mig_device></mig_devices></gpu></nvidia_smi_log>"""
    divided = gpu(0, 14, **{"mig.mode.current": "Enabled"})
    machine.says(gpus=[divided], document=document)
    viewer = await watch(machine)
    host = await viewer.until(lambda host: bool(host.gpus[0].reading and host.gpus[0].reading.mig))
    assert host.gpus[0].info.is_mig
    await viewer.stream.close()


async def test_how_a_process_uses_a_gpu_comes_from_the_document(machine: Machine) -> None:
    document = """<nvidia_smi_log><gpu id="00000000:01:00.0"><uuid>GPU-00000000-0000</uuid>
    <fb_memory_usage><total>100 MiB</total><used>14 MiB</used></fb_memory_usage>
    <processes><process_info><pid>7</pid><type>C+G</type><used_memory>12 MiB</used_memory>
    </process_info><process_info><pid>8</pid><type>G</type><used_memory>2 MiB</used_memory>
    </process_info></processes></gpu></nvidia_smi_log>"""
    machine.says(gpus=[gpu(0, 14)], document=document)
    viewer = await watch(machine)

    def kinds(host: Host) -> dict[int, frozenset[Kind]]:
        reading = host.gpus[0].reading
        listed = reading.processes or () if reading else ()
        return {one.pid: one.kinds for one in listed}

    host = await viewer.until(lambda host: 8 in kinds(host))
    assert kinds(host)[8] == {Kind.GRAPHICS}
    await viewer.stream.close()


async def test_no_program(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        await SmiSource("local", path=str(tmp_path)).open_sampler(1.0)
    assert caught.value.problem.title == "no nvidia-smi"
    assert caught.value.exit_code is ExitCode.UNKNOWN


def behind(*prefix: str) -> Callable[[str], Runner]:
    """Return what runs programs behind words that reach another machine."""
    return lambda program: Runner(program, lambda script: program_argv(prefix, script))


async def test_no_program_behind_a_prefix() -> None:
    with pytest.raises(SourceError) as caught:
        await SmiSource(
            "there", make_runner=behind("env", "PATH=/nowhere", "/bin/sh")
        ).open_sampler(1.0)
    assert caught.value.problem.title == "no nvidia-smi"


async def test_a_prefix_reaches_the_same_commands(machine: Machine) -> None:
    env = shutil.which("env")
    assert env is not None
    prefix = (env, f"PATH={machine.folder}:{os.environ['PATH']}")
    viewer = Viewer(await SmiSource("there", make_runner=behind(*prefix)).open_sampler(0.1))
    await viewer.until(is_clear)
    await viewer.stream.close()
    assert machine.living() == []


async def test_no_devices(machine: Machine) -> None:
    machine.says(gpus=[], fail=["No devices were found\n", 6])
    with pytest.raises(SourceError) as caught:
        await machine.source().open_sampler(0.1)
    assert caught.value.problem.title == "no GPUs found"


async def test_a_driver_that_hangs(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smi_stream, "FIRST_ANSWER_S", 0.3)
    machine.says(gpus=[], hang=True)
    async with asyncio.timeout(LIMIT_S):
        with pytest.raises(SourceError) as caught:
            await machine.source().open_sampler(0.1)
    assert caught.value.problem.title == "driver hangs"
    assert machine.living() == []


HANGS = """
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
    FILE *pids = fopen(getenv("PIDS"), "a");
    signal(SIGTERM, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    if (vfork() == 0) {
        fprintf(pids, "%d %d\\n", (int)getppid(), (int)getpid());
        fflush(pids);
        for (;;) pause();
    }
    return 0;
}
"""
"""A vfork whose child neither ends nor executes: its parent waits in state D, as in a driver."""


@pytest.fixture
def in_state_d(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[], list[int]]]:
    """Put an nvidia-smi that hangs in PATH; return what tells the pids of all that started."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    assert compiler is not None
    (tmp_path / "hangs.c").write_text(HANGS)
    argv = [compiler, "-o", str(tmp_path / "nvidia-smi"), str(tmp_path / "hangs.c")]
    subprocess.run(argv, check=True)
    noted = tmp_path / "hung"
    noted.touch()
    monkeypatch.setenv("PIDS", str(noted))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    def pids() -> list[int]:
        return [int(pid) for pid in noted.read_text().split()]

    yield pids
    end_all(pids())


def end_all(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


class Unending:
    """A child that not even SIGKILL ends."""

    returncode: int | None = None

    def __init__(self) -> None:
        self.stdout = self.stderr = self

    async def read(self, n: int = -1) -> bytes:
        return b"" if self.returncode is not None else await asyncio.Event().wait() and b""

    async def wait(self) -> int:
        await self.read()
        return 0

    def terminate(self) -> None:
        pass

    kill = terminate


async def test_children_here_that_hang_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smi_stream, "FIRST_ANSWER_S", 0.01)
    monkeypatch.setattr(smi_child, "_GRACE_S", 0.01)
    children: list[Unending] = []

    class Stuck(Runner):
        async def _start(self, *_: Any, **__: Any) -> Running:
            children.append(Unending())
            return children[-1]

    source = SmiSource("here", make_runner=Stuck)
    for _ in range(5):
        with pytest.raises(SourceError) as caught:
            await source.open_sampler(0.1)
        assert caught.value.problem.title == "driver hangs"
    first = len(children)
    assert first <= 2
    for child in children:
        child.returncode = -9
    with pytest.raises(SourceError):
        await source.open_sampler(0.1)
    assert len(children) > first


async def test_what_hangs_elsewhere_does_not_pile_up(
    in_state_d: Callable[[], list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often it is tried: one set of calls a host, and the next one when that has ended.

    Only the far side knows: what carried the call there has long ended.
    """
    monkeypatch.setattr(smi_stream, "FIRST_ANSWER_S", 0.3)
    children: list[Running] = []

    class Noting(Runner):
        async def _start(self, *arguments: Any, **more: Any) -> Running:
            children.append(await super()._start(*arguments, **more))
            return children[-1]

    source = SmiSource(
        "there",
        make_runner=lambda name: Noting(name, lambda script: program_argv(("env", "sh"), script)),
    )

    async def fails() -> Problem:
        async with asyncio.timeout(LIMIT_S):
            with pytest.raises(SourceError) as caught:
                await source.open_sampler(0.1)
        return caught.value.problem

    async def all_ended() -> None:
        end_all(in_state_d())
        async with asyncio.timeout(LIMIT_S):
            await asyncio.gather(*map(drained, children))

    assert [(await fails()).title for _ in range(4)] == ["driver hangs"] * 4
    first = len(in_state_d())
    # The reading and the names are asked for at the same time; each notes two pids.
    assert first <= 4
    await all_ended()
    await fails()
    assert len(in_state_d()) > first
    await all_ended()


async def test_close_ends_a_child_that_ignores_sigterm(machine: Machine) -> None:
    machine.says(gpus=[gpu(0)], loop="hang")
    viewer = await watch(machine)
    await viewer.until(lambda host: host.samples > 1)
    async with asyncio.timeout(LIMIT_S):
        await viewer.stream.close()
    assert machine.living() == []


async def test_commands(machine: Machine) -> None:
    viewer = await watch(machine)
    await viewer.until(is_clear)
    viewer.stream.send(1, "rate", {"interval": 0.2})
    viewer.stream.send(2, "once", {})
    viewer.stream.send(3, "detail", {})
    viewer.stream.send(4, "rate", {"interval": -1})
    await viewer.until(lambda host: host.samples > 8)
    viewer.stream.send(5, "release", {})
    with pytest.raises(SourceError):
        await viewer.until(lambda host: False)
    acks = {event.id: event.is_ok for event in viewer.seen if isinstance(event, Ack)}
    assert acks == {1: True, 2: True, 3: False, 4: False, 5: True}
    assert any(isinstance(event, Bye) for event in viewer.seen)
    hellos = [event for event in viewer.seen if isinstance(event, Hello)]
    assert viewer.seen[0] is hellos[0]
    assert [hello.seq == 0 for hello in hellos] == [True] + [False] * (len(hellos) - 1)
    assert hellos[-1].interval_s == 0.2
    await viewer.stream.close()
    assert machine.living() == []


async def test_hand(machine: Machine) -> None:
    with pytest.raises(SourceError):
        await machine.source().open_hand()

    async def give() -> Stream:
        raise SourceError(smi.endings.CUT_OFF)

    with pytest.raises(SourceError) as caught:
        await machine.source(open_hand=give).open_hand()
    assert caught.value.problem is smi.endings.CUT_OFF


async def test_endless_output_is_bounded() -> None:
    finished = await Runner("yes").ask((), 20.0)
    assert finished.exit_code == 124
    assert 8 << 20 < len(finished.stdout) < 9 << 20


def test_an_endless_line_is_dropped() -> None:
    buffer = LineBuffer()
    assert buffer.feed(b"0, 0\n1, " + b"0" * 70_000) == ["0, 0"]
    assert buffer.feed(b"0" * 70_000) == []
    assert buffer.feed(b"0, 0\n2, 0\n3") == ["?", "2, 0"]
