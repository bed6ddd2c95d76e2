"""Who holds a GPU, seen in scenes with real processes (cases A, D and E of cleanup.jsonl)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from tests.fake_driver import MIB, Process
from tests.isolation.room import in_a_room
from tests.isolation.stage import FULL, GIB, OTHER_UID, ZERO, Stage


@in_a_room
def test_nobody(stage: Stage) -> None:
    seen = stage.check()
    assert (seen.code, seen.document["verdict"], seen.holders) == (0, "ZERO", [])
    assert seen.document["simulated"] is True


@in_a_room
def test_a03_a_title_hides_no_holder(stage: Stage) -> None:
    """setproctitle leaves neither python in comm nor the command line."""
    holder = stage.holder(0, retitle="sglang::scheduler_TP0")
    seen = stage.check()
    row = seen.holder(holder.pid)
    assert seen.code == 1
    assert (row["basis"], row["name"], row["detail"]) == ("listed", "sglang", "scheduler TP0")
    assert row["gpus"][0]["used_bytes"] == GIB


@in_a_room
def test_a06_memory_of_a_dead_rank_is_kept_by_its_child(stage: Stage) -> None:
    holder = stage.holder(0, inherit=True, new_session=True)
    holder.kill()
    seen = stage.check()
    row = seen.holder(holder.pid)
    assert seen.code == 1
    assert row["basis"] == "inherited"
    assert [one["pid"] for one in row["kept_by"]] == [holder.child_pid]
    assert f"pid {holder.pid} is dead, memory kept by its child {holder.child_pid}" in row["words"]
    (process,) = seen.host["gpus"][0]["processes"]
    assert process["kept_by"] == [holder.child_pid]
    assert process["is_gone"]


@in_a_room
def test_d14_d13_the_hidden_live(stage: Stage) -> None:
    """hidepid=2 hides another user's holder; the driver lists it, and kill finds it alive."""
    holder = stage.holder(0)
    stage.mount_proc("hidepid=2")
    seen = stage.check(uid=OTHER_UID)
    row = seen.holder(holder.pid)
    assert seen.code == 1
    assert seen.verdict_of(0) == "HELD"
    assert (row["basis"], row["owner"], row["kept_by"]) == ("hidden", "foreign", [])
    assert row["words"] == f"pid {holder.pid}, another user's, hidden by hidepid"
    assert "inherited" not in seen.text
    assert seen.document["reach"]["word"] == "partial"


@in_a_room
def test_a04_names_that_killall_does_not_know(stage: Stage) -> None:
    ranks = [stage.holder(0, title="pt_main_thread"), stage.holder(1, title="vllm")]
    seen = stage.check()
    for index, rank in enumerate(ranks):
        row = seen.holder(rank.pid)
        assert row["basis"] == "listed"
        assert row["gpus"] == [
            {"index": index, "uuid": seen.host["gpus"][index]["uuid"], "used_bytes": GIB}
        ]


@in_a_room
def test_a07_a_pid_that_does_not_exist_is_a_lead(stage: Stage) -> None:
    stage.write(stage.driver.with_process(0, Process(999_999, 10_151 * MIB)))
    stage.write(stage.driver.with_used(0, 10_151 * MIB))
    nobody = stage.check().holder(999_999)
    assert (nobody["basis"], nobody["kept_by"]) == ("dead", [])
    holder = stage.holder(devices=(FULL,))
    seen = stage.check()
    row = seen.holder(999_999)
    assert seen.code == 1
    assert row["basis"] == "inherited"
    assert [one["pid"] for one in row["kept_by"]] == [holder.pid]
    assert row["gpus"][0]["used_bytes"] == 10_151 * MIB
    assert [other["pid"] for other in seen.holders] == [999_999], "nobody is there twice"


@in_a_room
def test_a08_a_main_thread_that_ended_hides_no_handle(stage: Stage) -> None:
    holder = stage.holder(0, zombie_leader=True)
    seen = stage.check()
    row = seen.holder(holder.pid)
    assert seen.code == 1
    assert (row["basis"], row["state"], row["kept_by"]) == ("listed", "Z", [])
    assert {"nvml", "fd", "thread"} <= set(row["evidence"])
    assert row["words"].endswith("main thread ended")


@in_a_room
def test_a11_who_imported_memory_is_named_when_its_owner_is_gone(stage: Stage) -> None:
    owner, importer = stage.holder(1), stage.holder(devices=(FULL,))
    stage.write(stage.driver.with_process(0, Process(owner.pid, GIB)).with_used(0, GIB))
    both = stage.check()
    assert both.holder(owner.pid)["basis"] == "listed"
    owner.kill()
    row = stage.check().holder(owner.pid)
    assert [one["pid"] for one in row["kept_by"]] == [importer.pid]


