"""A stand-in for nvidia-smi: prints what a JSON file beside it says, read anew for each tick.

Keys: `gpus` (list of field → cell), `processes` (text), `document` (text), `refuse` (fields that
this driver does not know), `fail` (text and exit code of every call), `loop` (`good`, `die`,
`garbage`, `hang`, `events`), `hang` (every call hangs).
"""

import json
import os
import signal
import sys
import time

STATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "smi.json")


def state():
    with open(STATE) as file:
        return json.load(file)


def row(gpu, fields):
    return ", ".join(str(gpu.get(field, "[N/A]")) for field in fields) + "\n"


def say(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def loop(fields, every_s):
    for number in range(100000):
        now = state()
        mode = now.get("loop", "good")
        if mode == "die" and number:
            sys.exit(now.get("exit", 1))
        if mode == "hang" and number:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(600)
        if mode == "garbage":
            say("stray\n" * 60)
        else:
            if mode == "events" and number == 1:
                say("GPU 00000000:01:00.0: Detected Critical Xid Error\n")
            skipped = now.get("skip_in_loop")
            for place, gpu in enumerate(now["gpus"]):
                if place != skipped:
                    say(row(gpu, fields))
        time.sleep(every_s)


def main(arguments):
    with open(os.path.join(os.path.dirname(STATE), "pids"), "a") as file:
        file.write(f"{os.getpid()}\n")
    now = state()
    if now.get("hang"):
        time.sleep(600)
    if "fail" in now:
        text, code = now["fail"]
        say(text)
        sys.exit(code)
    if arguments[0] == "-q":
        say(now.get("document", ""))
        return
    fields = arguments[0].split("=", 1)[1].split(",")
    if arguments[0].startswith("--query-compute-apps"):
        say(now.get("processes", ""))
        return
    for field in now.get("refuse", []):
        if field in fields:
            say(f'Field "{field}" is not a valid field to query.\n\n')
            sys.exit(2)
    if "-lms" in arguments:
        loop(fields, int(arguments[-1]) / 1000)
    for gpu in now["gpus"]:
        say(row(gpu, fields))


if __name__ == "__main__":
    main(sys.argv[1:])
