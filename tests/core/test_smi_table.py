"""`smi_format` prints byte for byte what nvidia-smi does."""

from __future__ import annotations

import pytest

from gpudash.core.model import Gpu, GpuInfo, GpuReading, GpuState
from gpudash.core.smi.table import may_round_down, rounds_down, smi_format
from gpudash.core.units import MIB
from tests.core.smi_answer import read_text

H200_TOTAL_BYTES = 150_754_820_096


def gpu(used: int | None, code: int | None = None, state: GpuState = GpuState.READ) -> Gpu:
    codes = frozenset() if code is None else frozenset({code})
    return Gpu(
        info=GpuInfo(index=3, uuid="GPU-1", total_bytes=H200_TOTAL_BYTES),
        reading=GpuReading(used_bytes=used, memory_code=code, codes=codes),
        state=state,
    )


def test_h200() -> None:
    assert smi_format([gpu(0)]) == "3, 0 MiB, 143771 MiB\n"


@pytest.mark.parametrize(
    ("driver", "shown"),
    [("590.48.01", 4), ("565.63", 4), ("550.127", 4), (None, 4), ("545.29.06", 3), ("510.1", 3)],
)
def test_rounding(driver: str | None, shown: int) -> None:
    assert smi_format([gpu(3_407_872)], driver) == f"3, {shown} MiB, 143771 MiB\n"


@pytest.mark.parametrize(
    ("code", "token"),
    [
        (3, "[N/A]"),
        (4, "[Insufficient Permissions]"),
        (13, "[Function Not Found]"),
        (15, "[GPU is lost]"),
        (16, "[GPU requires reset]"),
        (999, "[Unknown Error]"),
        (10, "[Unknown Error]"),
    ],
)
def test_tokens(code: int, token: str) -> None:
    assert smi_format([gpu(None, code)]) == f"3, {token}, {token}\n"


def test_a_missing_gpu_has_no_line_and_an_unread_one_is_no_zero() -> None:
    assert smi_format([gpu(None, state=GpuState.MISSING)]) == ""
    unread = Gpu(info=GpuInfo(index=0, uuid=None), reading=None, state=GpuState.UNREAD)
    assert smi_format([unread]) == "0, [Unknown Error], [Unknown Error]\n"


@pytest.mark.parametrize(
    "text",
    [
        "0, 0 MiB, 143771 MiB\n1, 120000 MiB, 143771 MiB\n",
        "0, [GPU is lost], [GPU is lost]\n1, 0 MiB, 24576 MiB\n",
        "0, [N/A], [N/A]\n",
        "0, [Insufficient Permissions], [Insufficient Permissions]\n",
    ],
)
@pytest.mark.parametrize("driver", ["535.1", "590.1", None])
def test_what_was_read_prints_the_same(text: str, driver: str | None) -> None:
    host = read_text(text, query="index,memory.used,memory.total", format="csv,noheader")
    assert smi_format(host.gpus, driver) == text


def test_which_drivers_floor() -> None:
    assert rounds_down("545.29.06")
    assert not rounds_down("550.54")
    assert may_round_down("550.54")
    assert may_round_down(None)
    assert not may_round_down("565.63")
    assert read_text("0, 7 MiB, 9 MiB\n", query="index,memory.used,memory.total").gpus[
        0
    ].reading == GpuReading(used_bytes=7 * MIB)
