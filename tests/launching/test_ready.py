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


@in_a_room
def test_explain_tells_it(stage: Stage) -> None:
    show = Show(stage)
    done = show.run(show.play(), "--env", "HF_TOKEN=hf_0123456789abcdef")
    told = stage.gpudash("explain").stdout.decode()
    for words in (
        "intent     to start launch_server.py on local",
        "preflight  before anything else: 3 checks passed",
        "preflight  right before the start: 3 checks passed",
        f"launched   pid {done.document['pid']} runs; its log is {done.document['log']}",
        "ready ",
        "(exit 0)",
    ):
        assert words in told, told
    assert "hf_0123" not in told
    assert "hf_0123" not in done.err
    end_server(done.document["pid"])
