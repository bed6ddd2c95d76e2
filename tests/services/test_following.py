"""One start-up followed over time: cut links, restarts, health, signs, its end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gpudash.config.markers import load_catalog
from gpudash.core.events import Ack, Event, LogTold, UrlTold
from gpudash.core.startup.following import Followed, FollowSpec, LogSource
from gpudash.core.startup.loglines import LogPiece, TreeSigns, UrlAnswer
from gpudash.core.startup.model import Outcome
from gpudash.services.startup.following import Following
from gpudash.services.startup.past import Past
from gpudash.sources.base import SourceError
from tests.services.virtual import VirtualClock, down
from tests.services.virtual import run as virtual

FOLDER = Path(__file__).parents[1] / "data" / "startup-logs"
LOG = LogSource(kind="path", value="/var/log/srv.log")


def log(name: str) -> bytes:
    return (FOLDER / f"{name}.log").read_bytes()


@dataclass
class FakeHost:
    """A host whose hand serves a log from memory, and dies when a test says so."""

    data: bytes = b""
    inode: int = 7
    url: UrlAnswer = field(
        default_factory=lambda: UrlAnswer(status=None, error="refused", pids=frozenset())
    )
    managers: list[str] = field(default_factory=list)
    is_down: bool = False
    has_ended: bool = False
    signs: TreeSigns | None = None
    sent: list[tuple[str, Mapping[str, object]]] = field(default_factory=list)
    hands: list[FakeHand] = field(default_factory=list)
    refusal: str = ""
    cut_after: int = 0
    """Each hand is cut off after so many pieces; 0: never."""
    name: str = "gpu-a"
    is_simulated: bool = False

    async def open_sampler(self, interval_s: float) -> FakeHand:
        raise down(f"no sampler every {interval_s} s")

    async def open_hand(self) -> FakeHand:
        await asyncio.sleep(0)
        if self.is_down:
            raise down("unreachable")
        hand = FakeHand(self)
        self.hands.append(hand)
        return hand

    def asked(self, do: str) -> list[Mapping[str, object]]:
        return [arguments for what, arguments in self.sent if what == do]


class FakeHand:
    """Passes on what the host's log has, 50 bytes every 10 ms."""

    def __init__(self, host: FakeHost) -> None:
        self._host = host
        self._tail = 0
        self._at = 0
        self._answers: list[Event] = []
        self._has_told_end = False
        self._has_opened = False
        self._is_live = False
        self._pieces = 0

    async def read(self) -> list[Event]:
        host = self._host
        while True:
            is_idle = not self._answers and self._at >= len(host.data)
            await asyncio.sleep(0.1 if is_idle else 0.01)
            if host.is_down:
                raise down("cut")
            if self._answers:
                answers, self._answers = self._answers, []
                return answers
            if not self._tail:
                continue
            if not self._has_opened:
                self._has_opened = True
                return [self._piece(note="opened")]
            if host.cut_after and self._pieces >= host.cut_after:
                raise down("cut")
            if self._at < len(host.data):
                self._pieces += 1
                piece = host.data[self._at : self._at + 50]
                told = self._piece(piece)
                self._at += len(piece)
                return [told]
            if not self._is_live:
                self._is_live = True
                return [self._piece(note="live")]
            if host.signs is not None:
                signs, host.signs = host.signs, None
                return [self._piece(signs=signs)]
            if host.has_ended and not self._has_told_end:
                self._has_told_end = True
                return [self._piece(note="ended")]

    def _piece(self, data: bytes = b"", note: str = "", signs: TreeSigns | None = None) -> Event:
        inode = self._host.inode
        piece = LogPiece(data=data, offset=self._at, inode=inode, note=note, signs=signs)
        return LogTold(id=self._tail, told=piece)

    def send(self, command_id: int, do: str, arguments: Mapping[str, object]) -> None:
        host = self._host
        host.sent.append((do, dict(arguments)))
        if do == "tail" and host.refusal:
            self._answers.append(Ack(id=command_id, is_ok=False, error=host.refusal))
        elif do == "tail":
            self._tail = command_id
            start = arguments["from"]
            self._at = start if isinstance(start, int) else 0
            self._has_opened = isinstance(start, int)
            self._has_told_end = False
            self._answers.append(Ack(id=command_id, is_ok=True))
        elif do == "url":
            self._answers.append(UrlTold(id=command_id, answer=host.url))
        elif do == "managers":
            row = (0, 0, host.managers[0] if host.managers else "")
            host.managers = host.managers[1:] or host.managers
            self._answers.append(Ack(id=command_id, is_ok=True, answers=(row,)))

    async def close(self) -> None:
        self._tail = 0


