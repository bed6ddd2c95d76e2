"""What is copied from the dashboard, and what is saved of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpudash.ui.screens.errors import ErrorsScreen
from tests.ui import fleets
from tests.ui.showing import Shown, showing


@pytest.fixture(autouse=True)
def outside_tmux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TMUX", raising=False)


def toasts(shown: Shown) -> list[str]:
    return [one.message for one in shown.app._notifications]


async def done(shown: Shown) -> None:
    await shown.app.workers.wait_for_complete()
    await shown.pilot.pause()


async def test_the_gpu_under_the_cursor_is_copied_as_a_line() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        await shown.press("down", "y")
        await done(shown)
        assert shown.app.clipboard.startswith("root@gpu-a  1  71.2 GiB  ")
        assert "\n" not in shown.app.clipboard
        (toast,) = toasts(shown)
        assert toast == "1 line copied to the terminal's clipboard, if it allows that (OSC 52)"


async def test_what_is_marked_is_copied_as_a_table() -> None:
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        await shown.press("space", "tab", "space", "y")
        await done(shown)
        lines = shown.app.clipboard.split("\n")
        assert [line.split()[0] for line in lines] == ["host", "root@gpu-a", "root@gpu-b"]
        assert "3 lines copied" in toasts(shown)[0]
        assert len(shown.scene.marks) == 2


async def test_where_there_is_no_gpu_it_says_so() -> None:
    async with showing(fleets.connecting()) as shown:
        await shown.press("y")
        assert toasts(shown) == ["there is no GPU to copy"]
        assert shown.app.clipboard == ""


async def test_errors_are_copied_by_the_same_key() -> None:
    async with showing(fleets.errors()) as shown:
        await shown.press("e")
        assert isinstance(shown.app.screen, ErrorsScreen)
        await shown.press("y")
        await done(shown)
        assert "not trusted" in shown.app.clipboard


async def test_a_picture_and_the_data_are_saved(monkeypatch: object, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # type: ignore[attr-defined]
    folder = tmp_path / "gpudash" / "exports"
    async with showing(fleets.three_hosts(), 120, 60) as shown:
        await shown.press("slash", *"vllm", "enter")
        await shown.press("x", "x", "X")
        await done(shown)
        pictures, (data,) = sorted(folder.glob("*.svg")), [*folder.glob("*.json")]
        assert len(pictures) == 2
        assert all(path.read_text().startswith("<svg") for path in pictures)
        assert "vllm" in pictures[0].read_text()
        found = json.loads(data.read_text())
        assert found["filter"] == "vllm"
        assert [host["name"] for host in found["hosts"]] == ["root@gpu-a", "root@gpu-c"]
        assert sorted(toasts(shown)) == sorted(f"saved to {path}" for path in (*pictures, data))


async def test_a_folder_that_can_not_be_written_is_told(
    monkeypatch: object, tmp_path: Path
) -> None:
    (tmp_path / "gpudash").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))  # type: ignore[attr-defined]
    async with showing(fleets.busy()) as shown:
        await shown.press("x")
        await done(shown)
        (toast,) = toasts(shown)
        assert toast.startswith("nothing was saved: ")
