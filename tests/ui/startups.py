"""Start-ups as values, made by feeding the demo's logs to the tracker; nothing is followed."""

from __future__ import annotations

from gpudash.config.markers import load_catalog
from gpudash.core.startup import tracker
from gpudash.core.startup.following import Followed, Life, LogSource
from gpudash.core.startup.history import PastPhase, PastRun, compare, estimate
from gpudash.core.startup.logbook import Logbook, LogLine
from gpudash.core.startup.model import Arrived, Exited, Startup
from gpudash.sources.demo.jobs import memory_mib
from gpudash.sources.demo.logs import Script
from gpudash.ui.paint.glyphs import UNICODE, Glyphs
from gpudash.ui.paint.header import HeaderView
from gpudash.ui.paint.startupview import StartupsView, StartupView, Trace
from gpudash.ui.plots import chart_of

BEGAN = 40_000.0
UNIX = 1_796_040_000.0
TOTAL = 97_887 << 20
GPUS = tuple(f"GPU-{number}" for number in range(8))
COMMAND = (
    "python3 -m sglang.launch_server --model-path /models/Qwen3-235B-A22B-FP8 --tp-size 8 "
    "--mem-fraction-static 0.97 --cuda-graph-max-bs 160 --host 0.0.0.0 --port 30000"
)
EARLIER = PastRun(
    key="k",
    command=COMMAND,
    recorded_at="28 Nov 18:40",
    outcome="ready",
    phases=tuple(
        PastPhase(name=name, seconds=seconds)
        for name, seconds in (
            ("launch", 4.0), ("init_dist", 7.2), ("load_weights", 24.0), ("kv_cache", 1.0),
            ("cuda_graph", 12.4), ("load_draft", 2.2), ("cuda_graph_draft", 6.0), ("http_up", 1.2),
            ("warmup", 3.4),
        )
    ),
    memory=tuple((float(at_s), memory_mib("serve", 0, at_s * 1.35) << 20) for at_s in range(64)),
)  # fmt: skip


def wall_of(at_s: float) -> str:
    seconds = int(at_s - BEGAN) + 12 * 3600 + 12 * 60 + 50
    return f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"


def read(name: str, after_s: float) -> tuple[tracker.Tracker, tuple[LogLine, ...]]:
    state, book = tracker.Tracker(catalog=load_catalog()), Logbook()
    for one in Script(name=name, pid=51_102, unix_s=UNIX).written():
        if one.at_s <= after_s:
            state, _ = tracker.step(state, Arrived(data=one.data, at_s=BEGAN + one.at_s))
            book.feed(one.data, BEGAN + one.at_s)
    return state, book.lines()


def read_at_once(name: str, after_s: float) -> Startup:
    """All of a log in one moment, as late as it is read."""
    data = Script(name=name, pid=51_102, unix_s=UNIX).text(after_s)
    state = tracker.Tracker(catalog=load_catalog())
    state, _ = tracker.step(state, Arrived(data=data, at_s=BEGAN + after_s))
    return tracker.snapshot(state)


def followed(
    name: str,
    after_s: float,
    *,
    earlier: PastRun | None = EARLIER,
    exit_code: int | None = None,
    stall: str = "",
    link: str = "",
    life: Life | None = None,
    host: str = "gpu-a",
) -> tuple[Followed, tuple[LogLine, ...]]:
    state, lines = read(name, after_s)
    if exit_code is not None:
        state, _ = tracker.step(state, Exited(code=exit_code, at_s=BEGAN + after_s))
    startup = tracker.snapshot(state)
    now_s = BEGAN + after_s
    one = Followed(
        name="sglang Qwen3-235B-A22B-FP8" if name != "train" else "torchrun train.py",
        host=host,
        command=COMMAND if name != "train" else "torchrun --nproc-per-node=8 train.py",
        source=LogSource(kind="path", value="/var/log/sglang/a.log"),
        startup=startup,
        started_s=BEGAN,
        now_s=now_s,
        gpus=GPUS,
        memory={
            gpu: tuple(
                (float(at_s), memory_mib(name, rank, at_s) << 20)
                for at_s in range(int(after_s) + 1)
            )
            for rank, gpu in enumerate(GPUS)
        },
        life=life or Life(silent_s=1.0, read_bps=2.9e9, cpu_pct=830.0, gpu_pct=3.0, processes=9),
        stall=stall,
        eta=estimate(startup, now_s, (earlier,) if earlier else ()),
        deltas=compare(startup, earlier) if earlier else (),
        earlier=earlier,
        url="http://127.0.0.1:30000" if name != "train" else None,
        link=link,
        has_exited=exit_code is not None,
        exit_code=exit_code,
    )
    return one, lines


def view(
    name: str = "serve",
    after_s: float = 40.0,
    *,
    glyphs: Glyphs = UNICODE,
    left: str = "",
    **more: object,
) -> StartupView:
    one, lines = followed(name, after_s, **more)  # type: ignore[arg-type]
    if one.startup.failure is not None:
        left = left or "8 processes, 94.2 GiB on each of 8 GPUs, all leftovers of this run"
    return StartupView(
        followed=one,
        now_s=one.now_s,
        wall_of=wall_of,
        glyphs=glyphs,
        lines=lines,
        totals=dict.fromkeys(GPUS, TOTAL),
        indices={gpu: number for number, gpu in enumerate(GPUS)},
        left=left,
        trace=Trace(
            disk=(90, 92, 88, 91, 95, 90, 40, 42, 60, 88, 90, 91),
            cpu=(9, 9, 10, 8, 9, 12, 10, 9, 9, 9, 9, 9),
            gpu=(3,) * 12,
        ),
        chart=chart_of(glyphs),
        keys=(
            ("L", "log"), ("c", "clean"), ("y", "copy"), ("esc", "back"), ("?", "help"),
            ("q", "quit"),
        ),
    )  # fmt: skip


def screen(*shown: StartupView, opened: int | None = 0, cursor: int = 0) -> StartupsView:
    glyphs = shown[0].glyphs if shown else UNICODE
    return StartupsView(
        shown=shown,
        opened=opened if shown else None,
        cursor=cursor,
        header=HeaderView(("gpu-a",), 8, wall_of(shown[0].now_s if shown else BEGAN)),
        glyphs=glyphs,
        keys=shown[0].keys if shown else (("esc", "back"), ("?", "help"), ("q", "quit")),
    )


def late() -> StartupView:
    """All ranks but TP5 have loaded, the log is silent."""
    quiet = Life(silent_s=192.0, read_bps=0.0, cpu_pct=1.0, gpu_pct=2.0, processes=9)
    stall = "no sign of progress for 3m 12s (last: shard 62/62; disk read 0 B/s; CPU idle)"
    return view("serve", 53.0, life=quiet, stall=stall)


def failed() -> StartupView:
    return view("oom", 48.0, exit_code=1)


def several() -> StartupsView:
    return screen(
        view("serve", 40.0, host="gpu-a"),
        view("train", 60.0, host="gpu-b", earlier=None),
        view("oom", 48.0, host="gpu-c", exit_code=1),
        opened=None,
        cursor=1,
    )
