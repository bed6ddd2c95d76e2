"""Signals beside the log: health URLs, managers' answers, signs of life, places, names."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudash.config.markers import load_catalog
from gpudash.core.model import Host
from gpudash.core.scope import parse_scope
from gpudash.core.startup import health, life
from gpudash.core.startup.ending import LAST_WORDS_S, LINGER_S, LONGEST_WORDS_S, Standing, ending_of
from gpudash.core.startup.following import FollowSpec, LogSource
from gpudash.core.startup.health import Health
from gpudash.core.startup.loglines import LogPiece, TreeSigns, UrlAnswer, told_of
from gpudash.core.startup.managed import managed_of, question_of
from gpudash.core.startup.model import Arrived, ProbeHealth, Startup
from gpudash.core.startup.naming import command_words, history_key, name_of
from gpudash.core.startup.place import Place, anchors_of, tail_arguments, taken
from gpudash.core.startup.tracker import Tracker, snapshot, step
from gpudash.core.startup.watched import watched_of
from tests.core.making import GIB, HOST, hello, host_of, process, reading, roster, sample, told

CATALOG = load_catalog()
SGLANG = b"[2026-01-14 03:22:08] server_args=ServerArgs(model_path='m', port=31000, tp_size=8)\n"
READY = b"[2026-01-14 03:24:08] The server is fired up and ready to roll!\n"


def startup(data: bytes = SGLANG, at_s: float = 10.0) -> Startup:
    state, _ = step(Tracker(catalog=CATALOG), Arrived(data=data, at_s=at_s))
    return snapshot(state)


def answer(status: int | None, *pids: int, error: str = "") -> UrlAnswer:
    return UrlAnswer(status=status, error=error, pids=frozenset(pids))


LISTENING = health.listening(Health(), ProbeHealth(paths=("/health", "/ready"), port=31000))


# -- health ------------------------------------------------------------------------------------


def test_sglang_is_asked_cheaply_first_and_patiently() -> None:
    question = health.due(LISTENING, startup(), 0.0)
    assert question == health.Question(url="http://127.0.0.1:31000/ready", timeout_s=25.0)
    asked = health.asked(LISTENING, 0.0)
    assert health.due(asked, startup(), 4.9) is None
    assert health.due(asked, startup(), 5.0) is not None


def test_a_path_that_is_not_there_is_not_asked_again() -> None:
    url = "http://127.0.0.1:31000/ready"
    after, status, counts = health.answered(LISTENING, url, answer(404), None)
    assert (status, counts) == (None, False)
    assert health.url_of(after, startup()) == "http://127.0.0.1:31000/health"


def test_nobody_is_asked_before_the_server_listens() -> None:
    assert health.due(Health(named="http://127.0.0.1:1/health"), startup(), 0.0) is None
    assert health.due(Health(named="http://127.0.0.1:1/health"), startup(b"?\n"), 0.0) is not None


def test_nobody_is_asked_once_it_is_ready() -> None:
    assert health.due(LISTENING, startup(SGLANG + READY), 0.0) is None


@pytest.mark.parametrize("kind", ["container", "podman", "pod", "stdin", "argv"])
def test_a_port_in_a_container_is_not_guessed(kind: str) -> None:
    assert health.due(replace(LISTENING, kind=kind), startup(), 0.0) is None


@pytest.mark.parametrize(
    ("status", "counts"), [(200, True), (503, True), (401, False), (403, False), (None, False)]
)
def test_what_an_answer_that_nobody_asked_for_counts(status: int | None, counts: bool) -> None:
    url = "http://127.0.0.1:31000/health"
    told = answer(status, error="" if status else "refused")
    assert health.answered(LISTENING, url, told, None)[1:] == (status, counts)


def test_a_named_url_counts_whatever_it_answers() -> None:
    named = replace(LISTENING, named="http://127.0.0.1:9/x")
    after, status, counts = health.answered(
        named, "http://127.0.0.1:9/x", answer(None, error="refused"), None
    )
    assert (status, counts, after.words) == (None, True, "127.0.0.1:9/x refused")


def test_an_old_server_on_the_port_is_no_health() -> None:
    url = "http://127.0.0.1:31000/health"
    own = frozenset({7, 8})
    after, status, counts = health.answered(LISTENING, url, answer(200, 99), own)
    assert (status, counts) == (None, False)
    assert after.words == "127.0.0.1:31000/health is another process's: pid 99"
    assert health.answered(LISTENING, url, answer(200, 8), own)[1:] == (200, True)
    # Who owns it can't be seen: that says nothing.
    assert health.answered(LISTENING, url, answer(200), own)[1:] == (200, True)


def test_a_restart_does_not_listen_yet() -> None:
    assert not health.restarted(LISTENING).is_listening


# -- managers ----------------------------------------------------------------------------------

CONTAINER = LogSource(kind="container", value="srv")
UNIT = LogSource(kind="unit", value="srv.service")
FAILED = "ActiveState=failed\nMainPID=0\n"
POD = LogSource(kind="pod", value="prod/srv-0")


@pytest.mark.parametrize(
    ("source", "text", "running", "pid", "code"),
    [
        (CONTAINER, "true 4711 0 false\n", True, 4711, None),
        (CONTAINER, "false 0 137 true\n", False, None, 137),
        (CONTAINER, "false 0 0 false\n", False, None, 0),
        (UNIT, "ActiveState=active\nMainPID=12\nExecMainStatus=0\n", True, 12, None),
        (UNIT, f"{FAILED}ExecMainCode=1\nExecMainStatus=3\n", False, None, 3),
        (UNIT, f"{FAILED}ExecMainCode=2\nExecMainStatus=9\n", False, None, -9),
        (UNIT, "ActiveState=activating\nMainPID=0\nExecMainCode=0\n", True, None, None),
        (POD, "Running 0:::", True, None, None),
        (POD, "Running 2::137:", True, None, None),
        (POD, "Failed 0:1::Error", False, None, 1),
        (POD, "Pending", True, None, None),
    ],
)
def test_what_managers_say(
    source: LogSource, text: str, running: bool, pid: int | None, code: int | None
) -> None:
    found = managed_of(source, 0, text)
    assert found is not None
    assert (found.is_running, found.pid, found.code) == (running, pid, code)


@pytest.mark.parametrize("source", [CONTAINER, UNIT, POD])
@pytest.mark.parametrize("text", ["", "\n", "no such thing"])
def test_what_says_nothing_is_nothing(source: LogSource, text: str) -> None:
    assert managed_of(source, 1, "true 4711 0 false") is None
    assert managed_of(source, None, "") is None
    assert managed_of(source, 0, text) is None


def test_restarts_of_a_pod_are_counted() -> None:
    found = managed_of(POD, 0, "Running 3::137: 1::1:")
    assert found is not None
    assert (found.restarts, found.last_code) == (4, 137)


def test_questions_are_commands_without_a_shell() -> None:
    assert question_of(LogSource(kind="path", value="/x")) is None
    pod = question_of(POD)
    assert pod is not None
    assert pod[:6] == ["kubectl", "get", "pod", "--namespace", "prod", "srv-0"]


# -- signs of life -----------------------------------------------------------------------------


def looked(*rows: tuple[float, int | None, float], pid: int = 7) -> life.Vital:
    vital = life.Vital()
    for at_s, read, cpu_s in rows:
        signs = TreeSigns(
            pid=pid,
            is_gone=False,
            at_s=at_s,
            read_bytes=read,
            cpu_s=cpu_s,
            pids=frozenset({pid}),
            age_s=None,
            argv=(),
        )
        vital = life.looked(vital, signs)
    return vital


def test_rates_are_over_ten_seconds() -> None:
    rows = [(float(at), at * 1000, at * 0.5) for at in range(40)]
    vital = looked(*rows)
    assert vital.looks[-1].at_s - vital.looks[0].at_s == pytest.approx(10, abs=1)
    seen = life.life_of(vital, 0.0)
    assert seen.read_bps == pytest.approx(1000)
    assert seen.cpu_pct == pytest.approx(50)


def test_what_can_not_be_read_is_not_zero() -> None:
    seen = life.life_of(looked((0.0, None, 0.0), (1.0, None, 1.0)), 0.0)
    assert seen.read_bps is None
    assert seen.cpu_pct == pytest.approx(100)


def test_another_root_begins_anew() -> None:
    vital = looked((5.0, 10, 1.0))
    other = looked((6.0, 900, 9.0), pid=8)
    assert life.looked(vital, other.looks[0]).looks == other.looks


def test_curves_stay_bounded() -> None:
    vital = life.Vital()
    for second in range(5000):
        vital = life.measured(vital, {"GPU-1": second}, None, at_s=float(second), began_s=0.0)
    curve = vital.memory["GPU-1"]
    assert len(curve) <= life.CURVE_POINTS
    assert (curve[0], curve[-1]) == ((0.0, 0), (4999.0, 4999))
    assert list(curve) == sorted(curve)


def test_silence_with_reads_is_work() -> None:
    vital = looked((0.0, 0, 0.0), (10.0, 3 * 10**10, 0.1))
    loading = SGLANG + b"[2026-01-14 03:22:20 TP0] Load weight begin. avail mem=1.00 GB\n"
    seen = life.stalled(startup(loading), replace(vital, active_s=10.0), 310.0)
    assert seen is not None
    assert seen.text == "log silent for 5m 00s, reading 3.0 GB/s"
    idle = looked((0.0, 0, 0.0), (10.0, 0, 0.0))
    still = life.stalled(startup(loading), replace(idle, active_s=10.0), 310.0)
    assert still is not None
    assert still.text.startswith("no sign of progress for 5m 00s (disk read 0 B/s; CPU idle")


# -- which GPUs it is on -----------------------------------------------------------------------

SPEC = FollowSpec(host=HOST, source=LogSource(kind="path", value="/x"))


def eight(*holding: tuple[int, int]) -> Host:
    """Return a host with eight GPUs on which these pids hold 1 GiB."""
    pids = dict(holding)
    readings = [
        reading(GIB, process(pids[index]), utilisation_pct=index)
        if index in pids
        else reading(0, utilisation_pct=0)
        for index in range(8)
    ]
    return host_of(told(hello(*roster(8)), sample(1, *readings)))


def test_its_gpus_are_those_that_its_processes_hold() -> None:
    host = eight((1, 70), (2, 71), (5, 99))
    found = watched_of(host, SPEC, (), frozenset({70, 71}))
    uuids = [gpu.info.uuid for gpu in host.gpus]
    assert found.uuids == (uuids[1], uuids[2])
    assert found.used_bytes == {uuids[1]: GIB, uuids[2]: GIB}
    assert found.busy_pct == 2
    assert watched_of(host, SPEC, (), frozenset()).uuids == ()


def test_a_gpu_that_was_held_stays_watched_when_its_rank_is_dead() -> None:
    host = eight()
    known = (host.gpus[1].info.uuid or "",)
    found = watched_of(host, SPEC, known, frozenset())
    assert (found.uuids, found.used_bytes) == (known, {known[0]: 0})


def test_named_gpus_are_watched_and_no_others() -> None:
    host = eight((1, 70))
    spec = replace(SPEC, scope=parse_scope("3,5"))
    found = watched_of(host, spec, (), frozenset({70}))
    assert found.uuids == (host.gpus[3].info.uuid, host.gpus[5].info.uuid)


# -- places, names, ends -----------------------------------------------------------------------


def piece(offset: int, data: bytes, inode: int | None = 1, note: str = "") -> LogPiece:
    return LogPiece(data=data, offset=offset, inode=inode, note=note)


def test_what_comes_twice_is_taken_once() -> None:
    at, data = taken(Place(), piece(0, b"hello"))
    assert (at.offset, data) == (5, b"hello")
    at, data = taken(at, piece(3, b"lo world"))
    assert (at.offset, data) == (11, b" world")
    at, data = taken(at, piece(2, b"llo"))
    assert (at.offset, data) == (11, b"")
    at, data = taken(at, piece(0, b"", note="truncated"))
    at, data = taken(at, piece(0, b"again"))
    assert (at.offset, data) == (5, b"again")


def test_where_a_log_is_taken_up() -> None:
    spec = FollowSpec(host="a", source=LogSource(kind="pid", value="7"))
    fresh = tail_arguments(spec, Place(), CATALOG, 7)
    assert (fresh["of"], fresh["from"], fresh["pid"]) == ({"pid": 7}, "anchor", 7)
    later = Place(inode=3, offset=9, head=(4, 5), path="/x.log")
    again = tail_arguments(spec, later, CATALOG, 7)
    assert (again["of"], again["from"]) == ({"path": "/x.log"}, 9)
    assert (again["inode"], again["head"]) == (3, [4, 5])
    assert "anchors" not in again


def test_anchors_are_words_with_patterns() -> None:
    anchors = anchors_of(CATALOG)
    assert ["server_args=ServerArgs(", r"server_args=ServerArgs\(", True] in anchors
    assert all(word for word, _, _ in anchors)
    assert any(not is_anchor for _, _, is_anchor in anchors)


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (("python3", "-m", "sglang.launch_server", "--port", "1"), "launch_server"),
        (("/usr/bin/python3", "train.py"), "train.py"),
        (("vllm", "serve", "x"), "vllm"),
        (("torchrun", "--nproc-per-node", "8", "train.py"), "train.py"),
        ((), "srv.log"),
    ],
)
def test_what_it_is_called(argv: tuple[str, ...], name: str) -> None:
    spec = FollowSpec(host="a", source=LogSource(kind="path", value="/var/log/srv.log"))
    assert name_of(spec, argv) == name


def test_secrets_of_a_command_are_masked() -> None:
    assert "hunter2" not in command_words(["srv", "--api-key", "hunter2hunter2"])


def test_comparable_means_the_same_kind() -> None:
    one = history_key(startup(), host="a", command="", gpu="H200")
    assert one == history_key(startup(), host="a", command="", gpu="H200")
    assert one != history_key(startup(), host="b", command="", gpu="H200")
    assert history_key(startup(b"?\n"), host="a", command="", gpu="") == ""


def standing(**changes: object) -> Standing:
    base = Standing(
        startup=startup(),
        stays=False,
        has_ended=False,
        is_gone=False,
        gone_s=None,
        is_read=True,
        settled_s=0.0,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def test_when_it_is_over() -> None:
    ready = startup(SGLANG + READY)
    assert ending_of(standing()) == ""
    assert ending_of(standing(startup=ready)) == "it is ready"
    assert ending_of(standing(startup=ready, stays=True)) == ""
    assert ending_of(standing(is_gone=True, gone_s=LAST_WORDS_S / 2)) == ""
    gone = standing(is_gone=True, gone_s=LAST_WORDS_S, settled_s=LAST_WORDS_S)
    assert "its process has ended" in ending_of(gone)
    assert ending_of(replace(gone, settled_s=LAST_WORDS_S / 2)) == "", "its log is still read"
    assert ending_of(replace(gone, is_read=False)) == "", "nor was it read to its end"
    assert "has ended" in ending_of(replace(gone, is_read=False, gone_s=LONGEST_WORDS_S))
    assert "its log has ended" in ending_of(standing(has_ended=True))


def test_a_failure_lingers() -> None:
    broken = SGLANG + b"[2026-01-14 03:22:20 TP0] [Errno 98] Address already in use\n"
    failed = startup(broken)
    assert failed.failure is not None
    assert ending_of(standing(startup=failed, settled_s=LINGER_S / 2)) == ""
    assert ending_of(standing(startup=failed, settled_s=LINGER_S)) == "it has failed"


@pytest.mark.parametrize(
    "line",
    [
        {"t": "log", "id": 1},
        {"t": "log", "id": 1, "offset": 0, "data": "not base64!"},
        {"t": "log", "id": 1, "offset": -1},
        {"t": "log", "id": 1, "offset": 0, "head": [1]},
        {"t": "log", "id": 1, "offset": 0, "cursor": [None]},
        {"t": "log", "id": 1, "offset": 0, "signs": {"pid": "x"}},
        {"t": "url", "id": 1, "status": "200"},
        {"t": "url", "id": None},
    ],
)
def test_what_is_no_line_of_a_log(line: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        told_of(line)
