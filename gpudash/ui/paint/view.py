"""What a painter is given: values only, with clocks as numbers and functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from gpudash.core.families import Holder
from gpudash.core.model import Fleet, Gpu, Host
from gpudash.core.units import plural
from gpudash.core.verify import HostVerdict, judge_host
from gpudash.ui.paint.glyphs import UNICODE, Glyphs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpudash.ui.paint.cleaning import GpuProgress


NO_NAMES: Mapping[str, str] = MappingProxyType({})


class Density(Enum):
    """How much room a host takes."""

    CARD = "card"
    """Two rows a GPU, more on a high screen."""
    LINE = "line"
    """One row a GPU."""
    CELL = "cell"
    """One row a host."""


CARD_ROWS = 2
"""The least that a GPU takes in card density: the bar, and the past under it."""

Utilisation = Callable[[str, int, int], tuple[int | None, ...]]
"""GPU key, columns, seconds a column: percentages, oldest first; None is a gap."""
WallClock = Callable[[float], str]
"""A time of the viewer's clock as it is written: `12:03:10`."""


def no_history(_gpu: str, columns: int, _seconds: int) -> tuple[int | None, ...]:
    """Stand in where nothing was recorded."""
    return (None,) * columns


def no_clock(_at_s: float) -> str:
    """Stand in where nobody knows the time."""
    return "--:--:--"


class Chosen(NamedTuple):
    """What the user chose to see of a fleet."""

    shown: tuple[tuple[str, tuple[int, ...] | None], ...]
    """Hosts in their order, and of each the positions of the GPUs; None is all."""
    filter: str = ""
    """As it was typed; empty for none."""
    sort: str = ""
    """`by trouble`; empty as given."""

    def counted(self, fleet: Fleet) -> str:
        """Return how much of a fleet that is: `3 of 32 hosts`, of a single host `2 of 8 GPUs`."""
        if len(fleet.hosts) > 1:
            return f"{len(self.shown)} of {plural(len(fleet.hosts), 'host')}"
        every = sum(len(host.gpus) for host in fleet.hosts)
        kept = sum(every if gpus is None else len(gpus) for _, gpus in self.shown)
        return f"{kept} of {plural(every, 'GPU')}"


class HostView(NamedTuple):
    """One host as it is to be painted."""

    host: Host
    holders: tuple[Holder, ...] = ()
    """Of this host only."""
    utilisation: Utilisation = no_history
    now_s: float = 0.0
    wall_of: WallClock = no_clock
    density: Density = Density.LINE
    card_rows: int = CARD_ROWS
    glyphs: Glyphs = UNICODE
    has_focus: bool = False
    cursor: int | None = None
    """Position in `host.gpus` of the GPU under the cursor; None: the cursor is elsewhere."""
    is_first: bool = True
    """The first pane carries the legend."""
    is_alone: bool = True
    """No other host is on the screen: the banner already says the sums."""
    behind: int = 0
    """Other hosts that wait for a person at the same jump host and are not shown."""
    marks: frozenset[str] = frozenset()
    """Keys of the GPUs that are marked here."""
    phase: str = ""
    """`holding` or `proven` while a proof here is; nothing otherwise."""
    in_proof: frozenset[str] | None = None
    """Keys of the GPUs that the proof is about; None is all."""
    progress: Callable[[Gpu], GpuProgress | None] | None = None
    """What became of each GPU, while this host is cleaned."""
    kept: tuple[int, ...] | None = None
    """Positions of the GPUs that the filter shows; None is all."""
    renamed: Mapping[str, str] = NO_NAMES
    """Keys of the default set that are others now."""
    judged: HostVerdict | None = None
    """Of this host as it is; None where nobody judged it yet."""

    @property
    def verdict(self) -> HostVerdict:
        """Return the verdict: only ZERO is painted as zero."""
        return self.judged or judge_host(self.host)