@in_a_room
def test_a12_what_is_only_mapped(stage: Stage) -> None:
    holder = stage.holder(1, kind="-", devices=(), maps=(ZERO,))
    seen = stage.check()
    row = seen.holder(None)
    assert seen.code == 1
    assert seen.verdict_of(1) == "HELD"
    assert row["basis"] == "unexplained"
    assert row["gpus"][0]["used_bytes"] == GIB
    assert [one["pid"] for one in row["kept_by"]] == [holder.pid]
    assert (row["evidence"], row["handles"]) == (["map"], 0)


@in_a_room
def test_a12_memory_of_the_dead_that_a_child_has_only_mapped(stage: Stage) -> None:
    holder = stage.holder(1, devices=(), maps=(ZERO,), inherit=True)
    holder.kill()
    row = stage.check().holder(holder.pid)
    assert row["basis"] == "inherited"
    assert [one["pid"] for one in row["kept_by"]] == [holder.child_pid]
    assert row["evidence"] == ["nvml", "map"]


@in_a_room
def test_a06_a_dead_rank_that_nobody_waited_for_is_dead(stage: Stage) -> None:
    holder = stage.holder(0, inherit=True)
    os.kill(holder.pid, signal.SIGKILL)
    os.waitid(os.P_PID, holder.pid, os.WEXITED | os.WNOWAIT)
    seen = stage.check()
    row = seen.holder(holder.pid)
    assert row["basis"] == "inherited"
    assert [one["pid"] for one in row["kept_by"]] == [holder.child_pid]
    assert seen.host["gpus"][0]["processes"][0]["is_gone"]


@in_a_room
def test_a13_who_only_watches_holds_nothing(stage: Stage) -> None:
    watcher = stage.holder(devices=("/dev/random",))
    tenant = stage.holder(0, devices=(FULL, "/dev/urandom"))
    stage.write(stage.driver.with_used(1, GIB))
    seen = stage.check(device_map="1:7=0,1:5=1,1:8=control,1:9=uvm")
    assert set(seen.holder(tenant.pid)["evidence"]) == {"nvml", "fd", "uvm"}
    row = seen.holder(watcher.pid)
    assert (row["basis"], row["gpus"], row["handles"]) == ("handles", [], 1)
    assert [one["pid"] for one in seen.holder(None)["kept_by"]] == [], "it can't hold GPU 1"


@in_a_room
def test_a13_a_tenant_keeps_the_memory_of_the_dead_and_a_watcher_does_not(stage: Stage) -> None:
    devices = (FULL, "/dev/urandom")
    stage.holder(devices=(FULL,), retitle="nvtop")
    worker = stage.holder(devices=devices)
    stage.write(stage.driver.with_process(0, Process(999_999, GIB)).with_used(0, GIB))
    seen = stage.check(device_map="1:7=0,1:9=uvm")
    row = seen.holder(999_999)
    assert [one["pid"] for one in row["kept_by"]] == [worker.pid]
    table = stage.gpudash("check", device_map="1:7=0,1:9=uvm").stdout.decode()
    assert "1 open handle, no memory: nvtop" in table


@in_a_room
def test_a14_another_node_of_the_same_device(stage: Stage) -> None:
    holder = stage.holder(0, kind="-", devices=(stage.node(1, 7),))
    row = stage.check().holder(None)
    assert [one["pid"] for one in row["kept_by"]] == [holder.pid]
    assert row["evidence"] == ["fd"]


@in_a_room
def test_a26_a_handle_is_no_use(stage: Stage) -> None:
    """Every rank opens GPU 0; what it holds there is the driver's to say."""
    rank = stage.holder(1, devices=(FULL, ZERO))
    stage.write(stage.driver.with_used(0, GIB))
    seen = stage.check()
    assert [one["index"] for one in seen.holder(rank.pid)["gpus"]] == [1]
    assert [one["index"] for one in seen.holder(None)["gpus"]] == [0]


@in_a_room
def test_d13_what_can_not_be_looked_into_is_counted(stage: Stage) -> None:
    stage.holder(0, kind="-")
    foreign = stage.holder(1)
    seen = stage.check(uid=OTHER_UID)
    assert seen.code == 1
    row = seen.holder(foreign.pid)
    assert (row["basis"], row["owner"], row["user"]) == ("listed", "foreign", "root")
    assert seen.holder(None)["kept_by"] == []
    assert seen.document["reach"]["word"] == "partial"
    assert any("not readable" in why for why in seen.document["reach"]["why"])


