"""Servers that scenes launch, and what one `gpudash run` said."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.cli.running import is_running, wait_for
from tests.isolation.stage import FULL, GIB, Stage

LOGS = Path(__file__).parents[1] / "data" / "startup-logs"
SERVER = Path(__file__).parents[1] / "startup_server" / "launch_server.py"
GOOD = "sglang_0.5.8_kimi_k2_tp8_eagle3_ok"
PORT = 30000


@dataclass(frozen=True, slots=True)
class Ran:
    """What one `gpudash run --format json` said."""

    code: int
    document: dict[str, Any]
    err: str

    @property
    def failure(self) -> dict[str, Any]:
        failure = self.document["startup"]["failure"]
        assert isinstance(failure, dict), self.err
        return failure


class Show:
    """Launches of one scene; servers that still run are ended with it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.pids: list[int] = []
        stage.variables["PATH"] = "/usr/local/bin:/usr/bin:/bin"
        stage.at_end(self._end)

    def _end(self) -> None:
        for record in self.records():
            for line in record:
                if line["kind"] == "launched" and is_running(line["pid"]):
                    import os
                    import signal

                    os.kill(line["pid"], signal.SIGKILL)

    def play(self, log: str = GOOD, **more: Any) -> str:
        """Return what a server plays, for its variable."""
        path = LOGS / f"{log}.log"
        lines = path.read_bytes().count(b"\n")
        ready = self.expected(log)["ready_line"]
        play = {
            "log": str(path),
            "folder": str(self.stage.driver.folder),
            "port": PORT,
            "gpus": [0, 1],
            "bytes": 40 * GIB,
            "devices": [FULL],
            "take_at": lines // 4,
            **({"listen_at": ready - 1} if ready else {"end": {"exit": 1}}),
            **more,
        }
        return json.dumps(play)

    @staticmethod
    def expected(log: str) -> dict[str, Any]:
        found = json.loads((LOGS / f"{log}.expected.json").read_text())
        assert isinstance(found, dict)
        return found

    def words(self, play: str, *flags: str, args: tuple[str, ...] = ()) -> list[str]:
        command = [sys.executable, str(SERVER), "--port", str(PORT), "--tp", "2", *args]
        return ["run", *flags, "--env", f"PLAY={play}", "--", *command]

    def run(self, play: str, *flags: str, args: tuple[str, ...] = ()) -> Ran:
        """Launch to the end that the play has."""
        words = self.words(play, "--format", "json", *flags, args=args)
        return self.ran(self.stage.gpudash(*words))

    @staticmethod
    def ran(done: subprocess.CompletedProcess[bytes]) -> Ran:
        err = done.stderr.decode()
        assert done.stdout, err
        return Ran(done.returncode, json.loads(done.stdout), err)

    def records(self) -> list[list[dict[str, Any]]]:
        """Return the lines of all records, the newest last."""
        found = sorted(self.stage.folder.glob("home-*/.local/state/gpudash/records/*.jsonl"))
        texts = [path.read_bytes().splitlines(keepends=True) for path in found]
        return [[json.loads(line) for line in text if line.endswith(b"\n")] for text in texts]

    def kinds(self) -> list[str]:
        """Return what happened in the newest record, in order."""
        return [line["kind"] for line in self.records()[-1]]


def ask(path: str, port: int = PORT) -> int:
    """Return the status that a server answers; 0 where none does."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except OSError:
        return 0
    finally:
        connection.close()


def end_server(pid: int) -> None:
    """Ask a server to end, and wait for it."""
    ask("/end")
    wait_for(lambda: not is_running(pid))
