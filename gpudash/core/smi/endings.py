"""Why nvidia-smi gave no reading: its error texts and exit codes in plain words.

Errors come on stdout as a rule. The text decides where there is one, because exit codes differ
between drivers and ssh's own failure has the same code (255) as nvidia-smi's `other error`.
Source: man page of nvidia-smi, RETURN VALUE; reports named in the test cases.
"""

from __future__ import annotations

import re
from dataclasses import replace

from gpudash.core import nvml
from gpudash.core.errors import ExitCode
from gpudash.core.model import Problem
from gpudash.core.names import clean_text
from gpudash.core.problems import driver_problem
from gpudash.core.smi.cells import UNKNOWN_ERROR, code_of_text

SOUND_EXITS = frozenset({0, 14})
"""After these, rows that came whole are good: 14 only warns of a corrupted infoROM."""

_FAILED = re.compile(r"Failed to (?:initialize|properly shut ?down) NVML: (.+)", re.IGNORECASE)
_NO_DRIVER = re.compile(r"NVIDIA-SMI has failed because", re.IGNORECASE)
_NO_LIBRARY = re.compile(r"NVIDIA-SMI couldn't find libnvidia-ml", re.IGNORECASE)
_NO_DEVICES = re.compile(r"No devices were found", re.IGNORECASE)
_BAD_FIELD = re.compile(r'Field "([^"]{1,80})" is not a valid field to query', re.IGNORECASE)
_SSH = re.compile(
    r"^(?:ssh: |kex_|client_loop: |Connection (?:to|closed|reset|timed)|Host key verification)"
    r"|closed by remote host|Broken pipe|Permission denied \(",
    re.MULTILINE,
)
_DETAIL_CHARS = 2000


def is_unsound(exit_code: int | None) -> bool:
    """Tell whether an exit code puts whole rows in doubt; None is not known, and does not."""
    return exit_code is not None and exit_code not in SOUND_EXITS


def refused_field(text: str) -> str | None:
    """Return the field that a driver does not know; one of these voids the whole query."""
    match = _BAD_FIELD.search(text)
    return match[1] if match else None


def problem_of_line(line: str) -> Problem | None:
    """Return the problem that a line of output states for the whole host."""
    if match := _FAILED.search(line):
        code = code_of_text(match[1])
        return _nvml_problem(UNKNOWN_ERROR if code is None else code, line)
    if _NO_DRIVER.search(line):
        return _nvml_problem(nvml.DRIVER_NOT_LOADED, line)
    if _NO_LIBRARY.search(line):
        return _nvml_problem(nvml.LIBRARY_NOT_FOUND, line)
    if _NO_DEVICES.search(line):
        return replace(NO_GPUS, detail=_detail(line))
    if field := refused_field(line):
        return _problem(
            "query refused",
            f"This driver does not know the field {clean_text(field, 60)!r}.",
            "gpudash asks again with fewer fields.",
            line,
        )
    return None


def _nvml_problem(code: int, detail: str) -> Problem:
    return driver_problem(code, _detail(detail))


def _problem(
    title: str,
    sentence: str,
    advice: str = "",
    detail: str = "",
    exit_code: ExitCode = ExitCode.UNKNOWN,
) -> Problem:
    return Problem(
        title=title,
        sentence=sentence,
        advice=advice,
        detail=_detail(detail),
        exit_code=exit_code,
    )


def _detail(text: str) -> str:
    lines = (clean_text(line) for line in text[:_DETAIL_CHARS].splitlines())
    return "\n".join(line for line in lines if line)


NO_GPUS = Problem(
    title="no GPUs found",
    sentence="The driver answers and lists 0 GPUs. That is a fault, not zero.",
    advice="Is this the right machine? Inside a container, start it with --gpus all.",
    code=6,
)
NO_PROGRAM = _problem(
    "no nvidia-smi",
    "nvidia-smi was not found: neither on PATH nor in /usr/lib/wsl/lib.",
    "Is the NVIDIA driver installed here? In a container, start it with --gpus all.",
)
CUT_OFF = _problem(
    "answer cut off",
    "The connection was lost in the middle of a reading.",
    "Is the link stable? gpudash tries again by itself.",
)
GARBLED = _problem(
    "garbled answer",
    "nvidia-smi printed nothing that is a reading.",
    "Run the same command by hand: nvidia-smi --query-gpu=index,memory.used --format=csv",
)
ILL_FORMED = _problem(
    "broken XML",
    "nvidia-smi -q -x returned broken XML.",
    "Its CSV output is read instead.",
)

_NVML_EXITS = {
    4: nvml.NO_PERMISSION,
    8: 8,
    9: nvml.DRIVER_NOT_LOADED,
    12: nvml.LIBRARY_NOT_FOUND,
    13: nvml.FUNCTION_NOT_FOUND,
    14: 14,
    15: nvml.GPU_IS_LOST,
    16: nvml.RESET_REQUIRED,
    17: nvml.OPERATING_SYSTEM,
    18: nvml.VERSION_MISMATCH,
}
_NAMED_EXITS = {
    2: ("query refused", "nvidia-smi refused the question.", "Its driver may be very old."),
    3: ("not available", "This GPU does not offer what was asked.", ""),
    6: ("no GPUs found", "nvidia-smi found no GPU to ask. That is a fault, not zero.", ""),
    10: ("interrupt problem", "The driver reports an interrupt problem.", "See dmesg."),
    124: ("timed out", "nvidia-smi did not answer in time.", "A driver fault? See dmesg."),
    126: ("can't run", "nvidia-smi is there and may not be run.", "Check its permissions."),
    134: ("nvidia-smi crashed", "nvidia-smi aborted.", "Does its version fit the driver's?"),
    137: ("nvidia-smi killed", "Something killed nvidia-smi.", "Out of memory? See dmesg."),
    139: (
        "nvidia-smi crashed",
        "nvidia-smi crashed (segmentation fault).",
        "Does its version fit the driver's? In a container, mount the host's libraries.",
    ),
    143: ("nvidia-smi ended", "Something ended nvidia-smi with SIGTERM.", ""),
}


def problem_of(exit_code: int | None, stdout: str, stderr: str) -> Problem:
    """Return why an answer carries no reading.

    `exit_code` is as a shell gives it or, for a signal, negative; None when it isn't known.
    """
    for line in (*stdout.splitlines(), *stderr.splitlines()):
        if stated := problem_of_line(line):
            return stated
    said = stderr.strip() or stdout.strip()
    status = 128 - exit_code if exit_code is not None and exit_code < 0 else exit_code
    if status == 127:
        return _problem(NO_PROGRAM.title, NO_PROGRAM.sentence, NO_PROGRAM.advice, said)
    if status == 255 and _SSH.search(stderr):
        words = "The connection was lost; the last reading is old."
        return _problem("connection lost", words, "", said, ExitCode.UNREACHABLE)
    if status in _NVML_EXITS:
        return _nvml_problem(_NVML_EXITS[status], said)
    if status in _NAMED_EXITS:
        return _problem(*_NAMED_EXITS[status], said)
    if status:
        return _problem("nvidia-smi failed", f"nvidia-smi ended with exit code {status}.", "", said)
    return _problem(GARBLED.title, GARBLED.sentence, GARBLED.advice, said)
