"""Textual's driver, for a terminal that shows a frame already."""

from __future__ import annotations

from textual.drivers.linux_driver import LinuxDriver

from gpudash.ui.early import EarlyScreen

_ENTER = "\x1b[?1049h"


def driver_for(screen: EarlyScreen) -> type[LinuxDriver]:
    """Return a driver that takes over this screen.

    It does not enter the alternate screen again: xterm and others would clear it.
    """

    class HandoverDriver(LinuxDriver):
        def write(self, data: str) -> None:
            # Only once: after ctrl-z the screen was left and is entered again.
            if data == _ENTER and not screen.is_handed_over:
                screen.is_handed_over = True
                return
            super().write(data)

    return HandoverDriver
