"""A source of which is known how many GPUs its host has."""

from __future__ import annotations

from collections.abc import Iterable

from gpudash.sources.base import HostSource, Stream


class ExpectingSource:
    """Reads as another source does, and carries the number."""

    def __init__(self, source: HostSource, gpus: int) -> None:
        self._source = source
        self.gpus = gpus

    @property
    def name(self) -> str:
        """Return the other's name."""
        return self._source.name

    @property
    def is_simulated(self) -> bool:
        """Tell whether the other is made up."""
        return self._source.is_simulated

    async def open_sampler(self, interval_s: float) -> Stream:
        """Start the other's sampler. Raises SourceError."""
        return await self._source.open_sampler(interval_s)

    async def open_hand(self) -> Stream:
        """Start the other's hand. Raises SourceError."""
        return await self._source.open_hand()


def expecting(source: HostSource, gpus: int | None) -> HostSource:
    """Return a source that carries the number, where there is one."""
    return source if gpus is None else ExpectingSource(source, gpus)


def expected_gpus(sources: Iterable[HostSource]) -> dict[str, int]:
    """Return how many GPUs hosts must have, by name, as far as anybody said."""
    return {one.name: one.gpus for one in sources if isinstance(one, ExpectingSource)}
