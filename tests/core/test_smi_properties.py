"""No damage to a text turns a GPU that is not zero, or not known, into a clear host.

Damage is what links and shells do: cuts, lost stretches, foreign lines, tokens instead of
values. A lost stretch holds at least one separator: a digit lost inside a cell can't be seen,
and no transport loses one.
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpudash.core.smi.commands import live_query
from gpudash.core.verify import Clear, judge_host
from tests.core.smi_answer import read_text

TOKENS = [
    "[N/A]",
    "[Not Supported]",
    "[Insufficient Permissions]",
    "[Function Not Found]",
    "[GPU is lost]",
    "[GPU requires reset]",
    "[Unknown Error]",
    "[Something new]",
    "N/A",
    "ERR!",
    "",
    " ",
    "-1",
    "0x0",
    "0.0",
    "00",
    "None",
    "17592186044415",
]
FOREIGN = [
    "",
    "Welcome to Ubuntu 20.04 LTS",
    "  Memory usage: 0%, Processes: 0, Swap: 0",
    "GPU 00000000:0A:00.0: Detected Critical Xid Error",
    "WARNING: infoROM is corrupted at gpu 0000:17:00.0",
    'Defaulted container "a" out of: a, b (init)',
    "Failed to initialize NVML: Unknown Error",
    "No devices were found",
    "uuid, index, pci.bus_id, memory.used [MiB], memory.total [MiB], pstate",
    "0, 0, 0, 0, 0, 0",
    "0 MiB, 0 MiB, 0 MiB",
    "\x1b[0m\r",
]
QUERY = ",".join(live_query(frozenset(live_query()[7:])))
"""uuid, index, bus id, used, total, pstate, utilisation."""


@dataclass(frozen=True)
class Truth:
    """A text as nvidia-smi prints it, and whether all it says is zero."""

    text: str
    uuids: tuple[str, ...]
    is_zero: bool


def row(index: int, used: str) -> str:
    return f"GPU-{index:08d}-0000, {index}, 00000000:{index:02X}:00.0, {used}, 24576, P0, 0"


@st.composite
def truths(draw: st.DrawFn, *, ticks: int = 1) -> Truth:
    used = draw(
        st.lists(
            st.one_of(
                st.just("0"),
                st.integers(1, 24576).map(str),
                st.sampled_from([token for token in TOKENS if token.startswith("[")]),
            ),
            min_size=1,
            max_size=4,
        )
    )
    tick = "".join(row(index, cell) + "\n" for index, cell in enumerate(used))
    uuids = tuple(f"GPU-{index:08d}-0000" for index in range(len(used)))
    return Truth(text=tick * ticks, uuids=uuids, is_zero=set(used) == {"0"})


def clear_of(text: str, truth: Truth, *, is_cut: bool = False, stream: bool = False) -> Clear:
    host = read_text(
        text,
        query=QUERY,
        format="csv,noheader,nounits",
        at_end="eof" if is_cut else None,
        stream=stream,
        expected_uuids=truth.uuids,
    )
    return judge_host(host).clear


@given(truths())
def test_untouched_text_is_clear_exactly_when_all_is_zero(truth: Truth) -> None:
    assert (clear_of(truth.text, truth) is Clear.YES) == truth.is_zero


@given(truths(), st.data(), st.booleans())
@settings(max_examples=150)
def test_cut(truth: Truth, data: st.DataObject, stream: bool) -> None:
    end = data.draw(st.integers(0, len(truth.text)))
    clear = clear_of(truth.text[:end], truth, stream=stream)
    assert clear is not Clear.YES or (truth.is_zero and end == len(truth.text))


@given(truths(ticks=2), st.data())
@settings(max_examples=150)
def test_cut_in_the_second_tick_proves_nothing(truth: Truth, data: st.DataObject) -> None:
    end = data.draw(st.integers(len(truth.text) // 2 + 1, len(truth.text) - 1))
    assert clear_of(truth.text[:end], truth, stream=True, is_cut=True) is not Clear.YES


@given(truths(), st.data())
@settings(max_examples=150)
def test_lost_stretch(truth: Truth, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(truth.text) - 1))
    end = data.draw(st.integers(start + 1, len(truth.text)))
    assume(any(separator in truth.text[start:end] for separator in ",\n"))
    assert clear_of(truth.text[:start] + truth.text[end:], truth) is not Clear.YES


@given(truths(), st.lists(st.sampled_from(FOREIGN) | st.text(max_size=40)), st.data())
@settings(max_examples=150)
def test_foreign_lines(truth: Truth, foreign: list[str], data: st.DataObject) -> None:
    lines = truth.text.splitlines()
    for line in foreign:
        lines.insert(data.draw(st.integers(0, len(lines))), line)
    clear = clear_of("\n".join(lines) + "\n", truth)
    assert clear is not Clear.YES or truth.is_zero


@given(truths(), st.sampled_from(TOKENS), st.data())
@settings(max_examples=150)
def test_token_in_a_cell(truth: Truth, token: str, data: st.DataObject) -> None:
    lines = [line.split(", ") for line in truth.text.splitlines()]
    cells = data.draw(st.sampled_from(lines))
    column = data.draw(st.integers(0, len(cells) - 1))
    assume(cells[column] != token)
    cells[column] = token
    clear = clear_of("".join(", ".join(cells) + "\n" for cells in lines), truth)
    assert clear is not Clear.YES or truth.is_zero
    if column in (0, 1, 3, 4):
        assert clear is not Clear.YES or token == "N/A" or token.startswith("[")


@given(truths(), st.integers(-200, 300).filter(lambda code: code not in (0, 14)), st.booleans())
def test_a_failed_exit_proves_nothing(truth: Truth, code: int, stream: bool) -> None:
    host = read_text(
        truth.text, exit_code=code, query=QUERY, stream=stream, expected_uuids=truth.uuids
    )
    assert judge_host(host).clear is not Clear.YES


@given(st.text(max_size=400), st.booleans())
@settings(max_examples=150)
def test_any_text_at_all(text: str, stream: bool) -> None:
    host = read_text(text, query=QUERY, stream=stream, expected_count=1)
    assert judge_host(host).clear is not Clear.YES
    host = read_text(text, query="-q -x", stream=stream, expected_count=1)
    assert judge_host(host).clear is not Clear.YES


DOCUMENT = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
<driver_version>590.48.01</driver_version>
<attached_gpus>1</attached_gpus>
<gpu id="00000000:01:00.0"><uuid>GPU-00000000-0000</uuid>
<fb_memory_usage><total>81920 MiB</total><used>USED MiB</used></fb_memory_usage>
<processes></processes></gpu>
</nvidia_smi_log>
"""


@given(st.data(), st.sampled_from(["0", "12", "N/A"]))
@settings(max_examples=150)
def test_damaged_document(data: st.DataObject, used: str) -> None:
    text = DOCUMENT.replace("USED", used)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    host = read_text(text[:start] + text[end:], query="-q -x", expected_count=1)
    inside = text.index("<used>") + 6
    is_inside_the_number = start < inside + len(used) and end > inside
    if judge_host(host).clear is Clear.YES:
        assert used == "0" or is_inside_the_number
