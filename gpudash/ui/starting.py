"""The part of the app that shows start-ups: their screen, their logs, and the keys in them."""

from __future__ import annotations

import os

from gpudash.config.markers import load_catalog
from gpudash.services.clipboard import give_to_tmux, is_in_tmux
from gpudash.services.monitor import FleetMonitor
from gpudash.services.startup.past import Past
from gpudash.ui.acting import ActingApp
from gpudash.ui.paint.frame import FrameView
from gpudash.ui.paint.logpage import LogPage
from gpudash.ui.paint.startupwhy import report_text
from gpudash.ui.screens.log import LogScreen
from gpudash.ui.screens.startups import StartupsScreen
from gpudash.ui.startups import Startups


class StartingApp(ActingApp):
    """Keeps what is followed over one monitor, and shows it."""

    _past: Past | None = None
    _followed: Startups | None = None
    _frame: FrameView | None = None

    @property
    def startups(self) -> Startups:
        """Return what is followed; nothing is before it is asked for."""
        if self._followed is None:
            self._followed = Startups(
                self._monitor,
                self._clock,
                load_catalog,
                self.repaint_soon,
                self._past,
                is_readonly=self._scene.is_readonly,
            )
        return self._followed

    def watch_on(self) -> None:
        """Prove, plan and follow from now on."""
        super().watch_on()
        self.startups.start()

    async def watch_no_more(self) -> None:
        """Let go of everything but the monitor."""
        if self._followed is not None:
            await self._followed.close()
        await super().watch_no_more()

    async def act_on(self, monitor: FleetMonitor) -> None:
        """Watch another fleet; what is followed on this one goes on by itself."""
        await super().act_on(monitor)
        self._followed = None

    # -- painting ------------------------------------------------------------------------------

    def framed(self, frame: FrameView) -> FrameView:
        """Return the frame with the start-up that its banner speaks of."""
        self._frame = frame
        if frame.cleaning is not None or not self.startups.all:
            return frame
        return frame._replace(startup=self.startups.banner(frame))

    def paint_startups(self) -> None:
        """Show start-ups where their screens are open, under a dialog too."""
        for screen in self.screen_stack:
            if isinstance(screen, StartupsScreen) and self._frame is not None:
                screen.show(self.startups.view(self._frame), self.size)
            elif isinstance(screen, LogScreen):
                screen.show(self._log_page())

    def _log_page(self) -> LogPage:
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

    def action_startups(self) -> None:
        """Show start-ups: the only one at once, several as a list."""
        if not any(isinstance(screen, StartupsScreen) for screen in self.screen_stack):
            self.startups.enter()
            self.push_screen(StartupsScreen(self._ink, self.repaint))

    def action_log(self) -> None:
        """Show the whole log of the start-up that is shown, else of the newest."""
        if any(isinstance(screen, LogScreen) for screen in self.screen_stack):
            return
        if not any(isinstance(screen, StartupsScreen) for screen in self.screen_stack):
            self.startups.enter()
        if self.startups.shown is None:
            self.notify("no start-up is followed yet: s says how one comes here", markup=False)
            return
        self.push_screen(LogScreen(self._ink, self.repaint, self._copy_text, at_cause=True))

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
        one = self.startups.shown
        if one is not None and self._frame is not None:
            self._copy_text(report_text(self.startups.one(one, self._frame)))

    def _copy_text(self, text: str) -> None:
        self.run_worker(self._copied(text))

    async def _copied(self, text: str) -> None:
        if is_in_tmux(os.environ) and await give_to_tmux(text):
            where = "tmux's buffer, which passes it on to the clipboard"
        else:
            self.copy_to_clipboard(text)
            where = "the terminal's clipboard, if it allows that (OSC 52)"
        count = text.count("\n") + 1
        lines = "1 line" if count == 1 else f"{count} lines"
        self.notify(f"{lines} copied to {where}", timeout=4, markup=False)

    def ink_startups(self) -> None:
        """Draw open screens in the theme that was chosen."""
        for screen in self.screen_stack:
            if isinstance(screen, StartupsScreen | LogScreen):
                screen.set_ink(self._ink)
