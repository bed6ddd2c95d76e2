"""Files that are kept: new ones each time, for the user's own eyes."""

from __future__ import annotations

import stat
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpudash.services.exports import keep

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


async def test_nothing_is_ever_overwritten(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "exports"
    paths = [await keep(folder, ".svg", text, AT) for text in ("one", "two", "three")]
    assert [path.name for path in paths] == [
        "gpudash-20260102-030405.svg",
        "gpudash-20260102-030405-2.svg",
        "gpudash-20260102-030405-3.svg",
    ]
    assert [path.read_text() for path in paths] == ["one", "two", "three"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


async def test_a_link_in_the_way_is_not_followed(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    (tmp_path / "gpudash-20260102-030405.json").symlink_to(victim)
    path = await keep(tmp_path, ".json", "text", AT)
    assert path.name == "gpudash-20260102-030405-2.json"
    assert not victim.exists()


async def test_a_folder_that_can_not_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        await keep(tmp_path / "file" / "exports", ".svg", "text", AT)
