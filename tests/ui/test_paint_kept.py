"""A dead pid whose memory the living keep, and a hidden one, as they are painted."""

from __future__ import annotations

from gpudash.core.events import Event
from gpudash.core.families import holders
from gpudash.core.holding import Existence
from gpudash.core.model import Fleet
from gpudash.ui.paint.claims import Book, Claim
from gpudash.ui.paint.frame import FrameView, frame_rows
from gpudash.ui.paint.holdertable import HolderRow, holder_table
from gpudash.ui.paint.spans import plain
from gpudash.ui.paint.tally import all_holders
from tests.core.making import GIB, ack, hello, host_of, process, reading, roster, sample, told
from tests.core.scans import gpu_handle, scanned, seen

SERVER = seen(5, argv=("python", "-m", "sglang.launch_server"))


def painted(*events: Event) -> tuple[Claim, HolderRow]:
    fleet: Fleet = told(hello(*roster(1)), sample(1, reading(GIB, process(7))), *events)
    host = host_of(fleet)
    (claim,) = Book(host, holders(host, fleet.letters)).claims(host.gpus[0], 9.0)
    (row,) = holder_table(fleet, all_holders(fleet), 9.0)
    return claim, row


def test_memory_that_a_child_keeps() -> None:
    child = seen(8, gpu_handle(0), parent=5, group=7)
    found = scanned(SERVER, child, listed=((7, Existence.DEAD),))
    claim, row = painted(ack(gone=(7,)), found)
    assert (claim.name, claim.is_dead, claim.is_hatched) == ("pid 7", True, True)
    assert claim.keeper == "memory kept by its child 8"
    assert claim.letter == row.letter == "A"
    assert (row.name, row.state, row.user) == ("sglang", "kept by 8", "ana")


def test_memory_that_nobody_is_seen_to_keep() -> None:
    claim, row = painted(ack(gone=(7,)), scanned(listed=((7, Existence.DEAD),)))
    assert (claim.name, claim.keeper, row.state) == ("pid 7", "", "still listed")


def test_the_hidden() -> None:
    claim, row = painted(scanned(listed=((7, Existence.HIDDEN),)))
    assert (claim.name, claim.is_dead, claim.is_foreign) == ("pid 7", False, True)
    assert (row.name, row.detail, row.state) == (
        "pid 7",
        "another user's, hidden by hidepid",
        "hidden",
    )


def test_handles_without_memory_are_told_where_nobody_holds_any() -> None:
    watcher = seen(4711, gpu_handle(0), argv=("nvtop",))
    fleet = told(hello(*roster(1)), sample(1, reading(0)), scanned(watcher))
    rows = frame_rows(FrameView(fleet=fleet, now_s=9.0), 120, 30)
    said = "\n".join(plain(row) for row in rows)
    assert "; 1 open handle, no memory: nvtop 4711" in said