def following(host: FakeHost, source: LogSource = LOG, **more: object) -> Following:
    past = more.pop("history", None)
    assert past is None or isinstance(past, Past)
    spec = FollowSpec(host=host.name, source=source, **more)  # type: ignore[arg-type]
    return Following(host, spec, clock=VirtualClock(), catalog=load_catalog(), history=past)


def run(test: Callable[[], object]) -> None:
    virtual(test())  # type: ignore[arg-type]


def test_to_ready() -> None:
    async def test() -> None:
        host = FakeHost(data=log("vllm_0.8.5_v1_tp8_ok"))
        done = await following(host).run()
        assert (done.startup.outcome, done.ending) == (Outcome.READY, "it is ready")
        assert done.startup.phases[0].name == "launch"
        assert host.asked("tail")[0]["of"] == {"path": "/var/log/srv.log"}
        anchors = host.asked("tail")[0]["anchors"]
        assert isinstance(anchors, list)
        assert len(json.dumps(anchors)) < 16_000

    run(test)


def test_a_failure_is_waited_for_until_nothing_more_comes() -> None:
    async def test() -> None:
        host = FakeHost(data=log("sglang_0.5.9_graph_capture_oom"))
        done = await following(host).run()
        expected = json.loads((FOLDER / "sglang_0.5.9_graph_capture_oom.expected.json").read_text())
        assert done.startup.failure is not None
        assert done.startup.failure.line == expected["failure"]["line"]
        assert done.ending == "it has failed"

    run(test)


@pytest.mark.parametrize("pieces", [5, 33, 100])
def test_a_cut_link_loses_nothing_and_doubles_nothing(pieces: int) -> None:
    async def test() -> None:
        data = log("sglang_0.5.8_kimi_k2_tp8_eagle3_ok")
        host = FakeHost(data=data, cut_after=pieces)
        done = await following(host).run()
        assert done.startup.outcome is Outcome.READY
        whole = await following(FakeHost(data=data)).run()
        assert done.startup.ready_line == whole.startup.ready_line
        assert done.startup.line == whole.startup.line
        assert done.startup.numbers == whole.startup.numbers
        assert len(host.hands) > len(data) // 50 // pieces
        offsets = [told["from"] for told in host.asked("tail")[1:]]
        assert all(isinstance(offset, int) for offset in offsets)

    run(test)


def test_a_cut_is_shown_and_ends_with_the_next_word() -> None:
    async def test() -> None:
        host = FakeHost(data=b"one\n")
        task = following(host)
        running = asyncio.create_task(task.run())
        await asyncio.sleep(1)
        host.is_down = True
        await asyncio.sleep(2)
        assert task.followed.link == "It is unreachable."
        host.is_down = False
        host.data += b"two\n"
        await asyncio.sleep(30)
        assert (task.followed.link, task.followed.startup.line) == ("", 2)
        await task.close()
        await running

    run(test)


def test_a_host_that_is_never_reached() -> None:
    async def test() -> None:
        with pytest.raises(SourceError, match="unreachable"):
            await following(FakeHost(is_down=True)).run()

    run(test)


def test_a_log_that_is_none() -> None:
    async def test() -> None:
        with pytest.raises(SourceError, match="is a folder") as raised:
            await following(FakeHost(refusal="/var/log is a folder")).run()
        assert raised.value.exit_code == 2

    run(test)


