"""The part of the app that shows start-ups: their screen, their logs, and the keys in them.

Most of it is imported with the first start-up or the first key for one: it would delay the first
readings of everybody.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gpudash.services.monitor import FleetMonitor
from gpudash.services.startup.noticing import Noticing
from gpudash.ui.giving import copy_out
from gpudash.ui.looking import LookingApp
from gpudash.ui.paint.frame import FrameView

if TYPE_CHECKING:
    from gpudash.services.startup.past import Past
    from gpudash.ui.paint.logpage import LogPage
    from gpudash.ui.startups import Startups
    from gpudash.ui.theme import Theme

STARTUPS, LOG = "startups", "log"
"""Ids of the screens."""
CHARTS_S = 0.05
"""After the first paint of the screen: its key was answered by then."""


class StartingApp(LookingApp):
    """Keeps what is followed over one monitor, and shows it."""

    _make_past: Callable[[], Past] | None = None
    _noticing: Noticing | None = None
    _shown: Startups | None = None
    _frame: FrameView | None = None

    @property
    def noticing(self) -> Noticing:
        """Return who follows."""
        if self._noticing is None:
            self._noticing = Noticing(
                self._monitor, self._clock, self.repaint_soon, self._make_past
            )
        return self._noticing

    @property
    def startups(self) -> Startups:
        """Return what the screens show."""
        if self._shown is None:
            from gpudash.ui.startups import Startups

            self._shown = Startups(
                self.noticing, self._scene.actions, is_readonly=self._scene.is_readonly
            )
        return self._shown

    def watch_on(self) -> None:
        """Prove, plan and follow from now on."""
        super().watch_on()
        self.noticing.start()

    async def watch_no_more(self) -> None:
        """Let go of everything but the monitor."""
        if self._noticing is not None:
            await self._noticing.close()
        await super().watch_no_more()

    async def act_on(self, monitor: FleetMonitor) -> None:
        """Watch another fleet; what is followed on this one goes on by itself."""
        await super().act_on(monitor)
        self._noticing = self._shown = None

    # -- painting ------------------------------------------------------------------------------

    def framed(self, frame: FrameView) -> FrameView:
        """Return the frame with the start-up that its banner speaks of."""
        self._frame = frame
        if frame.cleaning is not None or not self.noticing.all:
            return frame
        return frame._replace(startup=self.startups.banner(frame))

    def paint_startups(self) -> None:
        """Show start-ups where their screens are open, under a dialog too."""
        if len(self.screen_stack) < 2 or self._frame is None:
            return
        from gpudash.ui.screens.log import LogScreen
        from gpudash.ui.screens.startups import StartupsScreen

        for screen in self.screen_stack:
            if isinstance(screen, StartupsScreen):
                screen.show(self.startups.view(self._frame), self.size)
            elif isinstance(screen, LogScreen):
                screen.show(self._log_page())

    def _log_page(self) -> LogPage:
        from gpudash.ui.paint.logpage import LogPage

        one = self.startups.shown
        glyphs = self._scene.glyphs
        if one is None:
            return LogPage("no start-up is followed", glyphs=glyphs, wall_of=self._clock.wall)
        followed, book = one.followed, one.book
        failure = followed.startup.failure
        return LogPage(
            title=f"{followed.name}  {followed.source.words}",
            lines=book.lines(),
            cause=failure.line if failure is not None else None,
            dropped=book.dropped,
            is_simulated=followed.is_simulated,
            wall_of=self._clock.wall,
            glyphs=glyphs,
        )

    # -- actions -------------------------------------------------------------------------------

    def _is_open(self, name: str) -> bool:
        return any(screen.id == name for screen in self.screen_stack)

    def action_startups(self) -> None:
        """Show start-ups: the only one at once, several as a list."""
        if self._is_open(STARTUPS):
            return
        from gpudash.ui.plots import has_charts
        from gpudash.ui.screens.startups import StartupsScreen

        self.startups.enter()
        self.push_screen(StartupsScreen(self._ink, self._scene.actions, self.repaint))
        if self.startups.all and not has_charts():
            self.set_timer(CHARTS_S, self._bring_charts)

    def _bring_charts(self) -> None:
        from gpudash.ui.plots import load_charts

        load_charts()
        self.repaint()

    def action_log(self) -> None:
        """Show the whole log of the start-up that is shown, else of the newest."""
        if self._is_open(LOG):
            return
        if not self._is_open(STARTUPS):
            self.startups.enter()
        if self.startups.shown is None:
            self.notify("no start-up is followed yet: s says how one comes here", markup=False)
            return
        from gpudash.ui.screens.log import LogScreen

        self.push_screen(
            LogScreen(self._ink, self._scene.actions, self.repaint, self._copy_text, at_cause=True)
        )

    def action_startup_move(self, step: int) -> None:
        """Move in the list."""
        self.startups.move(step)
        self.repaint()

    def action_startup_next(self, step: int) -> None:
        """Show the next one."""
        self.startups.next(step)
        self.repaint()

    def action_startup_open(self) -> None:
        """Open the one under the cursor."""
        self.startups.open()
        self.repaint()

    def action_startup_back(self) -> None:
        """Go back to the list, or to the dashboard."""
        if not self.startups.back():
            self.pop_screen()
        self.repaint()

    def action_startup_clean(self) -> None:
        """Plan the cleanup of the host that the start-up is on; the dashboard shows it."""
        one = self.startups.shown
        if one is None or self._scene.is_readonly:
            return
        self.pop_screen()
        self._scene.unmark()
        self._scene.point_at(one.followed.host, 0)
        self.action_clean()

    def action_startup_copy(self) -> None:
        """Copy the cause and where it comes from, or how far it is."""
        from gpudash.ui.paint.startupwhy import report_text

        one = self.startups.shown
        if one is not None and self._frame is not None:
            self._copy_text(report_text(self.startups.one(one, self._frame)))

    def _copy_text(self, text: str) -> None:
        self.run_worker(copy_out(self, text))

    def _show_theme(self, theme: Theme) -> None:
        super()._show_theme(theme)
        if not self._is_open(STARTUPS) and not self._is_open(LOG):
            return
        from gpudash.ui.screens.log import LogScreen
        from gpudash.ui.screens.startups import StartupsScreen

        for screen in self.screen_stack:
            if isinstance(screen, StartupsScreen | LogScreen):
                screen.set_ink(self._ink)
