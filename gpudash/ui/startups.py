"""The start-ups of the app: who follows them, what the screens show of them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from datetime import datetime

from gpudash.core.families import Key, holders
from gpudash.core.model import Fleet, Owner
from gpudash.core.startup.following import Followed
from gpudash.core.startup.logbook import LogLine
from gpudash.core.startup.model import Outcome
from gpudash.core.units import format_memory, plural
from gpudash.services.startup.noticing import Noticed, Noticing
from gpudash.ui.actions import DEFAULT_ACTIONS, Actions
from gpudash.ui.paint.frame import FrameView, header_view
from gpudash.ui.paint.proving import phases
from gpudash.ui.paint.startupsigns import SPARK
from gpudash.ui.paint.startupview import StartupsView, StartupView, Trace, no_chart
from gpudash.ui.paint.story import Keys
from gpudash.ui.plots import chart_of, has_charts

NEWEST_LINES = 400
"""Of a log, for the panels; the log's own screen has all of it."""
TRACE_S = 5.0
FRESH_S = 60.0
"""So long READY or FAILED stays in the banner of the dashboard."""
KEYS: Keys = (
    ("log.open", "log"),
    ("cleanup.start", "clean"),
    ("text.copy", "copy"),
    ("startup.next", "next"),
    ("esc", "back"),
    ("view.theme", "theme"),
    ("app.help", "help"),
    ("app.quit", "quit"),
)
"""Ids of actions, or keys; and labels."""
LIST_KEYS: Keys = (
    ("startup.open", "open"),
    ("log.open", "log"),
    ("esc", "back"),
    ("view.theme", "theme"),
    ("app.help", "help"),
    ("app.quit", "quit"),
)
EMPTY_KEYS: Keys = LIST_KEYS[2:]


@dataclass(slots=True)
class _Signs:
    """What was seen of one over the last minute."""

    taken_s: float = float("-inf")
    values: deque[tuple[float | None, float | None, float | None]] = field(
        default_factory=lambda: deque(maxlen=SPARK)
    )

    def take(self, one: Followed, now_s: float) -> None:
        """Take what is seen now, once in a while."""
        if now_s - self.taken_s >= TRACE_S:
            self.taken_s = now_s
            self.values.append((one.life.read_bps, one.life.cpu_pct, one.life.gpu_pct))

    def trace(self) -> Trace:
        """Return it as percentages: reads and CPU of the most that was seen."""
        columns = list(zip(*self.values, strict=True)) or [(), (), ()]
        disk, cpu, gpu = columns
        return Trace(_scaled(disk), _scaled(cpu), _scaled(gpu, 100.0))


def _scaled(values: tuple[float | None, ...], most: float | None = None) -> tuple[int | None, ...]:
    top = most or max((value for value in values if value is not None), default=0.0) or 1.0
    return tuple(None if value is None else round(100 * value / top) for value in values)


