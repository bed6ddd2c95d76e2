"""`enter`: the details of the GPU under the cursor, or of its host."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from gpudash.core.action import DETAILS, Action
from gpudash.core.actions import BY_ID
from gpudash.core.eventlog import simulated_line
from gpudash.core.model import Fleet
from gpudash.services.clock import Clock
from gpudash.services.detailing import Detailing
from gpudash.services.monitor import FleetMonitor
from gpudash.ui.bindings import bound
from gpudash.ui.detailing import Detailled, neighbours, view_of
from gpudash.ui.giving import copy_out
from gpudash.ui.paint.details import details_rows, details_text, tree_place
from gpudash.ui.paint.detailtree import row_at
from gpudash.ui.paint.detailview import DetailsView, Page
from gpudash.ui.plots import load_charts
from gpudash.ui.scene import Scene
from gpudash.ui.screens.environment import EnvironmentScreen
from gpudash.ui.strips import Ink
from gpudash.ui.widgets.detailrows import DetailRows
from gpudash.ui.widgets.keyed import KeyedRows

_HERE = {
    "cleanup.start": "clean",
    "details.environment": "environment",
    "details.page": "page",
    "details.window": "window",
    "host.next": "other(1)",
    "host.previous": "other(-1)",
    "text.copy": "copy",
}
_IN_FOOTER = (
    *("cleanup.start", "details.page", "details.window", "host.next", "details.environment"),
    *("text.copy", "errors.open", "app.help", "app.quit"),
)
_OF_THE_APP = (
    "view.theme",
    "host.pause",
    "host.reconnect",
    "errors.open",
    "app.help",
    "app.quit",
)


class DetailsScreen(Screen[None]):
    """Charts, facts and processes; keeps what is looked at and asks for nothing when closed."""

    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter,backspace", "close", "back"),
        *(Binding(str(number), f"gpu({number})", f"GPU {number}") for number in range(10)),
        bound("host.next", "other(1)"),
        bound("host.previous", "other(-1)"),
        bound("details.window", "window"),
        bound("details.page", "page"),
        bound("details.environment", "environment"),
        bound("cursor.up", "step(-1)"),
        bound("cursor.down", "step(1)"),
        bound("cursor.page_up", "step(-10)"),
        bound("cursor.page_down", "step(10)"),
        bound("cursor.first", "step(-9999)"),
        bound("cursor.last", "step(9999)"),
        bound("text.copy", "copy"),
        bound("cleanup.start", "clean"),
        *(bound(one, f"app.{BY_ID[one].action}") for one in _OF_THE_APP),
    ]

    def __init__(
        self,
        monitor: FleetMonitor,
        clock: Clock,
        scene: Scene,
        ink: Callable[[], Ink],
        chosen: Detailled,
    ) -> None:
        super().__init__(id="details")
        self._monitor = monitor
        self._clock = clock
        self._scene = scene
        self._ink = ink
        self._inked = ink()
        self._chosen = chosen
        self._looking = Detailing(monitor, clock, chosen.host)
        self._rows = DetailRows(self._inked, id="detail-rows")
        self._view: DetailsView | None = None

    def compose(self) -> ComposeResult:
        """Mount one widget: all of it changes together."""
        yield self._rows

    def on_mount(self) -> None:
        """Show what is known before anything is asked."""
        self._turn()
        self._looking.start()
        self.show_now()
        self.call_after_refresh(self._draw_charts)

    def _draw_charts(self) -> None:
        """Draw curves too: a key is answered before plotext is imported."""
        load_charts()
        self.show_now()

    async def on_unmount(self) -> None:
        """Ask nothing any more."""
        await self._looking.close()

    def _turn(self) -> None:
        host = self._monitor.fleet.host(self._chosen.host)
        index = [gpu.info.index for gpu in host.gpus if gpu.info.key == self._chosen.gpu]
        self._looking.turn_to(index[0] if index else None)

    def on_resize(self) -> None:
        """Divide the screen anew."""
        self.show_now()

    def show_now(self) -> None:
        """Show what is known now."""
        width, height = self.app.size
        if width < 1 or height < 1 or not self._is_there(self._monitor.fleet):
            return
        if self._inked is not self._ink():
            self._inked = self._ink()
            self._rows.set_ink(self._inked)
        view = self._fitted(self._seen(width), width, height)
        self._view = view
        self._rows.styles.height = height
        self._rows.show(details_rows(view, width, height), width)

    def _is_there(self, fleet: Fleet) -> bool:
        return any(host.name == self._chosen.host for host in fleet.hosts)

    def _seen(self, width: int) -> DetailsView:
        return view_of(
            self._chosen,
            self._monitor,
            self._looking,
            self._clock,
            self._scene.glyphs,
            self._keys(),
            is_wide=width >= 100,
        )

    def _keys(self) -> tuple[tuple[str, str], ...]:
        labels = {
            "details.page": self._chosen.page.next.value,
            "details.window": f"past {self._chosen.window.words}",
            "host.next": "other GPU",
        }
        known = {one.id: one for one in self._scene.actions.entries}
        shown = [known[one] for one in _IN_FOOTER if one in known]
        keys = [(one.key, labels.get(one.id, one.label)) for one in shown if self._offers(one)]
        return (*keys[:-3], ("esc", "back"), *keys[-3:])

    def _offers(self, action: Action) -> bool:
        return not (action.acts and self._scene.is_readonly)

    def _fitted(self, view: DetailsView, width: int, height: int) -> DetailsView:
        """Keep the cursor in sight."""
        _, rows = tree_place(view, width, height)
        room = max(1, rows - 3 if rows >= 5 and width >= 48 else rows)
        if view.page is Page.FACTS:
            return view
        top = min(view.top, view.cursor, max(0, len(view.tree) - room))
        top = max(top, view.cursor - room + 1)
        self._chosen.cursor, self._chosen.top = view.cursor, top
        return view._replace(top=top)

    # -- keys --------------------------------------------------------------------------------

    def action_close(self) -> None:
        """Go back to the dashboard."""
        if self.is_current:
            self.dismiss()

    def action_other(self, step: int) -> None:
        """Show the next GPU, or the host after the last."""
        host = self._monitor.fleet.host(self._chosen.host)
        every = neighbours(host)
        place = every.index(self._chosen.gpu) if self._chosen.gpu in every else 0
        self._choose(every[(place + step) % len(every)])

    def action_gpu(self, index: int) -> None:
        """Show the GPU of that index."""
        host = self._monitor.fleet.host(self._chosen.host)
        found = [gpu.info.key for gpu in host.gpus if gpu.info.index == index]
        if found:
            self._choose(found[0])

    def _choose(self, gpu: str | None) -> None:
        self._chosen.gpu, self._chosen.cursor, self._chosen.top = gpu, 0, 0
        host = self._monitor.fleet.host(self._chosen.host)
        keys = [one.info.key for one in host.gpus]
        if gpu in keys:
            self._scene.point_at(host.name, keys.index(gpu))
        self._turn()
        self.show_now()

    def action_window(self) -> None:
        """Look further back, or as near as it goes."""
        self._chosen.window = self._chosen.window.next
        self.show_now()

    def action_page(self) -> None:
        """Show the next page, where they do not stand together."""
        self._chosen.page = self._chosen.page.next
        self._chosen.top = 0
        self.show_now()

    def action_step(self, step: int) -> None:
        """Move over the processes; where the facts are alone, scroll them."""
        if self._view is None:
            return
        if self._chosen.page is Page.FACTS:
            most = max(0, len(self._view.facts) + len(self._view.obstacles) - 3)
            self._chosen.top = min(max(self._chosen.top + step, 0), most)
        else:
            most = max(0, len(self._view.tree) - 1)
            self._chosen.cursor = min(max(self._chosen.cursor + step, 0), most)
        self.show_now()

    def action_clean(self) -> None:
        """Close, and plan the cleanup of this host."""
        if self._scene.is_readonly:
            return
        self.dismiss()
        self.app.call_later(self.app.run_action, "clean")

    def action_copy(self) -> None:
        """Copy what is shown, as text."""
        if self._view is None:
            return
        text = details_text(self._view, *self.app.size)
        mark = simulated_line(self._monitor.fleet)
        self.run_worker(copy_out(self.app, f"{mark}\n\n{text}" if mark else text))

    def action_environment(self) -> None:
        """Ask for the environment of the process under the cursor."""
        if self._view is None or not tree_place(self._view, *self.app.size)[1]:
            self._chosen.page = Page.PROCESSES
            self.show_now()
            return
        # The line of a family stands for the first of it.
        below = self._view.tree[self._view.cursor : self._view.cursor + 2]
        row = next((one for one in below if one.pid is not None), None)
        if row is None or row.pid is None or row.is_dead or not row.start_ticks:
            self.notify("the cursor is on no living process", timeout=3, markup=False)
            return
        host = self._monitor.fleet.host(self._chosen.host)
        ask = partial(self._monitor.looking(host.name).environment, row.pid, row.start_ticks)
        title = f"environment of pid {row.pid}"  # a name could be markup
        self.app.push_screen(EnvironmentScreen(title, ask, is_simulated=host.is_simulated))

    # -- the mouse ---------------------------------------------------------------------------

    async def on_keyed_rows_key_clicked(self, message: KeyedRows.KeyClicked) -> None:
        """Do what the clicked key does."""
        message.stop()
        pages = {page.value: page for page in Page}
        if message.key in pages:
            self._chosen.page, self._chosen.top = pages[message.key], 0
            self.show_now()
            return
        if message.key == "esc":
            self.action_close()
            return
        for one in self._scene.actions.entries:
            if DETAILS in one.screens and message.key in one.shown.split():
                await self.run_action(_HERE.get(one.id) or f"app.{one.action}")
                return

    def on_detail_rows_row_clicked(self, message: DetailRows.RowClicked) -> None:
        """Move the cursor to a process that was clicked."""
        message.stop()
        if self._view is None:
            return
        above, rows = tree_place(self._view, *self.app.size)
        place = row_at(self._view, message.y - above, rows, self.app.size.width)
        if rows and above <= message.y < above + rows and place is not None:
            self._chosen.cursor = place
            self.show_now()
