"""The failing twins: what went wrong, in one sentence, and exit code 7 whatever CMD returned."""

from __future__ import annotations

import signal
import socket

from tests.cli.running import is_running
from tests.isolation.room import in_a_room
from tests.isolation.stage import Stage
from tests.launching.playing import PORT, Ran, Show, ask, end_server


def check(done: Ran, show: Show, log: str) -> None:
    expected = show.expected(log)["failure"]
    assert done.code == 7, done.err
    assert done.document["spoke"] == "gpudash"
    found = (done.failure["kind"], done.failure["line"])
    assert found == (expected["kind"], expected["line"]), (done.failure, done.err)
    assert done.failure["message"] == expected["message"]
    assert expected["message"] in done.err


@in_a_room
def test_out_of_memory(stage: Stage) -> None:
    show = Show(stage)
    done = show.run(show.play("sglang_0.5.9_tp8_oom_load_weights"))
    check(done, show, "sglang_0.5.9_tp8_oom_load_weights")
    assert done.err.splitlines()[-1] == "gpudash: CMD exited 1"
    assert not done.document["runs"]


@in_a_room
def test_a_draft_of_another_shape(stage: Stage) -> None:
    show = Show(stage)
    log = "sglang_0.5.9_eagle3_draft_shape_mismatch"
    check(show.run(show.play(log, end={"exit": 0})), show, log)


@in_a_room
def test_a_port_that_is_taken_late(stage: Stage) -> None:
    show = Show(stage)
    log = "sglang_0.5.9_port_in_use_after_load"
    with socket.create_server(("127.0.0.1", PORT)):
        done = show.run(show.play(log), "--preflight", "none")
    check(done, show, log)


@in_a_room
def test_a_worker_that_was_killed(stage: Stage) -> None:
    show = Show(stage)
    log = "sglang_0.5.11_host_oom_killed_compose"
    done = show.run(show.play(log, workers=2, kills=10, end={"signal": signal.SIGKILL}))
    check(done, show, log)
    assert done.err.splitlines()[-1] == "gpudash: CMD exited 137"
    assert (done.document["command_code"], done.document["command_signal"]) == (137, 9)


@in_a_room
def test_a_failure_that_leaves_the_server_running(stage: Stage) -> None:
    show = Show(stage)
    log = "sglang_0.5.9_tp8_oom_load_weights"
    done = show.run(show.play(log, end="hang"))
    check(done, show, log)
    assert done.document["runs"]
    assert is_running(done.document["pid"])
    assert f"pid {done.document['pid']} runs on" in done.err


@in_a_room
def test_one_that_hangs_times_out_and_runs_on(stage: Stage) -> None:
    show = Show(stage)
    done = show.run(show.play(until=20, take_at=5), "--timeout", "4s")
    assert done.code == 5, done.err
    assert "not ready within 4" in done.document["outcome"]
    assert is_running(done.document["pid"])
    assert done.document["startup"]["phases"][-1]["name"] == "init_dist"


@in_a_room
def test_ready_by_log_and_url_alone(stage: Stage) -> None:
    show = Show(stage)
    url = f"http://127.0.0.1:{PORT}/health"
    done = show.run(show.play(), "--url", url)
    assert done.code == 0, done.err
    assert ask("/health") == 200
    end_server(done.document["pid"])


@in_a_room
def test_one_that_returns_at_once_names_no_source(stage: Stage) -> None:
    show = Show(stage)
    done = show.ran(stage.gpudash("run", "--format", "json", "--", "true"))
    assert done.code == 2
    assert "--container NAME, --unit NAME or --log FILE" in done.document["outcome"]
    assert done.err.splitlines()[-1] == "gpudash: CMD exited 0"


@in_a_room
def test_one_that_can_not_be_executed_is_found_before_anything_is_touched(stage: Stage) -> None:
    show = Show(stage)
    holder = stage.holder(0)
    flags = ("--format", "json", "--clean", "--yes")
    for more, said in (
        (("--", "no-such-program"), "no-such-program: no such program in PATH"),
        (("--cwd", "/no/such", "--", "true"), "/no/such: no such folder"),
        (("--venv", "/no/such", "--", "true"), "/no/such: no virtual environment is there"),
        (("--log", "/no/such/x.log", "--", "true"), "the log /no/such/x.log can't be written"),
        (("--", "./server.sh"), "./server.sh: no such program"),
    ):
        done = show.ran(stage.gpudash("run", *flags, *more))
        assert (done.code, done.document["outcome"]) == (2, said)
        assert (done.document["pid"], done.document["cleaned"]) == (None, None)
    assert is_running(holder.pid)


@in_a_room
def test_one_whose_ranks_wait_for_each_other_says_what_is_seen(stage: Stage) -> None:
    show = Show(stage)
    log = "train_nccl_watchdog_timeout"
    done = show.run(show.play(log, listen_at=None, end={"signal": signal.SIGABRT}), "--stay")
    expected = show.expected(log)["failure"]
    assert (done.failure["kind"], done.failure["message"]) == (
        expected["kind"],
        expected["message"],
    )
    # It was at its steps: from READY on the code is the command's.
    assert (done.code, done.document["spoke"]) == (128 + signal.SIGABRT, "command")
    assert done.document["ready"]
