"""`e`: everything that went wrong, in full; can be scrolled, selected and copied."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from gpudash.core.model import Fleet, GpuState, Host
from gpudash.core.names import clean_text, printable_lines
from gpudash.core.verify import judge_gpu
from gpudash.services.clock import Clock
from gpudash.ui.bindings import bound
from gpudash.ui.copying import copy
from gpudash.ui.screens.page import SIMULATED, PageScreen


class ErrorsScreen(PageScreen):
    """Open problems of all hosts, then what happened and was bad."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,enter", "dismiss", "close"),
        bound("errors.open", "dismiss"),
        bound("app.quit", "dismiss"),
        bound("text.copy", "copy"),
    ]

    def __init__(self, fleet: Fleet, clock: Clock) -> None:
        self._mark = simulated_line(fleet)
        super().__init__("errors", "y copies · esc closes", is_simulated=bool(self._mark))
        self._area = TextArea(
            errors_text(fleet, clock),
            read_only=True,
            show_cursor=False,
            show_line_numbers=False,
            highlight_cursor_line=False,
            soft_wrap=True,
            id="page",
        )

    def compose_page(self) -> ComposeResult:
        """Mount one read-only text."""
        yield self._area

    def action_scroll_page(self, step: int) -> None:
        """Scroll by lines."""
        self._area.scroll_relative(y=step, animate=False)

    def action_copy(self) -> None:
        """Copy what is selected, or all."""
        text = self._area.selected_text or self._area.text
        if self._mark and not text.startswith(self._mark):
            text = f"{self._mark}\n\n{text}"
        self.run_worker(copy(self, text))


def simulated_line(fleet: Fleet) -> str:
    """Say which hosts are made up; empty where none is."""
    names = [clean_text(host.name) for host in fleet.hosts if host.is_simulated]
    if not names:
        return ""
    who = "every host here" if len(names) == len(fleet.hosts) else ", ".join(names)
    return f"{SIMULATED}: {who} is made up"


def errors_text(fleet: Fleet, clock: Clock) -> str:
    """Return all open problems and all bad happenings as plain text."""
    mark = simulated_line(fleet)
    parts = [text for host in fleet.hosts if (text := _host_text(host, clock))]
    news = [
        f"{clock.wall(one.at_s)}  {clean_text(one.host)}  {clean_text(one.words)}"
        for one in fleet.happenings
        if one.tone in ("bad", "warn")
    ]
    if not parts:
        parts = ["No open problem."]
    if news:
        parts.append("\n".join(["What went wrong before, newest first:", "", *news]))
    return "\n\n".join([mark, *parts] if mark else parts)


def _host_text(host: Host, clock: Clock) -> str:
    lines = []
    problem = host.problem
    if problem is not None:
        lines.append(f"{host.name}: {problem.title}, since {clock.wall(host.link_since_s)}")
        detail = printable_lines(problem.detail).replace("\n", "\n  ")
        lines += [f"  {text}" for text in (problem.sentence, problem.advice, detail) if text]
    if host.facts is not None and host.facts.source == "nvidia-smi":
        lines.append(f"{host.name}: read through nvidia-smi, which lacks:")
        lines += [f"  {words}" for words in host.facts.unsupported]
    for gpu in host.gpus:
        if gpu.state not in (GpuState.READ, GpuState.UNREAD):
            lines.append(f"{host.name}: GPU {gpu.info.index}: {judge_gpu(gpu).reason}")
            lines.append(
                f"  {gpu.info.name or 'GPU'}  {gpu.info.bus_id or ''}  {gpu.info.uuid or ''}"
            )
    # A host's name is the user's, and a sentence may quote a file's: nothing comes in unlooked at.
    return printable_lines("\n".join(lines))
