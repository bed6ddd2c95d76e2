"""When is it READY? The log, the health URL and the process together; one alone can lie.

An old server still on the port answers 200; a second node's stand-in always does; a log can be
ready while nothing answers, because host, port or proxy are other ones.
"""

from __future__ import annotations

from gpudash.core.startup.reading import Run

OK = 200


def judge(run: Run, *, expects_url: bool) -> tuple[str, tuple[str, ...]]:
    """Return what READY stands on (`log`, `url`, `log+url` or nothing), and what disagrees."""
    by_log = run.ready_line is not None
    if not expects_url and not run.was_probed:
        return ("log" if by_log else ""), ()
    if run.health == OK:
        if by_log:
            return "log+url", ()
        if run.engine is None:
            return "url", ()
        if run.arguments.get("node_rank", "0") != "0":
            return "", ("this is not node 0: its URL answers 200 whatever happens",)
        return "", ("the URL answers 200 but the log is not ready: another server on that port?",)
    if by_log and run.was_probed:
        answer = "nothing answers" if run.health is None else f"the URL answers {run.health}"
        return "", (f"ready by its log, but {answer}: another host, port or proxy?",)
    return "", ()
