"""Shapes of nvidia-smi's output that the reading cases don't have, each with its one answer."""

from __future__ import annotations

import pytest

from gpudash.core.errors import ExitCode
from gpudash.core.model import GpuProcess, GpuState, Host
from gpudash.core.smi import cells, endings
from gpudash.core.smi.fields import columns, header_fields, parse_fields
from gpudash.core.smi.processes import parse_process_line
from gpudash.core.smi.rows import EventLine, FatalLine, GpuRow, Noise, parse_gpu_line
from gpudash.core.units import MIB
from gpudash.core.verify import judge_host
from tests.core.smi_answer import read_text

QUERY = "index,uuid,memory.used,memory.total"
ZERO = "0, GPU-00000000-0000, 0 MiB, 24576 MiB\n"
FAILED = "Failed to initialize NVML:"
HELD = "1, GPU-00000001-0000, 12 MiB, 24576 MiB\n"


def clear(host: Host) -> str:
    return judge_host(host).clear.value


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (ZERO, "yes"),
        (ZERO + HELD, "no"),
        (ZERO.replace("\n", "\r\n"), "yes"),
        (f"\n\n{ZERO}\n", "yes"),
        (f"index, uuid, memory.used [MiB], memory.total [MiB]\n{ZERO}", "yes"),
        (ZERO + "GPU 00000000:0A:00.0: Detected Critical Xid Error\n", "unknown"),
        (ZERO + "Detected single bit ECC error on GPU 0\n", "unknown"),
        (f"WARNING: infoROM is corrupted at gpu 0000:17:00.0\n{ZERO}", "yes"),
        (ZERO + "Failed to properly shut down NVML: Unknown Error\n", "unknown"),
        (f"NVIDIA-SMI has failed because it couldn't\ncommunicate.\n{ZERO}", "unknown"),
        (ZERO.replace("24576 MiB", "[N/A]"), "unknown"),
        (ZERO.replace("24576 MiB", "0 MiB"), "unknown"),
        (ZERO.replace("0 MiB, 2", "17592186044415 MiB, 2"), "unknown"),
        (ZERO.replace("0 MiB, 2", "0 KiB, 2"), "unknown"),
        (ZERO.replace("0 MiB, 2", "00 MiB, 2"), "unknown"),
        (ZERO.replace("0 MiB, 2", "٠ MiB, 2"), "unknown"),
        (ZERO.replace("GPU-00000000-0000", "[GPU is lost]"), "unknown"),
        (ZERO + "1, GPU-00000001-0000, 0 MiB, 245", "unknown"),
        (ZERO + "1", "unknown"),
        (HELD + "1, GPU-0", "no"),
        ("", "unknown"),
        ("\x00\x01\n", "unknown"),
    ],
)
def test_one_answer(text: str, wanted: str) -> None:
    assert clear(read_text(text, query=QUERY)) == wanted


@pytest.mark.parametrize(
    ("code", "stderr", "wanted", "exit_code"),
    [
        (0, "", "yes", ExitCode.OK),
        (14, "", "yes", ExitCode.OK),
        (15, "", "unknown", ExitCode.UNKNOWN),
        (255, "", "unknown", ExitCode.UNKNOWN),
        (139, "Segmentation fault (core dumped)", "unknown", ExitCode.UNKNOWN),
        (-11, "", "unknown", ExitCode.UNKNOWN),
        (0, "bash: warning: setlocale: LC_ALL: cannot change locale", "yes", ExitCode.OK),
    ],
)
def test_exit_codes_behind_good_rows(
    code: int, stderr: str, wanted: str, exit_code: ExitCode
) -> None:
    host = read_text(ZERO, stderr, code, query=QUERY)
    assert clear(host) == wanted
    assert judge_host(host).exit_code is exit_code


def test_a_held_gpu_stays_held_behind_a_failed_exit() -> None:
    assert clear(read_text(HELD, "", 15, query=QUERY)) == "no"


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "title"),
    [
        (127, "", "sh: 1: nvidia-smi: not found", "no nvidia-smi"),
        (126, "", "permission denied", "can't run"),
        (139, "", "Segmentation fault", "nvidia-smi crashed"),
        (-11, "", "", "nvidia-smi crashed"),
        (-9, "", "", "nvidia-smi killed"),
        (18, "", "", "driver was upgraded"),
        (4, "", "", "not allowed"),
        (9, "", "", "driver not loaded"),
        (77, "", "", "nvidia-smi failed"),
        (0, "hello\n", "", "garbled answer"),
        (None, "No devices were found\n", "", "no GPUs found"),
        (
            12,
            "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n",
            "",
            "no NVIDIA driver",
        ),
        (
            255,
            "Failed to initialize NVML: Driver/library version mismatch\n",
            "",
            "driver was upgraded",
        ),
        (255, f"{FAILED} GPU is lost\n", "", "GPU lost"),
        (255, "", "ssh: connect to host a port 22: Connection refused", "connection lost"),
        (2, 'Field "x y" is not a valid field to query.\n', "", "query refused"),
    ],
)
def test_problems(code: int | None, stdout: str, stderr: str, title: str) -> None:
    problem = endings.problem_of(code, stdout, stderr)
    assert problem.title == title
    assert problem.sentence.endswith(".")
    wanted = ExitCode.UNREACHABLE if title == "connection lost" else ExitCode.UNKNOWN
    assert problem.exit_code is wanted


