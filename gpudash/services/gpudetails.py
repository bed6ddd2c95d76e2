"""What the slow calls of one host's GPUs answered last; asked only while somebody looks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpudash.core.detailwords import NOT_DETAILED, Detailed
from gpudash.core.events import Ack

if TYPE_CHECKING:
    from gpudash.core.gpudetail import GpuDetail
    from gpudash.core.model import Gpu
    from gpudash.sources.base import Stream

_FIRST_ID = 1 << 21
"""Far from the numbers of all other commands to a sampler."""


class Details:
    """The questions about single GPUs, and their answers."""

    def __init__(self) -> None:
        self._last_id = _FIRST_ID
        self._asked: dict[int, int] = {}
        """By id of the command: the index that it asks about."""
        self._known: dict[int, Detailed] = {}
        self.version = 0

    def ask(self, stream: Stream, index: int) -> None:
        """Ask a running sampler about one GPU."""
        self._last_id += 1
        self._asked = {self._last_id: index}
        stream.send(self._last_id, "detail", {"gpu": index})

    def hear(self, detail: GpuDetail) -> None:
        """Keep an answer, and the one before it where that is of the same GPU."""
        before = self._known.get(detail.index, NOT_DETAILED).now
        if before is not None and before.uuid != detail.uuid:
            before = None
        self._known[detail.index] = Detailed(now=detail, before=before)
        self.version += 1

    def hear_ack(self, ack: Ack) -> None:
        """Take note of a refusal: an older probe, nvidia-smi, a GPU that can't be asked."""
        index = self._asked.pop(ack.id, None)
        if index is not None and not ack.is_ok:
            self._known[index] = Detailed(error=f"No details: {ack.error}.")
            self.version += 1

    def of(self, gpu: Gpu) -> Detailed:
        """Return what is known of a GPU; what was told of another in its place is not."""
        found = self._known.get(gpu.info.index, NOT_DETAILED)
        if found.now is not None and found.now.uuid != gpu.info.uuid:
            return NOT_DETAILED
        return found

    def forget(self) -> None:
        """Forget everything: the host is another one, or it booted."""
        self._asked, self._known = {}, {}