def test_the_log_ends_with_neither() -> None:
    async def test() -> None:
        host = FakeHost(data=b"hello\n", has_ended=True)
        done = await following(host).run()
        assert done.startup.outcome is Outcome.STARTING
        assert done.ending == "its log has ended, neither ready nor failed"

    run(test)


def signs(at_s: float, *, is_gone: bool = False, read: int = 0, cpu_s: float = 0.0) -> TreeSigns:
    pids = frozenset() if is_gone else frozenset({10, 11})
    return TreeSigns(
        pid=10,
        is_gone=is_gone,
        at_s=at_s,
        read_bytes=read,
        cpu_s=cpu_s,
        pids=pids,
        age_s=at_s,
        argv=("python3", "-m", "sglang.launch_server", "--api-key", "s3cret-s3cret"),
    )


def test_a_process_that_ends_in_silence() -> None:
    async def test() -> None:
        host = FakeHost(data=b"loading\n", signs=signs(1.0, is_gone=True))
        done = await following(host).run()
        assert done.has_exited
        assert done.exit_code is None
        assert done.ending == "its process has ended, neither ready nor failed"

    run(test)


def test_an_exit_code_says_more() -> None:
    async def test() -> None:
        host = FakeHost(data=b"loading\n", signs=signs(1.0, is_gone=True))
        task = following(host)
        asyncio.get_running_loop().call_later(0.5, task.exited, 137)
        done = await task.run()
        assert done.startup.failure is not None
        assert done.startup.failure.kind == "host_oom_or_sigkill"
        assert (done.exit_code, done.startup.outcome) == (137, Outcome.FAILED)

    run(test)


def test_signs_of_life_name_it_and_are_rates() -> None:
    async def test() -> None:
        host = FakeHost(data=b"loading\n", signs=signs(5.0))
        task = following(host)
        running = asyncio.create_task(task.run())
        await asyncio.sleep(1.0)
        host.signs = signs(7.0, read=200_000_000, cpu_s=1.0)
        await asyncio.sleep(1.0)
        now = task.followed
        assert (now.name, now.pid, now.life.processes) == ("launch_server", 10, 2)
        assert "s3cret" not in now.command
        assert now.life.read_bps == pytest.approx(1e8)
        assert now.life.cpu_pct == pytest.approx(50)
        await task.close()
        await running

    run(test)


READY_VLLM = log("vllm_0.8.5_v1_tp8_ok")


def test_with_a_url_the_log_alone_is_not_enough() -> None:
    async def test() -> None:
        host = FakeHost(data=READY_VLLM)
        task = following(host, url="http://127.0.0.1:9000/health")
        running = asyncio.create_task(task.run())
        await asyncio.sleep(60)
        assert not running.done()
        assert task.followed.health == "127.0.0.1:9000/health refused"
        assert any("nothing answers" in note for note in task.followed.startup.notes)
        host.url = UrlAnswer(status=200, error="", pids=frozenset())
        done = await running
        assert done.startup.ready_basis == "log+url"
        assert host.asked("url")[0] == {"url": "http://127.0.0.1:9000/health", "timeout_s": 3.0}

    run(test)


def test_a_port_that_is_another_process_s_counts_for_nothing() -> None:
    async def test() -> None:
        answer = UrlAnswer(status=200, error="", pids=frozenset({99}))
        host = FakeHost(data=READY_VLLM, url=answer, signs=signs(1.0))
        host.data = b""
        task = following(host, url="http://127.0.0.1:9000/health")
        running = asyncio.create_task(task.run())
        await asyncio.sleep(2)
        host.data = READY_VLLM
        await asyncio.sleep(30)
        assert not running.done()
        assert "another process's: pid 99" in task.followed.health
        await task.close()
        await running

    run(test)


