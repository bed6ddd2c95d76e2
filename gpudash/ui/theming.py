"""Our themes as Textual themes: scrollbars, dialogs and the palette follow the painted rows."""

from __future__ import annotations

from textual.theme import Theme as TextualTheme

from gpudash.ui.theme import Theme


def textual_theme(theme: Theme) -> TextualTheme:
    """Return the Textual theme that goes with one of ours."""
    if theme.is_mono:
        return TextualTheme(
            name=theme.name,
            primary="ansi_default",
            background="ansi_default",
            surface="ansi_default",
            panel="ansi_default",
            foreground="ansi_default",
        )
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
            "block-cursor-background": colours["key-cap"],
            "block-cursor-foreground": colours["text-strong"],
            "input-cursor-background": colours["text"],
            "footer-key-foreground": colours["key"],
        },
    )
