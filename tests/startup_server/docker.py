"""Stands in for docker: `up` starts a container's program and returns, `logs` and `inspect` tell.

What the container's program writes goes into the file that DOCKER_LOG names; its pid stands beside
it in FILE.pid. Nothing else of docker is here: an unknown word ends with 1.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time


def up(words: list[str], log: str) -> int:
    """Start the program of the container in a session of its own; return at once."""
    with open(log, "ab") as output:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    with open(f"{log}.pid", "w") as file:
        file.write(str(process.pid))
    print("Container server  Started")
    return 0


def logs(log: str) -> int:
    """Print what there is, with a time before each line, and what comes."""
    if not os.path.exists(log):
        print("Error: No such container", file=sys.stderr)
        return 1
    with open(log, "rb") as file:
        while True:
            line = file.readline()
            if line.endswith(b"\n"):
                os.write(1, b"2026-01-14T03:12:07.000000001Z " + line)
            elif os.getppid() == 1:
                return 0
            else:
                file.seek(-len(line), os.SEEK_CUR)
                time.sleep(0.05)


def inspect(log: str) -> int:
    """Tell whether it runs."""
    try:
        with open(f"{log}.pid") as file:
            pid = int(file.read())
    except (OSError, ValueError):
        print("Error: No such object", file=sys.stderr)
        return 1
    print(f"true {pid} 0 false")
    return 0


def main() -> int:
    log = os.environ["DOCKER_LOG"]
    match sys.argv[1]:
        case "compose" if "up" in sys.argv:
            return up(json.loads(os.environ["DOCKER_RUNS"]), log)
        case "logs":
            return logs(log)
        case "inspect":
            return inspect(log)
        case _:
            return 1


if __name__ == "__main__":
    sys.exit(main())
