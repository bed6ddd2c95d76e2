"""A health URL is asked from the host itself: status, reason, owner; never through a proxy."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from gpudash.sources import shipping
from tests.probe.running import Line, Program


class Server(BaseHTTPRequestHandler):
    """Answers with the status in its path; `/slow` never."""

    seen: list[str] = []  # noqa: RUF012
    release = threading.Event()

    def do_GET(self) -> None:
        self.seen.append(self.path)
        if self.path == "/slow":
            self.release.wait()
            return
        self.send_response(int(self.path.strip("/").partition("?")[0]))
        self.send_header("Location", "/200")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def port() -> Iterator[int]:
    Server.release.clear()
    Server.seen.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        Server.release.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def hand() -> Iterator[Program]:
    proxies = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy"), "http://127.0.0.1:1")
    with Program(shipping.hand_payload(), dict(os.environ, **proxies)) as program:
        yield program


def ask(hand: Program, url: str, timeout_s: object = 20) -> Line:
    hand.send(1, "url", url=url, timeout_s=timeout_s)
    told = hand.of("url", id=1)
    assert hand.of("ack", id=1)["ok"]
    return told


@pytest.mark.parametrize("status", [200, 302, 404, 503])
def test_what_it_answers(hand: Program, port: int, status: int) -> None:
    told = ask(hand, f"http://127.0.0.1:{port}/{status}?deep=1")
    assert (told["status"], told["error"], told["pids"]) == (status, "", [os.getpid()])
    assert Server.seen == [f"/{status}?deep=1"]


def test_no_answer_in_time(hand: Program, port: int) -> None:
    told = ask(hand, f"http://127.0.0.1:{port}/slow", timeout_s=0.2)
    assert (told["status"], told["error"]) == (None, "no answer in time")


def test_nobody_there(hand: Program) -> None:
    told = ask(hand, "http://127.0.0.1:1/health")
    assert (told["status"], told["error"], told["pids"]) == (None, "refused", [])


def test_what_speaks_no_http(hand: Program, port: int) -> None:
    told = ask(hand, f"https://127.0.0.1:{port}/200")
    assert told["status"] is None
    assert told["error"]


@pytest.mark.parametrize(
    "url", ["", "localhost:80", "file:///etc/passwd", "http://", "http://x:y/"]
)
def test_what_is_no_url(hand: Program, url: str) -> None:
    hand.send(1, "url", url=url, timeout_s=1)
    assert "not a URL" in hand.of("ack", id=1)["error"]
