"""What to try: at most three things, each with what it costs, from the command that was given."""

from __future__ import annotations

import pytest

from gpudash.core.startup.model import Failure
from gpudash.core.startup.remedies import MOST, remedies

OOM = Failure(
    kind="cuda_oom",
    line=9,
    message="CUDA out of memory during CUDA graph capture (bs=80): tried to allocate 1.22 GiB",
    hint="lower the memory fraction (a, b) or the context length, or spread over more GPUs; look",
    phase="cuda_graph",
)


def test_flags_of_the_command_are_lowered_and_their_cost_is_told() -> None:
    command = "x --mem-fraction-static 0.90 --cuda-graph-max-bs=160"
    first, second, third = remedies(OOM, command, gpu_bytes=95 << 30)
    assert first.what == "--mem-fraction-static 0.86"
    assert first.cost == "now 0.90; leaves 3.8 GiB more per GPU, less KV cache"
    assert second.what == "--cuda-graph-max-bs 80"
    assert second.cost == "now 160; larger batches run without graphs"
    assert third.what


def test_a_neighbour_goes_first() -> None:
    assert remedies(OOM, "", neighbour="pid 4711")[0].what.startswith("ask pid 4711")


def test_without_its_flags_the_size_it_failed_at_is_halved() -> None:
    found = remedies(OOM, "")
    assert (found[0].what, found[0].cost.split(";")[0]) == (
        "--cuda-graph-max-bs 40",
        "failed at 80",
    )


@pytest.mark.parametrize("kind", ["nccl", "port_in_use", "exit", "hf_auth"])
def test_others_say_their_hint(kind: str) -> None:
    failure = Failure(kind=kind, line=None, message="m", hint="do this; or do (that; too)")
    found = remedies(failure)
    assert 1 <= len(found) <= MOST
    assert found[0].what == "do this"


def test_no_hint_no_remedy() -> None:
    assert remedies(Failure(kind="exception", line=1, message="m")) == ()
