"""The app without hosts behind it: a monitor that stands still, a clock that is set by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from textual.pilot import Pilot

from gpudash.core.actions import ACTIONS, Action
from gpudash.core.model import Fleet, Host, Link, Problem
from gpudash.services.door import Door
from gpudash.services.monitor import FleetMonitor
from gpudash.services.past import seed
from gpudash.ui.actions import Actions
from gpudash.ui.app import GpudashApp
from gpudash.ui.paint.ansi import Depth
from gpudash.ui.paint.glyphs import UNICODE, Glyphs
from gpudash.ui.scene import Scene
from gpudash.ui.theme import load_theme
from tests.services.virtual import ScriptedSource
from tests.ui import fleets

PAST_S = 300
PAST_HOSTS = 8
"""More are shown as cells, without a past."""


@dataclass
class HandClock:
    """Goes on only when told to."""

    at_s: float = fleets.NOW

    def now(self) -> float:
        return self.at_s

    def unix(self) -> float:
        return 1e9 + self.at_s

    def wall(self, at_s: float) -> str:
        return fleets.wall_of(at_s)


@dataclass
class StillMonitor(FleetMonitor):
    """Shows a fleet and notes what it is asked for; it never reaches a host."""

    shown: Fleet
    clock: HandClock
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        sources = tuple(ScriptedSource(name=host.name) for host in self.shown.hosts)
        super().__init__(sources, self.clock)
        self.fleet = self.shown
        for host in self.shown.hosts:
            if host.link is Link.PAUSED:
                self._watches[host.name].paused_s = host.link_since_s
            if len(self.shown.hosts) > PAST_HOSTS:
                continue
            levels = fleets.utilisation(host)
            for gpu in host.gpus:
                columns = levels(gpu.info.key, PAST_S, 1)
                rows = [(None, value, None, None) for value in columns]
                seed(self.history, host.name, gpu.info.key, int(fleets.NOW) + 1, rows)

    def become(self, fleet: Fleet) -> None:
        """Let a new fleet be known."""
        self.fleet = fleet
        self.version += 1

    def start(self) -> None:
        self.said.append("start")

    async def stop(self) -> None:
        self.said.append("stop")

    def pause(self, name: str) -> None:
        self.said.append(f"pause {name}")
        super().pause(name)

    def resume(self, name: str) -> None:
        self.said.append(f"resume {name}")
        super().resume(name)

    def reconnect(self, name: str) -> None:
        self.said.append(f"reconnect {name}")


@dataclass
class Shown:
    """A running app and what stands behind it."""

    app: GpudashApp
    pilot: Pilot[None]
    monitor: StillMonitor
    clock: HandClock
    scene: Scene

    def rows(self) -> list[str]:
        """Return the screen as text, dialogs included."""
        return [strip.text for strip in self.app.screen._compositor.render_strips()]

    def text(self) -> str:
        return "\n".join(row.rstrip() for row in self.rows())

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def after(self, seconds: float) -> None:
        """Let time pass and the screen be painted anew."""
        self.clock.at_s += seconds
        self.app.repaint()
        await self.pilot.pause()


@asynccontextmanager
async def showing(
    fleet: Fleet,
    width: int = 120,
    height: int = 40,
    *,
    glyphs: Glyphs = UNICODE,
    depth: Depth = Depth.TRUE,
    themes: tuple[str, ...] = ("gpudash-dark", "gpudash-light"),
    door: Door | None = None,
    actions: tuple[Action, ...] = ACTIONS,
) -> AsyncIterator[Shown]:
    """Run the app over a fleet that stands still."""
    clock = HandClock()
    monitor = StillMonitor(fleet, clock)
    scene = Scene(clock, glyphs=glyphs, actions=Actions(actions))
    app = GpudashApp(
        monitor,
        clock,
        scene,
        [load_theme(name)[0] for name in themes],
        depth=depth,
        demo=lambda: StillMonitor(fleets.busy(), clock),
        door=door,
    )
    async with app.run_test(size=(width, height), notifications=True) as pilot:
        await pilot.pause()
        # The second look knows since when the banner's word stands.
        app.repaint()
        await pilot.pause()
        yield Shown(app, pilot, monitor, clock, scene)


def no_driver() -> Fleet:
    """This machine, where there is nothing to watch."""
    problem = Problem(
        title="no NVIDIA driver", sentence="There is no NVIDIA driver here.", is_no_driver=True
    )
    return Fleet(hosts=(Host(name="local", link=Link.DOWN, problem=problem),))


__all__ = ["HandClock", "Shown", "StillMonitor", "no_driver", "showing"]
