"""`gpudash themes`: lists what there is, says what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path

from gpudash.config.themes import theme_folder
from tests.cli.running import Runner

DARK = Path(theme_folder(), "gpudash-dark.toml").read_text(encoding="utf-8")


def folder(tmp_path: Path, **files: str) -> dict[str, str]:
    themes = tmp_path / "gpudash" / "themes"
    themes.mkdir(parents=True)
    for name, text in files.items():
        (themes / f"{name}.toml").write_text(text, encoding="utf-8")
    return {"XDG_CONFIG_HOME": str(tmp_path)}


def test_shipped_themes_and_own_ones_are_listed(gpudash_command: Runner, tmp_path: Path) -> None:
    own = folder(tmp_path, mine=DARK.replace('"gpudash-dark"', '"mine"'), bad="=")
    done = gpudash_command(None, "themes", **own)
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert lines[0] == ["NAME", "KIND", "PATH"]
    assert [line[:2] for line in lines[1:]] == [
        ["gpudash-colour-blind", "dark"],
        ["gpudash-dark", "dark"],
        ["gpudash-high-contrast", "dark"],
        ["gpudash-light", "light"],
        ["gpudash-mono", "mono"],
        ["mine", "dark"],
    ]
    assert done.err.startswith("gpudash: bad.toml: not TOML")
    document = json.loads(gpudash_command(None, "themes", "--format", "json", **own).out)
    assert document["schema"] == "gpudash.themes/1"
    assert [one["name"] for one in document["themes"]][-1] == "mine"
    assert len(document["faults"]) == 1
    rows = gpudash_command(None, "themes", "--format", "csv", **own).out.splitlines()
    assert rows[0] == "name,kind,path"
    assert len(gpudash_command(None, "themes", "--format", "jsonl", **own).out.splitlines()) == 6


def test_a_file_is_validated(gpudash_command: Runner, tmp_path: Path) -> None:
    good, faint, bad = (tmp_path / f"{name}.toml" for name in ("good", "faint", "bad"))
    good.write_text(DARK, encoding="utf-8")
    faint.write_text(DARK.replace("#8d9aa8", "#3a424c"), encoding="utf-8")
    bad.write_text(DARK.replace("text-muted", "text-mutd"), encoding="utf-8")
    done = gpudash_command(None, "themes", "validate", str(good))
    assert (done.code, done.out) == (0, f"{good}: gpudash-dark, dark: fine\n")
    done = gpudash_command(None, "themes", "validate", str(faint), str(bad))
    assert done.code == 2
    first, second = done.out.splitlines()
    assert "loads; 9 texts below a contrast of 4.5, the faintest text-muted on row-cursor" in first
    assert second == "bad.toml: unknown colour text-mutd; did you mean text-muted?"
    missing = gpudash_command(None, "themes", "validate", str(tmp_path / "none.toml"))
    assert missing.code == 2
    assert "none.toml: " in missing.out


def test_without_files_ones_own_are_validated(gpudash_command: Runner, tmp_path: Path) -> None:
    nobody = {"XDG_CONFIG_HOME": str(tmp_path / "none")}
    done = gpudash_command(None, "themes", "validate", **nobody)
    assert done.code == 0
    assert done.out == f"No themes of your own in {tmp_path}/none/gpudash/themes\n"
    own = folder(tmp_path, bad="=")
    done = gpudash_command(None, "themes", "validate", **own)
    assert done.code == 2
    assert done.out.startswith("bad.toml: not TOML")


def test_what_is_no_action_is_refused(gpudash_command: Runner) -> None:
    done = gpudash_command(None, "themes", "lst")
    assert done.code == 2
    assert "list" in done.err
