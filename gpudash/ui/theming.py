"""Our themes as Textual themes: scrollbars, dialogs and toasts follow the painted rows."""

from __future__ import annotations

from textual.theme import Theme as TextualTheme

from gpudash.ui.paint.ansi import Depth
from gpudash.ui.theme import Theme


def textual_theme(theme: Theme, depth: Depth = Depth.TRUE) -> TextualTheme:
    """Return the Textual theme that goes with one of ours."""
    if theme.is_mono or depth in (Depth.FEW, Depth.NONE):
        return _terminals_own(theme.name)
    colours = theme.colours
    return TextualTheme(
        name=theme.name,
        primary=colours["key"],
        secondary=colours["alive-bar"],
        accent=colours["border-focus"],
        warning=colours["unknown"],
        error=colours["leftover"],
        success=colours["clear"],
        foreground=colours["text"],
        background=colours["app-bg"],
        surface=colours["raised"],
        panel=colours["row-cursor"],
        dark=theme.is_dark,
        variables={
            "border": colours["border-focus"],
            "border-blurred": colours["border"],
            "text-muted": colours["text-muted"],
            "scrollbar-thumb": colours["border"],
            "scrollbar-thumb-active": colours["border-focus"],
            "veil": f"{colours['app-bg']} 58%",
            "screen-selection-background": colours["key-cap"],
            "screen-selection-foreground": colours["text-strong"],
            "input-selection-background": colours["key-cap"],
        },
    )


def _terminals_own(name: str) -> TextualTheme:
    """Return a theme of the terminal's own colours only."""
    own = "ansi_default"
    return TextualTheme(
        name=name,
        ansi=True,
        primary=own,
        secondary=own,
        accent=own,
        warning=own,
        error=own,
        success=own,
        foreground=own,
        background=own,
        surface=own,
        panel=own,
        boost=own,
        variables={
            "border": own,
            "border-blurred": own,
            "text-muted": own,
            "ansi-background": own,
            "ansi-foreground": own,
            "scrollbar-thumb": "ansi_bright_black",
            "scrollbar-thumb-active": own,
            "veil": own,
            "screen-selection-background": "ansi_white",
            "screen-selection-foreground": "ansi_black",
            "input-selection-background": "ansi_bright_black",
        },
    )