class Startups:
    """What is followed over one monitor, and where the screen of it stands."""

    def __init__(
        self,
        noticing: Noticing,
        actions: Actions = DEFAULT_ACTIONS,
        *,
        is_readonly: bool = False,
    ) -> None:
        """Show nothing yet."""
        self._is_readonly = is_readonly
        self._noticing = noticing
        self._actions = actions
        self._signs: dict[Key, _Signs] = {}
        self._over_s: dict[Key, float] = {}
        self.opened: Noticed | None = None
        self.is_list = False
        self._cursor = 0

    @property
    def all(self) -> tuple[Noticed, ...]:
        """Return all that are known, newest first."""
        return self._noticing.all

    @property
    def newest(self) -> Noticed | None:
        """Return what began last."""
        return self.all[0] if self.all else None

    @property
    def shown(self) -> Noticed | None:
        """Return what the screen is about."""
        if self.opened is not None and self.opened in self.all:
            return self.opened
        return self.all[self._cursor] if self._cursor < len(self.all) else self.newest

    # -- where the screen stands ---------------------------------------------------------------

    def enter(self) -> None:
        """Begin with the only one there is, else with the list."""
        self._cursor = 0
        self.is_list = len(self.all) > 1
        self.opened = self.newest if len(self.all) == 1 else None

    def move(self, step: int) -> None:
        """Move the cursor of the list."""
        self._cursor = max(0, min(self._cursor + step, len(self.all) - 1))

    def open(self) -> None:
        """Open the one under the cursor."""
        self.opened = self.shown
        self.is_list = self.opened is None

    def back(self) -> bool:
        """Go from one back to the list; False where there is no list to go back to."""
        if self.opened is None or len(self.all) < 2:
            return False
        self._cursor = self.all.index(self.opened) if self.opened in self.all else 0
        self.opened, self.is_list = None, True
        return True

    def next(self, step: int) -> None:
        """Open the next one."""
        if self.opened in self.all and self.opened is not None:
            at = (self.all.index(self.opened) + step) % len(self.all)
            self.opened = self.all[at]
        else:
            self.move(step)

    # -- values for the painters ---------------------------------------------------------------

    def view(self, frame: FrameView) -> StartupsView:
        """Return all that the screen shows now."""
        if self.opened is None and not self.is_list and len(self.all) == 1:
            self.opened = self.newest
        elif self.opened is None and len(self.all) > 1:
            self.is_list = True
        shown = tuple(self.one(noticed, frame) for noticed in self.all)
        opened = self.all.index(self.opened) if self.opened in self.all and self.opened else None
        keys = KEYS if opened is not None else LIST_KEYS if shown else EMPTY_KEYS
        return StartupsView(
            shown=shown,
            opened=opened,
            cursor=self._cursor,
            header=header_view(frame),
            glyphs=frame.glyphs,
            keys=self._offered(keys),
        )

    def _offered(self, keys: Keys) -> Keys:
        hidden = {"startup.next"} if len(self.all) < 2 else set()
        hidden |= {"cleanup.start"} if self._is_readonly else set()
        return self._actions.named(one for one in keys if one[0] not in hidden)

    def one(self, noticed: Noticed, frame: FrameView) -> StartupView:
        """Return one as it is painted."""
        followed = noticed.followed
        signs = self._signs.setdefault(noticed.key, _Signs())
        signs.take(followed, frame.now_s)
        host = next((one for one in frame.fleet.hosts if one.name == followed.host), None)
        gpus = host.gpus if host is not None else ()
        return StartupView(
            followed=followed,
            now_s=frame.now_s,
            wall_of=frame.wall_of,
            glyphs=frame.glyphs,
            lines=self._lines(noticed, followed),
            totals={gpu.info.key: gpu.info.total_bytes or 0 for gpu in gpus},
            indices={gpu.info.key: gpu.info.index for gpu in gpus},
            before=written(followed.earlier.recorded_at) if followed.earlier else "",
            left=left_behind(frame.fleet, followed),
            trace=signs.trace(),
            chart=chart_of(frame.glyphs) if has_charts() else no_chart,
            keys=self._offered(KEYS),
        )

    def _lines(self, noticed: Noticed, followed: Followed) -> tuple[LogLine, ...]:
        failure = followed.startup.failure
        if failure is None or failure.line is None:
            return noticed.book.newest(NEWEST_LINES)
        return noticed.book.around(failure.line, NEWEST_LINES)

    def banner(self, frame: FrameView) -> StartupView | None:
        """Return what the dashboard's banner speaks of: one that starts, or ended just now."""
        for noticed in self.all:
            followed = noticed.followed
            if followed.startup.outcome is not Outcome.FAILED and _is_free(frame, followed):
                # Whatever its log said last, it holds nothing: what is proven is not to be hidden.
                continue
            if followed.startup.outcome is Outcome.STARTING and not followed.is_over:
                return self.one(noticed, frame)
            over_s = self._over_s.setdefault(noticed.key, frame.now_s)
            if frame.now_s - over_s <= FRESH_S:
                return self.one(noticed, frame)
        return None


def written(recorded_at: str) -> str:
    """Write a recorded time, which is UTC, as this machine's: `28 Nov 18:40`."""
    try:
        at = datetime.fromisoformat(recorded_at)
    except ValueError:
        return recorded_at
    local = at.astimezone()
    return f"{local.day} {local:%b %H:%M}"


def _is_free(frame: FrameView, one: Followed) -> bool:
    """Tell whether every GPU of a start-up is in a hold or a proof of zero."""
    if frame.proof is None or not one.gpus:
        return False
    phase, proven = phases(frame.proof.proof).get(one.host, ("", None))
    return bool(phase) and (proven is None or set(one.gpus) <= proven)


def left_behind(fleet: Fleet, one: Followed) -> str:
    """Say what a failed start-up left on its GPUs; empty where nothing is."""
    if one.startup.outcome is not Outcome.FAILED:
        return ""
    host = next((host for host in fleet.hosts if host.name == one.host), None)
    if host is None:
        return ""
    left = [held for held in holders(host, fleet.letters) if held.owner is Owner.LEFTOVER]
    if not left:
        return ""
    count = sum(len(held.pids) for held in left)
    used = sum(held.used_bytes for held in left)
    gpus = {index for held in left for index, _ in held.gpu_bytes}
    return (
        f"{plural(count, 'process', 'processes')}, {format_memory(used)} on "
        f"{plural(len(gpus), 'GPU')}, all leftovers"
    )