def test_nobody_is_asked_before_it_listens_or_after_it_is_ready() -> None:
    async def test() -> None:
        at = READY_VLLM.index(b"Starting vLLM API server")
        host = FakeHost(data=READY_VLLM[:at])
        task = following(host)
        running = asyncio.create_task(task.run())
        await asyncio.sleep(120)
        assert host.asked("url") == []
        host.data = READY_VLLM
        await running
        assert task.followed.startup.outcome is Outcome.READY

    run(test)


def test_a_restart_is_a_new_run_and_the_old_one_is_kept() -> None:
    async def test() -> None:
        first = log("sglang_0.5.9_graph_capture_oom")
        second = log("sglang_0.5.8_kimi_k2_tp8_eagle3_ok")
        done = await following(FakeHost(data=first + second)).run()
        assert done.startup.outcome is Outcome.READY
        assert done.previous is not None
        assert done.previous.outcome is Outcome.FAILED

    run(test)


def test_ready_then_failed() -> None:
    async def test() -> None:
        host = FakeHost(data=READY_VLLM)
        task = following(host, stays=True)
        running = asyncio.create_task(task.run())
        await asyncio.sleep(30)
        assert task.followed.startup.outcome is Outcome.READY
        assert not running.done()
        task.exited(-9)
        host.signs = signs(50.0, is_gone=True)
        done = await running
        assert done.startup.outcome is Outcome.FAILED
        assert done.startup.ready_basis

    run(test)


def test_our_own_questions_are_no_activity() -> None:
    async def test() -> None:
        host = FakeHost(data=READY_VLLM[: READY_VLLM.index(b"Starting to load model")])
        task = following(host)
        running = asyncio.create_task(task.run())
        await asyncio.sleep(60)
        before = task.followed
        host.data += b'INFO:     127.0.0.1:5 - "GET /health HTTP/1.1" 503 Service Unavailable\n' * 3
        await asyncio.sleep(60)
        after = task.followed
        assert after.life.silent_s >= before.life.silent_s + 59
        assert not any("/health" in line for line in after.startup.recent)
        assert "no sign of progress" in after.stall
        await task.close()
        await running

    run(test)


CONTAINER = LogSource(kind="container", value="srv")


def test_a_container_that_was_killed() -> None:
    async def test() -> None:
        host = FakeHost(data=b"loading\n", has_ended=True)
        host.managers = ["true 4711 0 false", "false 0 137 true"]
        done = await following(host, CONTAINER).run()
        assert host.asked("managers")[0]["ask"][0][:2] == ["docker", "inspect"]  # type: ignore[index]
        assert (done.startup.outcome, done.exit_code) == (Outcome.FAILED, 137)
        assert host.asked("tail")[0]["pid"] == 4711

    run(test)


def test_a_pod_that_was_restarted_tells_the_cause_of_its_last_run() -> None:
    async def test() -> None:
        pod = LogSource(kind="pod", value="prod/srv-0")
        host = FakeHost(data=b"loading\n", has_ended=True)
        host.managers = ["Running 0:::", "Running 1::137:"]
        done = await following(host, pod).run()
        tails = host.asked("tail")
        assert "previous" not in tails[0]
        assert tails[1]["previous"] is True
        assert (done.startup.outcome, done.exit_code) == (Outcome.FAILED, 137)

    run(test)


def test_what_was_learned_is_kept_for_the_next_one(tmp_path: Path) -> None:
    async def test() -> None:
        past = Past(tmp_path / "state" / "startups.jsonl")
        data = log("sglang_0.5.8_kimi_k2_tp8_eagle3_ok")
        await following(FakeHost(data=data), history=past).run()
        (kept,) = past.load()
        assert kept.outcome == "ready"
        host = FakeHost(data=data[: len(data) // 2])
        task = following(host, history=past)
        running = asyncio.create_task(task.run())
        await asyncio.sleep(20)
        now: Followed = task.followed
        assert now.earlier == kept
        assert now.eta is not None
        assert now.eta.basis == "earlier runs"
        assert now.deltas
        await task.close()
        await running
        assert len(past.load()) == 1
        assert past.path.stat().st_mode & 0o077 == 0

    run(test)
