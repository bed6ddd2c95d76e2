"""What changes in the user's files while the screen runs."""

from __future__ import annotations

from pathlib import Path

from gpudash.config.load import Config
from gpudash.config.themes import ThemeFile, read_theme_file, theme_folder
from gpudash.services.reloading import Loaded
from gpudash.ui.paint.view import Density
from gpudash.ui.reloading import Live
from tests.config.making import configuration
from tests.ui import fleets
from tests.ui.cleaning import Cleaned, cleaned
from tests.ui.showing import Shown, showing


def begin(shown: Shown | Cleaned, config: Config, *pinned: str) -> None:
    shown.app.live = Live(config=config, environ={}, pinned=frozenset(pinned))


def toasts(shown: Shown | Cleaned) -> list[str]:
    return [f"{one.title}: {one.message}" for one in shown.app._notifications]


def dark() -> ThemeFile:
    theme, wrong = read_theme_file(str(Path(theme_folder(), "gpudash-dark.toml")))
    assert theme is not None, wrong
    return theme


async def test_what_can_change_changes_and_the_rest_is_told(tmp_path: Path) -> None:
    text = (
        'theme = "gpudash-light"\ndensity = "cell"\ninterval = "2s"\n[keys]\n"view.theme" = "T"\n'
    )
    async with showing(fleets.busy(), 120, 40) as shown:
        begin(shown, configuration(tmp_path))
        shown.app.take_files(Loaded(configuration(tmp_path, user=text)))
        await shown.pilot.pause()
        assert shown.app.theme == "gpudash-light"
        assert shown.app.screen.shown_density is Density.CELL
        assert "T theme" in shown.rows()[-1]
        (toast,) = toasts(shown)
        assert toast.splitlines() == [
            'configuration: interval = "2s"; counts from the next start on',
            'theme = "gpudash-light"',
            'density = "cell"',
            'keys.view.theme = "T"',
        ]
        await shown.press("t")
        assert shown.app.theme == "gpudash-light"
        await shown.press("T")
        assert shown.app.theme == "gpudash-dark"
        shown.app.take_files(Loaded(configuration(tmp_path)))
        await shown.pilot.pause()
        assert "t theme" in shown.rows()[-1]


async def test_errors_leave_the_old_values(tmp_path: Path) -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        begin(shown, configuration(tmp_path))
        before = shown.app.live.config
        shown.app.take_files(Loaded(None, ("config.toml:3: unknown key [red]them[/]",)))
        await shown.pilot.pause()
        assert shown.app.live.config is before
        assert "config.toml:3: unknown key [red]them[/]" in shown.text()
        assert "the old values stay" in shown.text()


async def test_flags_speak_over_it_and_an_unknown_theme_changes_nothing(tmp_path: Path) -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        begin(shown, configuration(tmp_path), "density")
        text = 'theme = "no-such"\ndensity = "cell"\n'
        shown.app.take_files(Loaded(configuration(tmp_path, user=text)))
        await shown.pilot.pause()
        assert shown.app.theme == "gpudash-dark"
        assert shown.scene.density is None
        (toast,) = toasts(shown)
        assert "there is no such theme, the old one stays" in toast
        assert "a flag of this run speaks over it" in toast


async def test_a_theme_that_changes_is_drawn_anew(tmp_path: Path) -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        begin(shown, configuration(tmp_path))
        red = dark()._replace(colours={**dark().colours, "raised": "#010203", "app-bg": "#040506"})
        mine = dark()._replace(name="mine")
        shown.app.take_files(Loaded(shown.app.live.config, themes=(red, mine)))
        await shown.pilot.pause()
        await shown.pilot.pause()
        assert shown.app.theme_variables["surface"].lower() == "#010203"
        assert str(shown.app._ink.style("text").bgcolor.triplet.hex) == "#040506"
        assert toasts(shown) == []
        await shown.press("t", "t")
        assert shown.app.theme == "mine"


async def test_faults_of_themes_come_in_one_toast_and_once(tmp_path: Path) -> None:
    async with showing(fleets.busy(), 120, 40) as shown:
        begin(shown, configuration(tmp_path))
        faults = tuple(f"bad{number}.toml: not TOML" for number in range(6))
        for _ in range(2):
            shown.app.take_files(Loaded(shown.app.live.config, faults=faults))
            await shown.pilot.pause()
        (toast,) = toasts(shown)
        assert toast.startswith("themes left out: bad0.toml: not TOML\n")
        assert toast.endswith("and 2 more")


async def test_readonly_locks_at_once(tmp_path: Path) -> None:
    async with cleaned(tmp_path) as shown:
        begin(shown, configuration(tmp_path))
        shown.app.take_files(Loaded(configuration(tmp_path, user="readonly = true\n")))
        await shown.pilot.pause()
        assert "c clean" not in shown.rows()[-1]
        await shown.press("c")
        assert any("read-only" in one for one in toasts(shown))
