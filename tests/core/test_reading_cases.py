"""Real readings with their right answers (tests/data/cases/readings.jsonl), as text.

`nvml` cases need a driver and run through the sampler elsewhere. What is tested hard is `clear`
and what each GPU uses; which of the non-zero states it is needs more than one reading.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gpudash.core.model import Gpu, GpuState, Host, Link
from gpudash.core.scope import normal_bus_id
from gpudash.core.units import MIB, ceil_mib
from gpudash.core.verify import Verdict, judge_host
from tests.core.smi_answer import read_text

CASES = Path(__file__).parents[1] / "data" / "cases" / "readings.jsonl"
SKIPPED: dict[str, str] = {}
"""Case id → why the text path can't be given it."""

NOT_IN_THE_TEXT = "used memory of the GPU is not in the text: only its processes or slices are"
USED_NOT_IN_TEXT: dict[str, str] = {
    "mig-h100-load-parent-uuid": NOT_IN_THE_TEXT,
    "mig-shared-ci-double-count": NOT_IN_THE_TEXT,
}
"""Case id → why its `used_mib` can't come out of its input."""


def text_cases() -> list[Any]:
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    return [
        pytest.param(case, id=case["id"])
        for case in cases
        if case["kind"] != "nvml" and case["id"] not in SKIPPED
    ]


# -- inputs that nvidia-smi prints in another shape ---------------------------------------------


def _as_element(tag: str, **children: str) -> str:
    inner = "".join(f"<{name}>{text}</{name}>" for name, text in children.items())
    return f"<{tag}>{inner}</{tag}>"


def as_document(text: str, names: list[str]) -> str:
    """Put rows of nvidia-smi's table back into the elements of `-q -x` that print the same.

    The table itself is made for people; gpudash reads the document instead.
    """
    gpus: dict[str, tuple[list[str], list[str]]] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split(",")]
        if cells == names:
            continue
        row = dict(zip(names, cells, strict=True))
        slices, processes = gpus.setdefault(row["gpu"], ([], []))
        ids = {"gpu_instance_id": row["gi"], "compute_instance_id": row["ci"]}
        if "pid" in row:
            memory = row["memory"].replace("MiB", " MiB")
            about = {"pid": row["pid"], "type": row["type"], "process_name": row["name"]}
            processes.append(_as_element("process_info", **ids, **about, used_memory=memory))
        else:
            used, total = (row[name].replace("MiB", " MiB") for name in ("used", "total"))
            memory = _as_element("fb_memory_usage", total=total, used=used)
            slices.append(_as_element("mig_device", **ids).replace("</mig", f"{memory}</mig"))
    inner = "".join(
        f"<gpu><mig_devices>{''.join(slices)}</mig_devices>"
        + (f"<processes>{''.join(processes)}</processes>" if processes else "")
        + "</gpu>"
        for slices, processes in gpus.values()
    )
    return f"<nvidia_smi_log>{inner}</nvidia_smi_log>"


def _tabulated(case: dict[str, Any]) -> list[str] | None:
    """Return the columns of an input that was taken from the table; None for all others."""
    query = (case.get("query") or "").strip()
    if not re.fullmatch(r"\(.*\)", query):
        return None
    named = re.search(r"rows:\s*([\w,]+)", query)
    first = case["input"].splitlines()[0]
    return [name.strip() for name in (named[1] if named else first).split(",")]


def read_case(case: dict[str, Any]) -> Host:
    given = case["input"]
    context = case.get("context") or {}
    answer = given if isinstance(given, dict) else {"stdout": given}
    query = case.get("query") or ""
    if columns := _tabulated(case):
        query, answer = "-q -x", {"stdout": as_document(given, columns)}
    known = case.get("exit_code_known", True)
    return read_text(
        answer["stdout"],
        answer.get("stderr", ""),
        answer.get("exit_code") if known else None,
        query=query,
        format=case.get("format"),
        at_end=case.get("at_end"),
        stream=case.get("stream", False),
        expected_count=context.get("expected_count"),
        expected_uuids=context.get("expected_uuids", ()),
    )


# -- what came out ------------------------------------------------------------------------------


def used_mib(host: Host, gpu: Gpu) -> int | None:
    if host.link is not Link.LIVE or gpu.reading is None or gpu.reading.used_bytes is None:
        return None
    return ceil_mib(gpu.reading.used_bytes)


def find(host: Host, wanted: dict[str, Any], order: int) -> Gpu:
    for gpu in host.gpus:
        if wanted.get("uuid") and gpu.info.uuid == wanted["uuid"]:
            return gpu
    for gpu in host.gpus:
        if wanted.get("bus_id") and gpu.info.bus_id == normal_bus_id(wanted["bus_id"]):
            return gpu
    for gpu in host.gpus:
        if wanted["index"] is not None and gpu.info.index == wanted["index"]:
            return gpu
    return host.gpus[order]


@pytest.mark.parametrize("case", text_cases())
def test_clear(case: dict[str, Any]) -> None:
    host = read_case(case)
    assert judge_host(host).clear.value == case["expected"]["clear"]


