"""`e`: everything that went wrong, in full; can be scrolled, selected and copied."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import TextArea

from gpudash.core.model import Fleet, GpuState, Host
from gpudash.core.names import clean_text
from gpudash.core.verify import judge_gpu
from gpudash.services.clock import Clock


class ErrorsScreen(ModalScreen[None]):
    """Open problems of all hosts, then what happened and was bad."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,e,q", "dismiss", "close")]

    def __init__(self, fleet: Fleet, clock: Clock) -> None:
        super().__init__()
        self._text = errors_text(fleet, clock)

    def compose(self) -> ComposeResult:
        """Mount one read-only text."""
        area = TextArea(self._text, read_only=True, show_line_numbers=False, soft_wrap=True)
        page = Vertical(area, classes="dialog")
        page.border_title = "errors"
        page.border_subtitle = "select to copy · esc closes"
        yield page


def errors_text(fleet: Fleet, clock: Clock) -> str:
    """Return all open problems and all bad happenings as plain text."""
    parts = [text for host in fleet.hosts if (text := _host_text(host, clock))]
    news = [
        f"{clock.wall(one.at_s)}  {one.host}  {one.words}"
        for one in fleet.happenings
        if one.tone in ("bad", "warn")
    ]
    if not parts:
        parts = ["No open problem."]
    if news:
        parts.append("\n".join(["What went wrong before, newest first:", "", *news]))
    return "\n\n".join(parts)


def _host_text(host: Host, clock: Clock) -> str:
    lines = []
    problem = host.problem
    if problem is not None:
        lines.append(f"{host.name}: {problem.title}, since {clock.wall(host.link_since_s)}")
        detail = "\n  ".join(clean_text(line, 400) for line in problem.detail.splitlines())
        lines += [f"  {text}" for text in (problem.sentence, problem.advice, detail) if text]
    for gpu in host.gpus:
        if gpu.state not in (GpuState.READ, GpuState.UNREAD):
            lines.append(f"{host.name}: GPU {gpu.info.index}: {judge_gpu(gpu).reason}")
            lines.append(
                f"  {gpu.info.name or 'GPU'}  {gpu.info.bus_id or ''}  {gpu.info.uuid or ''}"
            )
    return "\n".join(lines)
