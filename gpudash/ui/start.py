"""Chooses how to draw on this terminal, and runs the dashboard there."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpudash.config.themes import user_theme_folder
from gpudash.core.actions import ACTIONS, Action
from gpudash.core.errors import UsageError
from gpudash.ui.actions import Actions
from gpudash.ui.early import EarlyScreen
from gpudash.ui.paint.ansi import Depth
from gpudash.ui.paint.glyphs import Glyphs
from gpudash.ui.paint.terminal import depth_of, glyphs_of
from gpudash.ui.theme import DEFAULT, MONO, Theme, load_all, load_theme

if TYPE_CHECKING:
    from gpudash.config.load import Config
    from gpudash.core.baselines import Baselines
    from gpudash.core.cleanup.protection import Rule
    from gpudash.services.door import Door
    from gpudash.services.monitor import FleetMonitor
    from gpudash.services.recorder import Recorder
    from gpudash.services.startup.past import Past
    from gpudash.ui.app import GpudashApp
    from gpudash.ui.cleanways import CleanWays, Teller
    from gpudash.ui.paint.view import Density

_SYSTEMS = {
    Depth.TRUE: "truecolor",
    Depth.MANY: "256",
    Depth.FEW: "standard",
    Depth.NONE: "standard",
}
"""Textual's words for them."""


PAST = "startups.jsonl"
"""Earlier start-ups, in the folder of the records where that is another one."""


class Settings(NamedTuple):
    """What the screen was begun with: changes are told against it."""

    config: Config
    pinned: frozenset[str] = frozenset()
    """Keys of the configuration that flags speak over."""


class Acts(NamedTuple):
    """What may be done from the screen."""

    readonly: frozenset[str] = frozenset()
    """Hosts that are only looked at."""
    confirms_always: bool = False
    """Every plan is shown, also where one key would do."""
    rules: tuple[Rule, ...] = ()
    """Of the configuration: who is protected besides."""
    folder: Path | None = None
    """Of the records; None for the usual one."""


class Looks:
    """Theme, characters and colours; `early` and Textual draw with the same ones."""

    def __init__(
        self,
        theme_name: str | None,
        density: Density | None,
        *,
        is_ascii: bool,
        actions: tuple[Action, ...] = ACTIONS,
        settings: Settings | None = None,
    ) -> None:
        """Choose by flags and environment. Raises UsageError naming the nearest theme."""
        self.actions = Actions(actions)
        self.settings = settings
        self.density = density
        self.depth = depth_of(os.environ)
        is_utf = "utf" in (sys.stdout.encoding or "").lower()
        self.glyphs: Glyphs = glyphs_of(os.environ, self.depth, wants_ascii=is_ascii or not is_utf)
        self.theme = _theme(theme_name, self.depth)


def _theme(name: str | None, depth: Depth) -> Theme:
    if name is None and depth is Depth.NONE:
        return MONO
    folders = (user_theme_folder(os.environ),)
    theme, wrong = load_theme(name or DEFAULT, folders)
    if not wrong:
        return theme
    from gpudash.core.nearest import nearest

    known, _ = load_all(folders)
    guess = nearest(name or "", known, limit=6)
    hint = f"Did you mean {guess}?" if guess else f"Known: {', '.join(sorted(known))}"
    raise UsageError(f"--theme {name}: {wrong}", hint=hint)


def show(
    monitor: FleetMonitor,
    looks: Looks,
    screen: EarlyScreen,
    *,
    demo: Callable[[], FleetMonitor] | None = None,
    acts: Acts | None = None,
    is_tour: bool = False,
) -> int:
    """Run the dashboard until the user leaves; return the exit code. No `acts`: read-only."""
    app = _app(monitor, looks, screen, demo, None, acts)
    if is_tour:
        from gpudash.ui.touring import Guide

        app.guide = Guide(app)
    app.run()
    return app.return_code or 0


async def show_in_loop(
    monitor: FleetMonitor,
    looks: Looks,
    screen: EarlyScreen,
    *,
    door: Door,
    acts: Acts | None = None,
) -> int:
    """Do the same in a loop that runs already, with connections that are open in it."""
    app = _app(monitor, looks, screen, None, door, acts)
    await app.run_async()
    return app.return_code or 0


def _app(
    monitor: FleetMonitor,
    looks: Looks,
    screen: EarlyScreen,
    demo: Callable[[], FleetMonitor] | None,
    door: Door | None,
    acts: Acts | None,
) -> GpudashApp:
    # Textual reads these when it is imported. An empty NO_COLOR means nothing (no-color.org).
    os.environ.setdefault("TEXTUAL_COLOR_SYSTEM", _SYSTEMS[looks.depth])
    if not os.environ.get("NO_COLOR"):
        os.environ.pop("NO_COLOR", None)
    # Exported by a shell or a readline above us, they would freeze the size: the terminal knows.
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    from gpudash.config.baselines import load_baselines
    from gpudash.services.clock import SystemClock
    from gpudash.services.recorder import Recorder
    from gpudash.ui.app import GpudashApp
    from gpudash.ui.cleanways import Teller
    from gpudash.ui.paint.tally import Ledger
    from gpudash.ui.scene import Scene

    clock = SystemClock()
    baselines = load_baselines()
    teller = Teller()
    recorder = Recorder(acts.folder if acts else None, tell=teller)
    others, faults = load_all((user_theme_folder(os.environ),))
    themes = [looks.theme, *(one for name, one in others.items() if name != looks.theme.name)]
    app = GpudashApp(
        monitor,
        clock,
        Scene(
            clock,
            glyphs=looks.glyphs,
            density=looks.density,
            actions=looks.actions,
            ledger=Ledger(baselines),
        ),
        themes,
        depth=looks.depth,
        demo=demo,
        door=door,
        driver_class=_driver(screen),
        last_resort=screen.last_resort,
        baselines=baselines,
        recorder=recorder,
        clean=_clean_ways(acts, recorder, teller, baselines),
        past=partial(_past, acts.folder / PAST if acts and acts.folder else None),
    )
    app.theme_faults = faults
    app.speak_through_driver()
    if looks.settings is not None:
        from gpudash.ui.reloading import Live, alert_ways

        config, pinned = looks.settings
        app.use_alerts(alert_ways(config))
        app.live = Live(config=config, pinned=pinned, environ=dict(os.environ))
    # Modules stay for good: a full collection that walks over them costs a tenth of the CPU time.
    gc.freeze()
    return app


def _past(path: Path | None) -> Past:
    """Return the earlier start-ups; seldom needed, and not imported before."""
    from gpudash.services.startup.past import Past

    return Past(path)


def _clean_ways(
    acts: Acts | None, recorder: Recorder, teller: Teller, baselines: Baselines
) -> CleanWays | None:
    if acts is None:
        return None
    from gpudash.ui.cleanways import CleanWays

    return CleanWays(
        recorder=recorder,
        teller=teller,
        baselines=baselines,
        readonly=acts.readonly,
        confirms_always=acts.confirms_always,
        rules=acts.rules,
    )


def _driver(screen: EarlyScreen) -> type | None:
    if not screen.is_drawn or sys.platform == "win32":
        return None
    from gpudash.ui.handover import driver_for

    return driver_for(screen)
