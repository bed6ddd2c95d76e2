"""Files that change are read again once they stand still; what is wrong with them is told."""

from __future__ import annotations

import os
import threading
from functools import partial
from pathlib import Path

import pytest

from gpudash.config.themes import theme_folder
from gpudash.services.reloading import Loaded, Reloader, load_now, signature

DARK = Path(theme_folder(), "gpudash-dark.toml").read_text(encoding="utf-8")


class Files:
    """A configuration folder, and what a reloader tells of it."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "config.toml"
        self.themes = folder / "themes"
        self.themes.mkdir()
        self.told: list[Loaded] = []
        env = {"GPUDASH_CONFIG": str(self.file)}
        site = str(folder / "site.toml")
        self.file.write_text('theme = "gpudash-dark"\n')
        self.reloader = Reloader(
            self.told.append,
            partial(signature, env, site),
            partial(load_now, env, site, os.geteuid()),
        )

    def write(self, text: str) -> None:
        self.file.write_text(text)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_nothing_is_told_while_nothing_changes(files: Files) -> None:
    for _ in range(3):
        files.reloader.step()
    assert files.told == []


def test_a_change_is_told_once_it_stands_still(files: Files) -> None:
    files.write("")
    files.reloader.step()
    files.write('theme = "gpudash-light"\n')
    files.reloader.step()
    assert files.told == []
    files.reloader.step()
    files.reloader.step()
    (loaded,) = files.told
    assert loaded.problems == ()
    assert loaded.config is not None
    assert loaded.config.top("theme").value == "gpudash-light"


def test_what_is_wrong_is_told_with_its_place(files: Files) -> None:
    files.write('\nthem = "x"\n')
    files.reloader.step()
    files.reloader.step()
    (loaded,) = files.told
    assert loaded.config is None
    assert loaded.problems == (f"{files.file}:2: unknown key them",)


def test_a_file_that_goes_away_is_told(files: Files) -> None:
    files.file.unlink()
    files.reloader.step()
    files.reloader.step()
    (loaded,) = files.told
    assert loaded.problems == (f"GPUDASH_CONFIG={files.file}: no such file",)


def test_themes_come_change_and_go(files: Files) -> None:
    mine = files.themes / "mine.toml"
    mine.write_text(DARK.replace('"gpudash-dark"', '"mine"'))
    (files.themes / "bad.toml").write_text("=")
    files.reloader.step()
    files.reloader.step()
    assert files.told[-1].themes[-1].name == "mine"
    (fault,) = files.told[-1].faults
    assert fault.startswith("bad.toml: not TOML")
    mine.unlink()
    files.reloader.step()
    files.reloader.step()
    assert all(theme.name != "mine" for theme in files.told[-1].themes)
    assert len(files.told) == 2


def test_a_pipe_and_a_folder_among_the_themes_hold_up_nothing(files: Files) -> None:
    os.mkfifo(files.themes / "pipe.toml")
    (files.themes / "folder.toml").mkdir()
    (files.themes / "large.toml").write_text("#" * 100_000)
    files.reloader.step()
    files.reloader.step()
    assert len(files.told[-1].faults) == 3


def test_its_thread_looks_until_it_is_stopped(tmp_path: Path, monkeypatch: object) -> None:
    looked = threading.Event()
    counts = iter(range(10**6))

    def look() -> tuple[tuple[str, int, int, int], ...]:
        if next(counts) > 1:
            looked.set()
        return ()

    monkeypatch.setattr("gpudash.services.reloading.EACH_S", 0.001)  # type: ignore[attr-defined]
    reloader = Reloader(lambda _loaded: None, look, lambda: Loaded(None))
    reloader.start()
    assert looked.wait(30)
    reloader.stop()
    reloader._thread.join(30)
    assert not reloader._thread.is_alive()
