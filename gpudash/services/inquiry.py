"""Finds out who holds a host's memory: asks its hand about the pids that the driver lists.

A pid is asked about once when it is new, again soon while it has no answer, and in full again
after some time. In between the hand looks every two seconds whether those that are known still
live: it reads one file for each and says nothing where nothing changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gpudash.core.events import Ack
from gpudash.core.families import listed_pids, pids_are_local
from gpudash.core.model import Host
from gpudash.services.clock import Clock
from gpudash.services.hand import Hand

REFRESH_S = 20.0
RETRY_S = 2.0
LOOK_S = 1.5
"""Less than two ticks of a second: at every second tick it has passed."""

_Known = tuple[tuple[int, int, str], ...]
"""Pid, start and state of each."""


class Inquiry:
    """The questions about one host's processes."""

    def __init__(self, hand: Hand, clock: Clock, tell: Callable[[Ack], None]) -> None:
        """Ask nothing yet; `tell` gets each answer."""
        self._hand = hand
        self._clock = clock
        self._tell = tell
        self._asked: frozenset[int] = frozenset()
        self._asked_s = 0.0
        self._looked_s = 0.0
        self._living: frozenset[int] = frozenset()
        self._late: Ack | None = None
        """Who ended since they were known: said when the driver lists them once more."""

    def consider(self, host: Host) -> None:
        """Ask about listed pids that are new, have no answer, or were asked about long ago."""
        pids = listed_pids(host)
        if not pids or not pids_are_local(host):
            return
        if self._late:
            late, self._late = self._late, None
            self._tell(late)
        now = self._clock.now()
        waited_s = now - self._asked_s
        is_new = not pids <= self._asked
        is_open = bool(_unanswered(host, pids)) and waited_s > RETRY_S
        if not (is_new or is_open or waited_s > REFRESH_S):
            known = _alive(host, pids)
            if known and self._hand.is_open and now - self._looked_s > LOOK_S:
                self._looked_s = now
                self._ask(known)
            return
        self._asked, self._asked_s, self._looked_s = pids, now, now
        self._ask()

    def _ask(self, known: _Known | None = None) -> None:
        arguments: dict[str, object] = {"pids": sorted(self._asked)}
        if known is not None:
            arguments = {"pids": [row[0] for row in known], "known": known}
            self._living = frozenset(row[0] for row in known)
        self._hand.tell("process", arguments)

    def hear(self, answer: Ack) -> None:
        """Pass an answer on, but wait with who ended: the driver may just give memory back."""
        gone = answer.gone & self._living
        ended = tuple(
            info for info in answer.processes if info.has_ended and info.pid in self._living
        )
        if gone or ended:
            self._late = replace(answer, gone=gone, processes=ended)
            rest = tuple(info for info in answer.processes if info not in ended)
            answer = replace(answer, gone=answer.gone - gone, processes=rest)
        self._tell(answer)

    def forget(self) -> None:
        """Forget what was asked: the next hand knows nothing of it."""
        self._asked = self._living = frozenset()
        self._late = None


def _alive(host: Host, pids: frozenset[int]) -> _Known:
    infos = (info for info in host.processes if info.pid in pids)
    return tuple((info.pid, info.start_ticks, info.state) for info in infos)


def _unanswered(host: Host, pids: frozenset[int]) -> frozenset[int]:
    return pids - {info.pid for info in host.processes} - host.gone_pids
