"""`gpudash follow --log FILE --once`: formats, exit codes, what stands where."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.running import Runner, command
from tests.cli.test_check import check_golden

FOLDER = Path(__file__).parents[1] / "data" / "startup-logs"
NAMES = sorted(path.stem for path in FOLDER.glob("*.log"))
KEYS = {"schema", "engine", "phases", "ready", "ready_line", "failure", "numbers"}
ENDINGS = {"table": "txt", "csv": "csv", "json": "json", "jsonl": "jsonl"}
SHOWN = {
    "follow-ready": "vllm_0.11.0_v1_tp8_ansi_crlf_ok",
    "follow-failed": "sglang_0.5.9_tp8_oom_load_weights",
    "follow-later": "train_nccl_watchdog_timeout",
}


def log(name: str) -> str:
    return str(FOLDER / f"{name}.log")


@pytest.mark.parametrize("name", NAMES)
def test_exit_code_and_keys(gpudash_command: Runner, name: str) -> None:
    expected = json.loads((FOLDER / f"{name}.expected.json").read_text())
    done = gpudash_command(None, "follow", "--log", log(name), "--once", "--format", "json")
    told = json.loads(done.out)
    wanted = 7 if expected["failure"] else 0 if expected["ready"] else 4
    assert (done.code, done.err) == (wanted, "")
    assert told.keys() >= KEYS
    for key in ("engine", "ready", "ready_line"):
        assert told[key] == expected[key]
    if expected["failure"] is None:
        assert told["failure"] is None
    else:
        for key in ("kind", "line", "message"):
            assert told["failure"][key] == expected["failure"][key]


@pytest.mark.parametrize("wanted", ENDINGS)
@pytest.mark.parametrize("name", SHOWN)
def test_golden(gpudash_command: Runner, name: str, wanted: str) -> None:
    done = gpudash_command(None, "follow", "--log", log(SHOWN[name]), "--once", "--format", wanted)
    check_golden(f"{name}.{ENDINGS[wanted]}", done.out)


def test_csv_has_a_row_a_phase(gpudash_command: Runner) -> None:
    name = "trtllm_1.1_gpt_oss_ok"
    done = gpudash_command(None, "follow", "--log", log(name), "--once", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["phase"] for row in rows].count("kv_cache") == 2
    assert {row["unit"] for row in rows} == {"", "modules", "batch sizes"}


def test_stdin(gpudash_command: Runner) -> None:
    data = Path(log("sglang_0.4.3_dsv3_tp8_ok")).read_bytes()
    done = subprocess.run(
        command("follow", "--log", "-", "--once", "--format", "jsonl"),
        env=gpudash_command.env(None),
        input=data,
        capture_output=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ready_line"] == 99


def test_an_earlier_run_is_mentioned(gpudash_command: Runner, tmp_path: Path) -> None:
    data = Path(log("sglang_0.4.3_dsv3_tp8_ok")).read_bytes()
    both = tmp_path / "both.log"
    both.write_bytes(data + data)
    done = gpudash_command(None, "follow", "--log", str(both), "--once")
    assert done.code == 0
    assert "1 earlier start-up in this log; told is the last one, from line 101" in done.err


def test_the_cause_stands_last(gpudash_command: Runner) -> None:
    done = gpudash_command(None, "follow", "--log", log("vllm_0.9.2_hf_gated_repo"), "--once")
    assert done.out.splitlines()[-1].startswith("line 6: Hugging Face 401: ")


def test_an_empty_log_is_neither(gpudash_command: Runner, tmp_path: Path) -> None:
    empty = tmp_path / "empty.log"
    empty.touch()
    done = gpudash_command(None, "follow", "--log", str(empty), "--once")
    assert done.code == 4
    assert "neither ready nor failed" in done.out


def test_secrets_and_escapes_stay_in_the_log(gpudash_command: Runner, tmp_path: Path) -> None:
    path = tmp_path / "secret.log"
    path.write_text(
        "[2026-03-03 03:50:11] server_args=ServerArgs(api_key='sk-abcdefghijkl0123')\n"
        "\x1b]0;title\x07HF_TOKEN=hf_abcdefghijklmnopqrstu \u202egnp\n"
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n'
        "ValueError: bad token hf_abcdefghijklmnopqrstu\n"
    )
    for wanted in ENDINGS:
        done = gpudash_command(None, "follow", "--log", str(path), "--once", "--format", wanted)
        assert done.code == 7
        assert "hf_abc" not in done.out
        assert "sk-abc" not in done.out
        assert "\u202e" not in done.out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ((), "--log"),
        (("--log", "/no/such.log", "--once"), "/no/such.log: No such file"),
        (("--log", "/", "--once"), "Is a directory"),
        (("--log", "/dev/null", "--once", "--format", "jsn"), "Did you mean json?"),
        (("--log", "/dev/null", "--onse"), "--onse"),
    ],
)
def test_usage(gpudash_command: Runner, words: tuple[str, ...], hint: str) -> None:
    done = gpudash_command(None, "follow", *words)
    assert (done.code, done.out) == (2, "")
    assert hint in done.err
