"""The newest document of `nvidia-smi -q -x` as the events of a probe."""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.events import Event, LinkDown, Sample
from gpudash.core.smi import endings
from gpudash.core.smi.documents import (
    IllFormedError,
    SmiDocument,
    parse_document,
    split_documents,
)
from gpudash.core.smi.roster import Expected, Roster, hellos, lacking

_OLD = "a newer reading was cut off"


def document_events(text: str, expected: Expected, *, is_cut: bool = False) -> list[Event]:
    """Return hello and sample of the newest whole document; nothing when there is none.

    A newest document that is not well formed is a link that is down: an older one is old.
    """
    parts = split_documents(text)
    unread: list[Event] = [*hellos(Roster(present=tuple(lacking([], expected))))]
    if not parts.whole:
        return unread
    try:
        document = parse_document(parts.whole[-1])
    except IllFormedError as error:
        problem = replace(endings.ILL_FORMED, detail=str(error)[:200])
        return [*unread, LinkDown(problem=problem)]
    if not document.gpus:
        return [*unread, LinkDown(problem=endings.NO_GPUS)]
    return [
        *hellos(_roster(document, expected), document.driver),
        _sample(document, parts.is_cut or is_cut),
    ]


def _roster(document: SmiDocument, expected: Expected) -> Roster:
    size = max(expected.size, document.attached_gpus or 0)
    infos = [gpu.info for gpu in document.gpus]
    gone = lacking(infos, replace(expected, count=size))
    return Roster(present=tuple(infos), missing=tuple(gone))


def _sample(document: SmiDocument, is_old: bool) -> Sample:
    readings = tuple(gpu.reading for gpu in document.gpus)
    if is_old:
        readings = tuple(replace(reading, doubt=reading.doubt or _OLD) for reading in readings)
    return Sample(seq=1, host_monotonic_s=1.0, readings=readings)
