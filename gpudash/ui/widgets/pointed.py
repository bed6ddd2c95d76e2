"""What the mouse says of hosts and GPUs."""

from __future__ import annotations

from textual.message import Message


class GpuPointed(Message):
    """A GPU was clicked, or a host: then it is its first one."""

    def __init__(self, host: str, position: int) -> None:
        super().__init__()
        self.host = host
        self.position = position