def test_a_problem_shows_no_control_characters() -> None:
    problem = endings.problem_of(77, "\x1b[31mbad\x07\n", "")
    assert "\x1b" not in problem.detail
    assert "\x07" not in problem.detail


@pytest.mark.parametrize(
    ("line", "index", "bus", "state"),
    [
        ("GPU1: 0000:34:00.0: Unknown Error", 1, "0000:34:00", GpuState.UNREADABLE),
        ("GPU 0000:0B:00.0: Unknown Error", 0, "0000:0b:00", GpuState.UNREADABLE),
        ("GPU0000:3B:00.0: GPU is lost.  Reboot the system", 0, "0000:3b:00", GpuState.LOST),
        ("GPU 00000000:3B:00.0: GPU requires reset", 0, "0000:3b:00", GpuState.NEEDS_RESET),
        ("GPU 00000000:3B:00.0: Insufficient Permissions", 0, "0000:3b:00", GpuState.NO_PERMISSION),
    ],
)
def test_handle_errors(line: str, index: int, bus: str, state: GpuState) -> None:
    text = f"Unable to determine the device handle for {line}\n"
    (gpu,) = read_text(text, query=QUERY).gpus
    assert (gpu.info.index, gpu.info.bus_id, gpu.state) == (index, bus, state)


def test_a_header_decides_the_order() -> None:
    text = "memory.total [MiB], memory.used [MiB], uuid, index\n24576, 12, GPU-0001-00, 3\n"
    (gpu,) = read_text(text, query=QUERY, format="csv,nounits").gpus
    assert gpu.info.index == 3
    assert gpu.reading is not None
    assert gpu.reading.used_bytes == 12 * MIB


def test_columns() -> None:
    asked = parse_fields("gpu_uuid, clocks_throttle_reasons.active,memory.used")
    assert asked == ("uuid", "clocks_event_reasons.active", "memory.used")
    assert header_fields("0, 1, 2", asked) is None
    assert header_fields("uuid, memory.used [MiB]", asked) is None
    assert columns(asked, ("uuid", "brand_new", "memory.used")) == asked
    assert columns(asked, None) == asked


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Last login: Sun Sep  4, 14:24:12, from, here", Noise),
        ("a,b,c,d", Noise),
        ("0, GPU-00000000-0000, 0 MiB", GpuRow),
        ("x" * 5000, Noise),
        ("GPU 00000000:0A:00.0: fallen off the bus", EventLine),
        ("No devices were found", FatalLine),
    ],
)
def test_lines(line: str, kind: type) -> None:
    parsed = parse_gpu_line(line, parse_fields(QUERY))
    assert isinstance(parsed, kind)
    if isinstance(parsed, GpuRow):
        assert parsed.key is None


def test_recovery_words() -> None:
    assert cells.recovery_action("None") == 0
    assert cells.recovery_action("Drain and Reset") == 4
    assert cells.recovery_action("[N/A]") is None
    assert cells.recovery_action("Something new") == cells.UNHEARD_OF_ACTION


def test_process_rows() -> None:
    asked = parse_fields("gpu_uuid,pid,name,used_memory", of_processes=True)
    row = parse_process_line("GPU-00000000-0000, 7, a, b, c, 12 MiB", asked)
    assert row is not None
    assert (row.pid, row.name, row.used_bytes) == (7, "a, b, c", 12 * MIB)
    assert parse_process_line("No running processes found", asked) is None
    hidden = parse_process_line("GPU-00000000-0000, 4294967295, a, 1 MiB", asked)
    assert hidden is not None
    assert hidden.pid is None


STRANGER = GpuProcess(pid=12, used_bytes=3 * MIB, kinds=frozenset(), name="x")
"""Listed on a GPU that is not in the roster: there is only one it can hold."""


@pytest.mark.parametrize(
    ("listed", "processes", "hidden", "wanted"),
    [
        ("", (), 0, "yes"),
        ("GPU-00000000-0000, [Not Supported], [Not Supported], [Not Supported]\n", None, 0, "yes"),
        ("GPU-00000000-0000, [N/A], [N/A], [N/A]\n", None, 0, "yes"),
        ("GPU-00000000-0000, [Insufficient Permissions], x, [N/A]\n", (), 1, "unknown"),
        ("GPU-00000000-0000, 12, x, 3 M", (), 1, "unknown"),
        ("GPU-0000000f-0000, 12, x, 3 MiB\n", (STRANGER,), 0, "no"),
    ],
)
def test_process_lists(
    listed: str, processes: tuple[object, ...] | None, hidden: int, wanted: str
) -> None:
    query = f"{QUERY} --- compute-apps: gpu_uuid,pid,process_name,used_memory"
    host = read_text(f"{ZERO}---\n{listed}", query=query, format="csv,noheader")
    assert clear(host) == wanted
    reading = host.gpus[0].reading
    assert reading is not None
    assert (reading.processes, reading.hidden_processes) == (processes, hidden)
