"""The part of the app that takes what changed in the user's files while it runs.

What is wrong changes nothing and is named; what can't change in a run counts from the next one on,
and the toast says so.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial

from gpudash.config.alerts import bounds_of, is_on
from gpudash.config.changes import Change, changes
from gpudash.config.load import Config
from gpudash.core.keymap import actions_with, changed_keys
from gpudash.core.names import printable_lines
from gpudash.services.reloading import Loaded, Reloader, load_now, signature
from gpudash.ui.actions import Actions
from gpudash.ui.alarming import AlarmingApp, AlertWays
from gpudash.ui.paint.view import Density
from gpudash.ui.theme import Theme, theme_of
from gpudash.ui.theming import textual_theme

_MOST = 5
"""Lines of a toast."""


@dataclass(slots=True, kw_only=True)
class Live:
    """The configuration that counts now, and what was said on the command line over it."""

    config: Config
    environ: dict[str, str]
    pinned: frozenset[str] = frozenset()
    """Keys that a flag speaks over."""


class ReloadingApp(AlarmingApp):
    """Keeps up with the configuration and the themes."""

    live: Live | None = None
    _reloader: Reloader | None = None

    def keep_up(self) -> None:
        """Begin to look at the files."""
        if self.live is None:
            return
        loop = asyncio.get_running_loop()

        def tell(loaded: Loaded) -> None:
            loop.call_soon_threadsafe(self.take_files, loaded)

        environ = self.live.environ
        look, load = partial(signature, environ), partial(load_now, environ)
        self._reloader = Reloader(tell, look, load)
        self._reloader.start()

    def keep_up_no_more(self) -> None:
        """Look at the files no more."""
        if self._reloader is not None:
            self._reloader.stop()

    def take_files(self, loaded: Loaded) -> None:
        """Take what the files say now."""
        self._take_themes(loaded)
        if self.live is None:
            return
        if loaded.config is None:
            self._tell_lines("configuration: the old values stay", loaded.problems, "error")
            return
        changed = changes(self.live.config, loaded.config)
        self.live.config = loaded.config
        lines = [self._take(change, loaded.config) for change in changed]
        self.use_alerts(alert_ways(loaded.config))
        if lines:
            self._tell_lines("configuration", tuple(lines), "information")
            self.repaint()

    def _tell_lines(self, title: str, lines: tuple[str, ...], severity: str) -> None:
        more = [f"and {len(lines) - _MOST} more"] if lines[_MOST:] else []
        text = "\n".join(map(printable_lines, (*lines[:_MOST], *more)))
        kind = "error" if severity == "error" else "information"
        self.notify(text, title=title, severity=kind, markup=False, timeout=8)  # type: ignore[arg-type]

    def _take_themes(self, loaded: Loaded) -> None:
        new = {file.name: theme_of(file) for file in loaded.themes}
        # One that is gone or wrong now stays as it was: nobody's screen turns black.
        old = {theme.name: theme for theme in self._themes}
        changed = [theme for name, theme in new.items() if not _is_same(theme, old.get(name))]
        if changed:
            self._themes[:] = [*(old | new).values()]
            for theme in changed:
                self.register_theme(textual_theme(theme, self._ink.depth))
                if theme.name == self.theme:
                    self._show_theme(theme)
            self.repaint()
        if loaded.faults != self.theme_faults:
            self.theme_faults = loaded.faults
            self.tell_faults(loaded.faults)

    def _take(self, change: Change, config: Config) -> str:
        """Let one change count where it can; return its line."""
        if change.key in self._pinned:
            return f"{change.words}; a flag of this run speaks over it"
        if not change.is_live:
            return f"{change.words}; counts from the next start on"
        match change.key:
            case "theme":
                return self._take_theme(str(change.after), change.words)
            case "density":
                word = str(change.after)
                self._scene.density = None if word == "auto" else Density(word)
            case "readonly":
                self.lock()
            case "cleanup.confirm":
                if self._clean is not None:
                    always = change.after == "always"
                    self._clean = replace(self._clean, confirms_always=always)
            case key if key.startswith("alerts."):
                pass  # All of them at once, by whoever takes the configuration.
            case _:
                self._take_keys(config)
        return change.words

    @property
    def _pinned(self) -> frozenset[str]:
        return self.live.pinned if self.live else frozenset()

    def _take_theme(self, name: str, words: str) -> str:
        theme = next((one for one in self._themes if one.name == name), None)
        if theme is None:
            return f"{words}; there is no such theme, the old one stays"
        self._show_theme(theme)
        return words

    def _take_keys(self, config: Config) -> None:
        own = {id_: str(value.value) for id_, value in config.keys.items()}
        entries = actions_with(own, str(config.top("keymap").value))
        self._scene.actions = Actions(entries)
        self.set_keymap(changed_keys(entries))


def alert_ways(config: Config) -> AlertWays:
    """Return what a configuration says of alerts."""
    return AlertWays(
        bounds=bounds_of(config), has_bell=is_on(config, "bell"), has_osc9=is_on(config, "osc9")
    )


def _is_same(one: Theme, other: Theme | None) -> bool:
    return other is not None and (one.colours, one.is_dark, one.is_mono, one.mixes_cells) == (
        other.colours,
        other.is_dark,
        other.is_mono,
        other.mixes_cells,
    )
