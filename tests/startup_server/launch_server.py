"""Starts as a model server does: prints a log, takes memory, opens its port late, answers health.

What it plays stands as JSON in the variable PLAY:

    log        the file that it prints
    until      so many of its lines (all)
    take_at    after so many lines it takes `bytes` on each of `gpus` (of the fake driver)
    listen_at  after so many lines its port opens (before the last one)
    end        "serve", or {"exit": N}, {"signal": N}, "hang" once the lines are printed
    workers    so many children, which wait for its end
    kills      after so many lines one of them is killed

Over HTTP: /health and /ready say 200, /more prints 1 MiB, /end ends it. Standard library only.
"""

from __future__ import annotations

import fcntl
import http.server
import json
import os
import signal
import sys
import threading
from typing import Any

MIB = 1 << 20


def take(play: dict[str, Any]) -> int:
    """Hold memory of the fake driver; return the locked handle."""
    pid = os.getpid()
    path = os.path.join(play["folder"], f"held-{pid}")
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    rows = "".join(f"{gpu} hold {pid} C {play['bytes']} {path}\n" for gpu in play["gpus"])
    state = os.environ["FAKE_NVML_STATE"] + ".holds"
    holds = os.open(state, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(holds, rows.encode())
    os.close(holds)
    for device in play.get("devices", []):
        os.open(device, os.O_RDWR)
    return handle


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers health, and does what a test asks for."""

    def do_GET(self) -> None:
        if self.path == "/more":
            line = b"x" * 1023 + b"\n"
            for _ in range(MIB // len(line)):
                os.write(1, line)
        self.send_response(200 if self.path in ("/health", "/ready", "/more", "/end") else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()
        if self.path == "/end":
            self.wfile.flush()
            os._exit(0)

    def log_message(self, format: str, *args: object) -> None:
        return


def listen(port: int) -> None:
    """Open the port; answer from now on."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def start_worker() -> int:
    """Return a child that ends with us."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(0)
    os.close(read)
    return child


def main() -> None:
    play: dict[str, Any] = json.loads(os.environ["PLAY"])
    with open(play["log"], "rb") as file:
        lines = file.read().splitlines(keepends=True)
    lines = lines[: play.get("until", len(lines))]
    workers = [start_worker() for _ in range(play.get("workers", 0))]
    kept = []
    for number, line in enumerate(lines):
        if number == play.get("take_at"):
            kept.append(take(play))
        if number == play.get("listen_at"):
            listen(play["port"])
        if number == play.get("kills") and workers:
            os.kill(workers[0], signal.SIGKILL)
            os.waitpid(workers.pop(0), 0)
        os.write(1, line)
    end = play.get("end", "serve")
    if isinstance(end, dict) and "exit" in end:
        sys.exit(end["exit"])
    if isinstance(end, dict) and "signal" in end:
        os.kill(os.getpid(), end["signal"])
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
