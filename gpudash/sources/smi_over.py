"""nvidia-smi over a link that carries the probe otherwise: SSH, or any words."""

from __future__ import annotations

from typing import Protocol

from gpudash.core.events import LinkUp
from gpudash.sources.base import Stream
from gpudash.sources.here import Begun
from gpudash.sources.smi import SmiSource
from gpudash.sources.smi_child import Runner


class Carrier(Protocol):
    """A source over whose link other programs can be run."""

    @property
    def name(self) -> str:
        """The host's name."""
        ...

    def runner(self, program: str) -> Runner:
        """Return what runs nvidia-smi there."""
        ...

    def link_up(self) -> LinkUp:
        """Return what is to be seen of the link as long as it lasts."""
        ...

    def hold(self) -> None:
        """Keep the link open until `release`."""
        ...

    async def release(self) -> None:
        """End the link where nobody else holds it."""
        ...


class SmiOver:
    """nvidia-smi over another source's link; keeps it open as long as it runs."""

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._smi = SmiSource(carrier.name, make_runner=carrier.runner)

    @property
    def name(self) -> str:
        """The host's name."""
        return self._carrier.name

    @property
    def is_simulated(self) -> bool:
        """Tell that nothing here is invented."""
        return False

    async def open_sampler(self, interval_s: float) -> Stream:
        """Start nvidia-smi there. Raises SourceError."""
        self._carrier.hold()
        try:
            stream = await self._smi.open_sampler(interval_s)
        except BaseException:
            await self._carrier.release()
            raise
        return Begun(stream, [self._carrier.link_up()], self._carrier.release)

    async def open_hand(self) -> Stream:
        """Raise SourceError: without a python3 there is no hand."""
        return await self._smi.open_hand()
