"""What a cleanup leaves when it is cut off: a finished order, and reports that can be fetched."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from tests.cleaning.scenes import Scene, clean
from tests.cli.running import wait_for
from tests.isolation.room import in_a_room
from tests.isolation.stage import Stage

PYTHONS = Path(sys.executable).parent
_LOCK = """
import os, socket
server = socket.socket(socket.AF_UNIX)
server.bind("\\0gpudash/clean/%d" % os.stat("/proc/self/ns/pid").st_ino)
server.listen(1)
print(flush=True)
input()
"""


@in_a_room
def test_a_second_cleaner_is_refused_by_name_of_the_first(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0)
    other, _ = stage.start([sys.executable, "-c", _LOCK])
    done = clean(stage, "--yes")
    assert done.code == 2, done.text
    assert done.host["refused"] == f"locked by pid {other}"
    assert scene.is_alive(holder)
    assert scene.signals() == []


@in_a_room
def test_a_killed_gpudash_leaves_a_finished_order_and_its_reports(stage: Stage) -> None:
    scene = Scene(stage)
    holder, bystander = scene.holder(0, ignore_term=True), scene.bystander()
    process = scene.begin("--yes", "--grace", "2s")
    scene.wait_for_line("signal", "SIGTERM")
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert scene.is_alive(holder), "nothing was forced yet"
    wait_for(lambda: not scene.is_alive(holder))
    run = scene.records()[-1].stem
    told = stage.gpudash("explain", run)
    assert b"no end is on record" in told.stdout
    assert f"gpudash clean --resume {run}".encode() in told.stderr
    done = clean(stage, "--resume", run, "--hold", "500ms")
    assert done.code == 0, done.text
    # What was ended is proven as after any other cleanup, and nobody is signalled for it.
    assert done.host["proof"]["state"] == "PROVEN"
    assert (done.host["ordered"], done.host["hold"]["hold_s"]) == (False, 0.5)
    assert ", held " in done.host["says"]
    (before,) = done.host["picked_up"]
    assert before["run"] == run
    assert [(one["pid"], one["fate"]) for one in before["targets"]] == [(holder, "ended")]
    sent = [(line["pid"], line["signal"], line["of"]) for line in scene.lines("signal")]
    assert sent == [(holder, "TERM", run), (holder, "KILL", run)]
    assert scene.is_alive(bystander)
    again = stage.gpudash("clean", "--resume", run)
    assert again.returncode == 2
    assert b"unaccounted" in again.stderr


@in_a_room
def test_what_is_held_after_a_resume_is_held(stage: Stage) -> None:
    """The exit code is that of what reads now, and what holds it is left."""
    scene = Scene(stage)
    holder, other = scene.holder(0, ignore_term=True), scene.holder(1)
    process = scene.begin("--yes", "--grace", "1s", "--pid", str(holder))
    scene.wait_for_line("signal", "SIGTERM")
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not scene.is_alive(holder))
    done = clean(stage, "--resume", scene.records()[-1].stem)
    assert (done.code, done.host["exit_code"]) == (1, 1), done.text
    assert [one["fate"] for one in done.host["picked_up"][0]["targets"]] == ["ended"]
    assert done.host["proof"] is None
    assert scene.is_alive(other)


@in_a_room
def test_a_later_clean_picks_the_reports_up(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0, ignore_term=True)
    process = scene.begin("--yes", "--grace", "1s")
    scene.wait_for_line("signal", "SIGTERM")
    process.send_signal(signal.SIGKILL)
    process.wait()
    wait_for(lambda: not scene.is_alive(holder))
    done = clean(stage, "--yes", "--hold", "500ms")
    assert done.code == 0, done.text
    assert [one["fate"] for one in done.host["picked_up"][0]["targets"]] == ["ended"]


@in_a_room
def test_ctrl_c_goes_no_further(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0, ignore_term=True)
    process = scene.begin("--yes", "--grace", "60s")
    scene.wait_for_line("signal", "SIGTERM")
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err.decode()
    assert scene.is_alive(holder)
    assert json.loads(out)["hosts"][0]["gpus"][0]["outcome"] == "HELD"
    assert scene.signals() == [(holder, "TERM")]
    assert [line["says"] for line in scene.lines("done")] == [
        "the order was stopped: no further step"
    ]


@in_a_room
def test_a_hand_that_is_killed_stops_no_order(stage: Stage) -> None:
    """The order goes on, its reports come by the next hand."""
    scene = Scene(stage)
    holder = scene.holder(0, ignore_term=True)
    process = scene.begin("--yes", "--grace", "2s")
    scene.wait_for_line("signal", "SIGTERM")
    (hand,) = scene.hands_of(process.pid)
    os.kill(hand, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    assert not scene.is_alive(holder)
    assert scene.signals() == [(holder, "TERM"), (holder, "KILL")]
    assert json.loads(out)["hosts"][0]["targets"][0]["fate"] == "ended"


@in_a_room
def test_sudo_is_used_where_it_was_asked_for_and_shown(stage: Stage) -> None:
    """A stand-in for sudo notes how it was called and goes on as the same user."""
    scene = Scene(stage)
    scene.holder(0)
    sudo = stage.folder / "bin" / "sudo"
    sudo.parent.mkdir()
    sudo.write_text(f'#!/bin/sh\nprintf "%s " "$1" >> {stage.folder}/called\nshift\nexec "$@"\n')
    sudo.chmod(0o755)
    stage.variables["PATH"] = f"{sudo.parent}:/usr/bin:/bin"
    assert clean(stage, "--dry-run").code == 1
    assert not (stage.folder / "called").exists()
    done = stage.gpudash("clean", "--dry-run", "--sudo")
    assert b"by sudo -n" in done.stdout
    assert set((stage.folder / "called").read_text().split()) == {"-n"}
    assert clean(stage, "--yes", "--sudo").code == 0


@in_a_room
def test_time_that_is_over_ends_it(stage: Stage) -> None:
    scene = Scene(stage)
    holder = scene.holder(0, ignore_term=True)
    done = clean(stage, "--yes", "--grace", "60s", "--timeout", "2s")
    assert done.code == 5, done.text
    assert scene.is_alive(holder)


@in_a_room
def test_a_sampler_that_is_killed_is_a_link_that_comes_back(stage: Stage) -> None:
    scene = Scene(stage)
    holder, bystander = scene.holder(0, ignore_term=True), scene.bystander()
    process = scene.begin("--yes", "--grace", "1s", "--hold", "500ms")
    scene.wait_for_line("signal", "SIGTERM")
    for probe in scene.probes_of(process.pid):
        os.kill(probe, signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    assert json.loads(out)["hosts"][0]["targets"][0]["fate"] == "ended"
    assert scene.signals() == [(holder, "TERM"), (holder, "KILL")]
    assert scene.is_alive(bystander)


@in_a_room
def test_each_host_ends_by_itself(stage: Stage) -> None:
    """One is reached by a command, the other not at all; the worst counts."""
    scene = Scene(stage)
    holder = scene.holder(0)
    config = stage.folder / "config.toml"
    config.write_text(
        '[hosts.pod]\ncommand = ["/bin/sh"]\n[hosts.gone]\ncommand = ["/bin/false"]\n'
    )
    stage.variables |= {"GPUDASH_CONFIG": str(config), "PATH": f"{PYTHONS}:/usr/bin:/bin"}
    done = stage.gpudash("clean", "pod", "gone", "--yes", "--hold", "500ms", "--format", "json")
    pod, gone = json.loads(done.stdout)["hosts"]
    assert (pod["host"], pod["exit_code"], pod["outcome"]) == ("pod", 0, "CLEANED")
    assert gone["exit_code"] in (3, 4)
    assert done.returncode == gone["exit_code"]
    assert not scene.is_alive(holder)


@in_a_room
def test_a_later_interruption_waits_for_nobody(stage: Stage) -> None:
    """The hand is stopped, so that nothing answers; the second ctrl-c leaves it to the host."""
    scene = Scene(stage)
    holder = scene.holder(0, ignore_term=True)
    process = scene.begin("--yes", "--grace", "60s")
    scene.wait_for_line("signal", "SIGTERM")
    (hand,) = scene.hands_of(process.pid)
    os.kill(hand, signal.SIGSTOP)
    os.kill(process.pid, signal.SIGINT)
    scene.wait_for_line("abort")
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err.decode()
    assert json.loads(out)["hosts"][0]["gpus"][0]["outcome"] == "UNKNOWN"
    assert scene.is_alive(holder)
