"""The newest document of `nvidia-smi -q -x`: several may come in a row, the last one cut."""

from __future__ import annotations

from gpudash.core.smi.documents import SmiDocument, parse_document, split_documents


def newest_document(text: str) -> tuple[SmiDocument | None, bool]:
    """Return the newest whole document, and whether a newer one was cut off.

    None where there is no whole one. Raises IllFormedError: an older one is old.
    """
    parts = split_documents(text)
    return (parse_document(parts.whole[-1]) if parts.whole else None), parts.is_cut