@pytest.mark.parametrize("case", text_cases())
def test_what_each_gpu_uses(case: dict[str, Any]) -> None:
    host = read_case(case)
    expected = case["expected"]["gpus"]
    found = [find(host, wanted, order) for order, wanted in enumerate(expected)]
    if case["id"] not in USED_NOT_IN_TEXT:
        assert [used_mib(host, gpu) for gpu in found] == [gpu["used_mib"] for gpu in expected]
    rest = [gpu for gpu in host.gpus if gpu not in found]
    assert all(used_mib(host, gpu) is None for gpu in rest)
    for gpu, wanted in zip(found, expected, strict=True):
        if wanted["total_mib"] and host.link is Link.LIVE and case["id"] not in USED_NOT_IN_TEXT:
            assert gpu.info.total_bytes == wanted["total_mib"] * MIB
        if "reserved_mib" in wanted:
            assert gpu.info.reserved_bytes == wanted["reserved_mib"] * MIB
        if wanted.get("mig") is True and ("mig.mode" in case["query"] or case["kind"] == "xml"):
            assert gpu.info.is_mig


STATES = {
    "lost": {GpuState.LOST},
    "reset_required": {GpuState.NEEDS_RESET},
    "no_permission": {GpuState.NO_PERMISSION},
    "missing": {GpuState.MISSING},
    "unified": {GpuState.UNIFIED},
    "unreadable": {GpuState.UNREADABLE},
    "zero": {GpuState.READ},
    "in_use": {GpuState.READ},
    "baseline": {GpuState.READ},
    "mig_baseline": {GpuState.READ},
    "held_unattributed": {GpuState.READ},
    "unknown": {GpuState.UNREAD, GpuState.UNREADABLE},
    "needs_attention": {GpuState.NEEDS_ATTENTION, GpuState.NEEDS_RESET},
}


@pytest.mark.parametrize("case", text_cases())
def test_state_of_each_gpu(case: dict[str, Any]) -> None:
    host = read_case(case)
    for order, wanted in enumerate(case["expected"]["gpus"]):
        gpu = find(host, wanted, order)
        allowed = STATES[wanted["state"]]
        if wanted["used_mib"] is None or case["id"] in USED_NOT_IN_TEXT:
            # Held, as its processes show, and the text says nothing of its memory.
            allowed = allowed - {GpuState.READ} or {GpuState.UNREADABLE}
        if wanted["state"] == "unknown" and host.link is not Link.LIVE:
            # The last value stays in view, and proves nothing.
            assert judge_host(host).verdict is Verdict.UNKNOWN
        else:
            assert gpu.state in allowed


@pytest.mark.parametrize("case", text_cases())
def test_error_is_said(case: dict[str, Any]) -> None:
    host = read_case(case)
    verdict = judge_host(host)
    if case["expected"]["error"] is None or verdict.clear.value == "yes":
        return
    reasons = [verdict.reason, *(gpu.reason for gpu in verdict.gpus)]
    assert any(reason not in ("", "unknown") for reason in reasons)
    if not case["expected"]["gpus"]:
        assert host.problem is not None
        assert host.problem.sentence


@pytest.mark.parametrize("case", text_cases())
def test_processes_in_the_text(case: dict[str, Any]) -> None:
    expected = case["expected"]["processes"]
    query = case.get("query") or ""
    if not expected or not ("compute-apps" in query or "-x" in query or "process" in query):
        return
    host = read_case(case)
    listed = [
        (gpu.info.index, process.pid, process.name, process.used_bytes)
        for gpu in host.gpus
        for process in (gpu.reading and gpu.reading.processes) or ()
    ]
    hidden = sum(gpu.reading.hidden_processes for gpu in host.gpus if gpu.reading)
    assert hidden == sum(row["pid"] is None for row in expected)
    assert sorted(listed, key=str) == sorted(
        (
            (
                row["gpu"],
                row["pid"],
                row["name"],
                None if row["used_mib"] is None else row["used_mib"] * MIB,
            )
            for row in expected
            if row["pid"] is not None
        ),
        key=str,
    )


@pytest.mark.parametrize("case", text_cases())
def test_slices_in_the_text(case: dict[str, Any]) -> None:
    for order, wanted in enumerate(case["expected"]["gpus"]):
        if "instances" not in wanted or (case["kind"] == "csv" and not _tabulated(case)):
            continue  # CSV has no slices
        gpu = find(read_case(case), wanted, order)
        assert gpu.reading is not None
        by_instance = {slice_.gpu_instance: slice_.used_bytes for slice_ in gpu.reading.mig}
        assert by_instance == {
            slice_["gi"]: slice_["used_mib"] * MIB for slice_ in wanted["instances"]
        }


def test_every_case_is_run_or_has_a_reason() -> None:
    cases = [json.loads(line) for line in CASES.read_text().splitlines()]
    run = {param.id for param in text_cases()}
    rest = {case["id"] for case in cases if case["kind"] != "nvml"} - run
    assert rest == set(SKIPPED)
    assert all(SKIPPED.values())
