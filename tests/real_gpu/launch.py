"""Launch on real GPUs: `python -m tests.real_gpu.launch OUT_DIR`.

A torchrun script on all GPUs, behind a proof of zero, followed to its first step; the same with
gpudash killed after READY; the twin that runs out of memory, diagnosed; a launch on GPUs that are
held, refused before anything started. Everything that is started here ends by itself or is ended.
Leaves JSON. A stand-in `torch` rehearses it on the fake driver.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.real_gpu.clean import is_alive
from tests.real_gpu.prove import COMMAND, Rank
from tests.real_gpu.see import SMI_FORMAT, output, waited_for_zero

STEPS = str(Path(__file__).with_name("steps.py"))
LIMIT_S = 240.0


def torchrun(mode: str, steps: int) -> list[str]:
    """Return the command that starts the script on every GPU."""
    count = len(gpus())
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return [*launcher, f"--nproc_per_node={count}", STEPS, mode, str(steps)]


def gpus() -> list[str]:
    """Return one line a GPU."""
    return output("nvidia-smi", "--query-gpu=index", SMI_FORMAT)[0].split()


def ran(out: Path, command: list[str], *flags: str) -> dict[str, Any]:
    """Run `gpudash run` to its end."""
    began = time.monotonic()
    done = subprocess.run(
        [*COMMAND, "run", "--format", "json", "--cwd", str(out), *flags, "--", *command],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    return {
        "exit_code": done.returncode,
        "seconds": round(time.monotonic() - began, 2),
        "document": json.loads(done.stdout) if done.stdout.strip() else None,
        "stderr": done.stderr.splitlines(),
    }


def ended(pid: int | None, limit_s: float = 120.0) -> float | None:
    """Wait until a process has ended; return how long that took."""
    began = time.monotonic()
    while pid is not None and time.monotonic() - began < limit_s:
        if not is_alive(pid):
            return round(time.monotonic() - began, 2)
        time.sleep(0.2)
    return None


def tail(document: dict[str, Any] | None, lines: int = 30) -> list[str]:
    """Return the end of the log."""
    if not document or not document["log"]:
        return []
    return Path(document["log"]).read_text(errors="replace").splitlines()[-lines:]


def trained(out: Path) -> dict[str, Any]:
    """Follow a run to its first step; it goes on and ends by itself."""
    found = ran(out, torchrun("train", 60), "--zero", "--hold", "5s")
    document = found["document"]
    pid = document["pid"] if document else None
    return {
        **found,
        "runs_after_gpudash": pid is not None and is_alive(pid),
        "ended_after_s": ended(pid),
        "log": tail(document),
        "explain": output(*COMMAND, "explain")[0].splitlines(),
    }


def killed(out: Path) -> dict[str, Any]:
    """Kill gpudash after READY: the run logs on."""
    log = out / "killed.log"
    process = subprocess.Popen(
        [*COMMAND, "run", "--stay", "--log", str(log), "--", *torchrun("train", 100)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    said, pid = [], None
    for line in process.stderr:
        said.append(line.rstrip())
        if "started" in line and "pid " in line:
            pid = int(line.split("pid ")[1].split(";")[0])
        if "READY" in line or "FAILED" in line:
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = log.stat().st_size
    time.sleep(3.0)
    return {
        "stderr": said,
        "pid": pid,
        "bytes_more_after_3_s": log.stat().st_size - before,
        "alive": pid is not None and is_alive(pid),
        "ended_after_s": ended(pid),
        "log": log.read_text(errors="replace").splitlines()[-5:],
    }


def out_of_memory(out: Path) -> dict[str, Any]:
    """Follow a run that takes more than there is."""
    found = ran(out, torchrun("oom", 1))
    document = found["document"]
    return {
        **found,
        "ended_after_s": ended(document["pid"] if document else None),
        "log": tail(document, 80),
    }


def held(out: Path) -> dict[str, Any]:
    """Launch where a GPU is held: too few at zero, nothing started."""
    rank = Rank("plain", 512)
    try:
        return ran(out, torchrun("train", 3))
    finally:
        rank.end()


def main() -> None:
    """Run it all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--scene", action="append", help="only these")
    plan = parser.parse_args()
    plan.out.mkdir(parents=True, exist_ok=True)
    if platform.release().startswith("4.4.0"):
        sys.exit("this kernel is an emulation: nothing measured here would count")
    os.environ.setdefault("XDG_STATE_HOME", str(plan.out / "state"))
    report: dict[str, Any] = {"kernel": platform.release(), "gpus": len(gpus())}
    for name, play in (
        ("trained", trained),
        ("killed", killed),
        ("out_of_memory", out_of_memory),
        ("held", held),
    ):
        if plan.scene and name not in plan.scene:
            continue
        try:
            report[name] = play(plan.out)
            report[name]["zero_after_s"] = round(waited_for_zero(60), 2)
        except Exception as error:
            report[name] = {"failed": f"{type(error).__name__}: {error}"}
        print(name, json.dumps(report[name])[:2500], flush=True)
        (plan.out / "launch.json").write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