@in_a_room
def test_d16_a_pid_that_is_listed_twice_is_one(stage: Stage) -> None:
    holder = stage.holder(devices=(FULL,))
    driver = stage.driver.with_process(0, Process(holder.pid, GIB, kind="C"))
    stage.write(driver.with_process(0, Process(holder.pid, GIB, kind="G")).with_used(0, GIB))
    row = stage.check().holder(holder.pid)
    assert row["gpus"][0]["used_bytes"] == GIB


@in_a_room
def test_d18_orphans_do_not_all_go_to_pid_1(stage: Stage) -> None:
    """The holder's child is adopted by the scene: a subreaper, as a login manager is."""
    holder = stage.holder(0, inherit=True)
    holder.kill()
    parent = next(
        line.split()[1]
        for line in Path(f"/proc/{holder.child_pid}/status").read_text().splitlines()
        if line.startswith("PPid:")
    )
    assert int(parent) == os.getpid() != 1
    row = stage.check().holder(holder.pid)
    assert [one["pid"] for one in row["kept_by"]] == [holder.child_pid]


@in_a_room
def test_e01_unexplained_memory_has_a_row_of_its_own(stage: Stage) -> None:
    stage.write(stage.driver.with_used(0, 541 * MIB))
    seen = stage.check()
    row = seen.holder(None)
    assert (seen.code, row["basis"], row["kept_by"]) == (1, "unexplained", [])
    assert row["gpus"][0]["used_bytes"] == 541 * MIB
    assert row["words"] == "unexplained: no process found"


@in_a_room
def test_e13_one_gpu_of_two(stage: Stage) -> None:
    stage.holder(1)
    seen = stage.check()
    assert (seen.verdict_of(0), seen.verdict_of(1), seen.code) == ("ZERO", "HELD", 1)
    assert stage.check("--gpu", "0").code == 0


# -- other pid namespaces ----------------------------------------------------------------------


@in_a_room
def test_a_namesake_of_a_host_pid_is_never_named(stage: Stage) -> None:
    """Inside a pid namespace the driver lists host pids; the same number is somebody else here."""
    namesake = stage.holder(devices=(), retitle="innocent")
    driver = stage.driver.with_process(0, Process(namesake.pid, GIB)).with_used(0, GIB)
    stage.write(driver)
    for device_map in ("1:7=0,1:5=1,pids=host", None):
        seen = stage.check(device_map=device_map)
        row = seen.holder(namesake.pid)
        assert (seen.code, row["basis"], row["name"]) == (1, "host pid", None)
        assert row["words"] == f"host pid {namesake.pid}"
        assert "innocent" not in seen.text
        assert seen.document["reach"]["word"] == "partial"
        table = stage.gpudash("check", device_map=device_map).stdout
        assert b"innocent" not in table
        assert f"host pid {namesake.pid}".encode() in table


@in_a_room
def test_a_host_pid_that_has_the_same_gpu_open_here_is_that_process(stage: Stage) -> None:
    holder = stage.holder(devices=(FULL,), retitle="tenant")
    other = stage.holder(devices=(ZERO,), retitle="elsewhere")
    driver = stage.driver.with_process(0, Process(holder.pid, GIB)).with_used(0, GIB)
    stage.write(driver.with_process(0, Process(other.pid, 0)))
    seen = stage.check(device_map="1:7=0,1:5=1,pids=host")
    assert (seen.holder(holder.pid)["basis"], seen.holder(holder.pid)["name"]) == (
        "listed",
        "tenant",
    )
    (row,) = (row for row in seen.holders if row["pid"] == other.pid and row["basis"] == "host pid")
    assert row["name"] is None


@in_a_room
def test_zero_seen_from_inside_is_zero_with_a_partial_reach(stage: Stage) -> None:
    seen = stage.check(device_map=None)
    assert (seen.code, seen.document["verdict"]) == (0, "ZERO")
    assert seen.document["reach"]["word"] == "partial"
    assert "processes outside this container not visible" in seen.document["reach"]["why"]


# -- stand-ins are never taken for GPUs --------------------------------------------------------


@in_a_room
def test_whatever_is_seen_through_stand_ins_is_marked(stage: Stage) -> None:
    assert b"SIMULATED" in stage.gpudash("check").stdout
    assert b"SIMULATED" not in stage.gpudash("check", device_map=None).stdout
    assert b"SIMULATED" in stage.gpudash("doctor").stdout
    # Without NVML what is read comes through nvidia-smi, which knows nothing of stand-ins.
    stage.write(stage.driver.with_init_error(12))
    assert stage.check().document["simulated"] is True


@in_a_room
def test_a_map_that_is_none_is_refused_before_anything_starts(stage: Stage) -> None:
    for words in (("check",), ("doctor",), ()):
        done = stage.gpudash(*words, device_map="1:7=zero")
        assert done.returncode == 2
        assert b"GPUDASH_DEVICE_MAP" in done.stderr
