"""`gpudash explain`: the newest record, one by its name, all of them, or none."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from gpudash.core.record import Line, begun, encode, ended
from tests.cli.running import Runner

OLDER = "20261129T120642Z-wait-3f2a"
NEWER = "20261129T121500Z-check-00ff"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"XDG_STATE_HOME": str(tmp_path / "state")}


def write(env: dict[str, str], run: str, *lines: Line, tail: bytes = b"") -> None:
    folder = Path(env["XDG_STATE_HOME"]) / "gpudash" / "records"
    folder.mkdir(parents=True, exist_ok=True)
    utc = "2026-11-29T12:06:42.123Z"
    data = b"".join(encode(line, run=run, number=n, utc=utc) for n, line in enumerate(lines))
    (folder / f"{run}.jsonl").write_bytes(data + tail)


@pytest.fixture
def two(env: dict[str, str]) -> None:
    settings: Any = {
        "version": "0.1.0",
        "user": "ana",
        "machine": "gpu-a",
        "hosts": ("local",),
        "is_simulated": False,
    }
    write(env, OLDER, begun(("gpudash", "wait"), **settings), ended(5, "timed out: no proof"))
    broken = Line(kind="break", says="GPU 3: +512 MiB", host="local")
    write(env, NEWER, begun(("gpudash", "check"), **settings), broken, tail=b'{"half')


def test_there_is_none(gpudash_command: Runner, env: dict[str, str]) -> None:
    done = gpudash_command(None, "explain", **env)
    assert (done.code, done.out) == (2, "")
    assert "there is no record" in done.err
    done = gpudash_command(None, "explain", "--list", **env)
    assert (done.code, done.out.startswith("No record in")) == (0, True)


@pytest.mark.usefixtures("two")
def test_an_empty_record_does_not_hide_the_last_good_one(
    gpudash_command: Runner, env: dict[str, str]
) -> None:
    empty = "20261129T130000Z-wait-0000"
    write(env, empty)
    done = gpudash_command(None, "explain", **env)
    assert (done.code, done.out[: len(NEWER)]) == (0, NEWER)
    assert f"{empty} has not even its first line" in done.err
    done = gpudash_command(None, "explain", "", **env)
    assert (done.code, done.out) == (2, "")


@pytest.mark.usefixtures("two")
def test_the_newest_and_one_by_name(gpudash_command: Runner, env: dict[str, str]) -> None:
    done = gpudash_command(None, "explain", **env)
    assert done.code == 0
    assert done.out.startswith(f"{NEWER}  2026-11-29 12:06:42 UTC\n")
    assert "GPU 3: +512 MiB" in done.out
    assert "cut off" in done.err
    for name in (OLDER, "20261129T1206", "3f2a"):
        done = gpudash_command(None, "explain", name, **env)
        assert (done.code, done.err) == (0, "")
        assert "→ timed out: no proof (exit 5)" in done.out
    for name in ("2026", "1999", "../x"):
        done = gpudash_command(None, "explain", name, **env)
        assert (done.code, done.out) == (2, "")


@pytest.mark.usefixtures("two")
def test_formats(gpudash_command: Runner, env: dict[str, str]) -> None:
    document = json.loads(gpudash_command(None, "explain", "--format", "json", **env).out)
    assert (document["schema"], document["run"]) == ("gpudash.explain/1", NEWER)
    assert (document["ended"], document["torn"], len(document["lines"])) == (False, True, 2)
    lines = gpudash_command(None, "explain", "--format", "jsonl", **env).out.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["begin", "break"]
    markdown = gpudash_command(None, "explain", "--format", "markdown", **env).out
    assert markdown.startswith(f"### gpudash record `{NEWER}`\n")
    assert gpudash_command(None, "explain", "--format", "csv", **env).code == 2
    table = gpudash_command(None, "explain", "--format", "table", **env).out
    assert table == gpudash_command(None, "explain", "--format", "text", **env).out


@pytest.mark.usefixtures("two")
def test_the_list(gpudash_command: Runner, env: dict[str, str]) -> None:
    done = gpudash_command(None, "explain", "--list", "--format", "csv", **env)
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["run"] for row in rows] == [NEWER, OLDER]
    assert [row["exit_code"] for row in rows] == ["", "5"]
    table = gpudash_command(None, "explain", "--list", **env).out
    assert table.splitlines()[0].split() == ["RUN", "OUTCOME", "COMMAND"]
    assert gpudash_command(None, "explain", "--list", OLDER, **env).code == 2
