"""To READY: behind all gates, with the server left running whatever becomes of gpudash."""

from __future__ import annotations

from pathlib import Path

from tests.cli.running import is_running
from tests.isolation.room import in_a_room
from tests.isolation.stage import Stage
from tests.launching.playing import Show, ask, end_server


@in_a_room
def test_to_ready(stage: Stage) -> None:
    show = Show(stage)
    done = show.run(show.play())
    assert done.code == 0, done.err
    told = done.document
    assert (told["spoke"], told["ready"], told["runs"]) == ("gpudash", True, True)
    assert told["startup"]["engine"] == "sglang"
    assert told["startup"]["ready"]
    assert is_running(told["pid"])
    assert ask("/health") == 200
    assert Path(told["log"]).stat().st_size > 14000
    end_server(told["pid"])
