"""Whose memory was when: noted as it changes, never carried back to where nobody looked."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.model import Host, Kin, Owner
from gpudash.core.ownership import MOST, Note, Ownership, Share, note_at
from tests.ui import fleets

GIB = 1 << 30


def owners(ownership: Ownership, host: Host, gpu: int = 0) -> list[tuple[int, list[Owner]]]:
    notes = ownership.notes(host.name, host.gpus[gpu].info.key)
    return [(note.second, [one.owner for one in note.shares]) for note in notes]


def one_host(age_s: float = 100.0, **changes: object) -> Host:
    (host,) = fleets.busy().hosts
    known = replace(
        host,
        gpus=(fleets.gpu(0, 40, (11, 30), (12, 9.9)),),
        processes=(
            fleets.process(11, "python train.py", age=age_s),
            fleets.process(12, "python x.py", age=age_s * 5, user="ana", uid=1001),
        ),
        scan=None,
        kin=(),
    )
    return replace(known, **changes)  # type: ignore[arg-type]


def test_the_first_note_counts_since_the_youngest_holder_began() -> None:
    ownership, host = Ownership(), one_host()
    ownership.note(host, 1000)
    assert owners(ownership, host) == [(900, [Owner.MINE, Owner.FOREIGN])]


def test_leftovers_were_left_over_from_the_first_look_on_at_the_earliest() -> None:
    kin = Kin(
        root_pid=11,
        root_start_ticks=11,
        members=frozenset({(11, 11)}),
        dead=frozenset(),
        is_leftover=True,
        verb="stop",
        words="1 leftover",
        evidence="",
    )
    ownership, host = Ownership(), one_host(kin=(kin,))
    ownership.note(host, 1000)
    assert owners(ownership, host) == [(1000, [Owner.LEFTOVER, Owner.FOREIGN])]
    before = Ownership()
    before.note(one_host(), 1000)
    before.note(host, 1100)
    assert owners(before, host)[-1] == (1100, [Owner.LEFTOVER, Owner.FOREIGN])
    assert len(owners(before, host)) == 2


def test_who_was_not_named_at_once_is_named_from_then_on() -> None:
    ownership = Ownership()
    ownership.note(one_host(processes=()), 1000)
    assert owners(ownership, one_host()) == [(1000, [Owner.UNKNOWN, Owner.UNKNOWN])]
    ownership.note(one_host(age_s=2.0), 1002)
    assert owners(ownership, one_host()) == [(998, [Owner.MINE, Owner.FOREIGN])]


def test_nothing_new_is_no_note_and_an_empty_gpu_is_one() -> None:
    ownership, host = Ownership(), one_host()
    for second in range(1000, 1010):
        ownership.note(host, second)
    assert len(owners(ownership, host)) == 1
    ownership.note(replace(host, gpus=(fleets.gpu(0, 0),)), 1010)
    assert owners(ownership, host)[-1] == (1010, [])


def test_notes_are_bounded_and_forgotten_with_the_boot() -> None:
    ownership, host = Ownership(), one_host()
    for number in range(3 * MOST):
        used = 1 + number % 40
        gpu = fleets.gpu(0, used, (11, used))
        ownership.note(replace(host, gpus=(gpu,)), 1000 + number)
    assert len(owners(ownership, host)) <= MOST
    ownership.forget(host.name)
    assert owners(ownership, host) == []


def test_which_note_counts_at_a_second() -> None:
    share = Share(("h", 1, 1), Owner.MINE, GIB)
    notes = (Note(10, (share,)), Note(20, ()))
    assert note_at(notes, 9) is None
    assert note_at(notes, 10) == notes[0]
    assert note_at(notes, 19) == notes[0]
    assert note_at(notes, 999) == notes[1]
    assert note_at((), 5) is None
