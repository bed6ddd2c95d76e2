"""Sentences about processes: ranks that hang or die, NCCL, ports."""

from __future__ import annotations

from gpudash.core.startup.model import Number
from gpudash.core.startup.reading import Hit, Run
from gpudash.core.startup.wording import Told, clipped, rank_words, signal_name, when

_OOM_KILLER = ("oom-kill", "oom_kill", "by the OOM killer", "Out of memory: Killed", "OOMKilled")
_TITLES = {"vllm": "vLLM", "llama.cpp": "llama.cpp", "ollama": "Ollama"}


def port_in_use(run: Run, hit: Hit) -> Told:
    """Say which port, and how late it was found."""
    found = hit.groups
    if store := found.get("store") or found.get("store2"):
        return Told(
            message=f"port {store} of the process group (TCPStore) is already in use: another run "
            "is still there, or wants the same master port",
            details={"port": int(store)},
        )
    if "EADDRINUSE" in hit.text and "port" not in found:
        return Told(message="the master port of the process group is already in use")
    port = found.get("port") or found.get("port2") or found.get("p2")
    host = found.get("host") or found.get("host2")
    has_loaded = run.last("load_weights") is not None
    binds_early = run.engine in _TITLES and not has_loaded
    port = port or run.arguments.get("port")
    details: dict[str, Number | None] = {"port": int(port) if port and port.isdigit() else None}
    if port is None:
        what = "the API port (8000 unless --port)" if run.engine == "vllm" else "the port"
    else:
        what = f"port {port}" + (f" on {host}" if host else "")
    message = f"{what} is already in use"
    if has_loaded and hit.now_s is not None:
        message += f" (found only after {hit.now_s:.0f} s of loading)"
    elif binds_early and run.engine is not None:
        message += f"; {_TITLES[run.engine]} binds before loading, so nothing was loaded"
    return Told(message=message, details=details)


def nccl_timeout(_run: Run, hit: Hit) -> Told:
    """Say which collective did not finish and on which rank."""
    found = hit.groups
    elements = f" ({int(found['numel']):,} elements)" if "numel" in found else ""
    seconds = int(found["ms"]) // 1000
    rank = found.get("rank") or hit.rank
    on = f" on {rank_words(rank)}" if rank else ""
    return Told(
        message=f"NCCL watchdog: {found['op']} #{found['seq']}{elements} did not finish within "
        f"{seconds} s{on}: a rank is missing (look for a rank that logged nothing or died before)",
        rank=rank,
        details={
            **_numbered(rank),
            "seq": int(found["seq"]),
            "op": found["op"],
            "timeout_s": seconds,
        },
    )


def nccl(_run: Run, hit: Hit) -> Told:
    """Quote NCCL's own warning where there is one."""
    said = hit.groups.get("msg") or hit.groups.get("name") or hit.text
    return Told(message=f"NCCL{when(hit.phase)}: {clipped(said)}")


def rank_desync(run: Run, hit: Hit) -> Told:
    """Say who waits; the cause is with those who don't."""
    if "ms" in hit.groups:
        ranks = hit.groups["rank"].strip(", ")
        many = "ranks" if "," in ranks else "rank"
        seconds = int(hit.groups["ms"]) // 1000
        return Told(
            message=f"{many} {ranks} did not reach the barrier within {seconds} s"
            f"{when(hit.phase)}: look at {many} {ranks}"
        )
    done = hit.groups.get("done", "")
    late = _laggards(run)
    where = f"look at {late}" if late else "look at the other ranks and nodes"
    return Told(
        message=f"TP rank {done} has loaded its weights, others have not: {where}",
        rank=f"TP{done}" if done else "",
    )


def _laggards(run: Run) -> str:
    at = run.last("load_weights")
    return ", ".join(run.phases[at].laggards) if at is not None else ""


def rendezvous(_run: Run, hit: Hit) -> Told:
    """Say that a node never joined."""
    joined, world = hit.groups.get("joined"), hit.groups.get("world")
    so_far = f": {joined} of {world} joined" if joined and world else ""
    return Told(
        message=f"the process group did not come together{so_far}: a node or rank is missing"
    )


def watchdog(_run: Run, hit: Hit) -> Told:
    """Say that the engine's own watchdog ended it."""
    return Told(
        message=f"the scheduler made no step for {hit.groups['s']} s (its own watchdog)"
        f"{when(hit.phase)}"
    )


def killed(run: Run, hit: Hit) -> Told:
    """`Rank 3 scheduler was SIGKILLed (exit code -9) while loading weights (19/62): …`."""
    found = hit.groups
    rank = found.get("rank") or found.get("worker") or _said_dead(run, hit) or None
    code = found.get("code") or found.get("code2") or found.get("code3") or found.get("code4")
    during = when(hit.phase) + (f" ({hit.bar})" if hit.bar else "")
    details = {**_numbered(rank or ""), "exit_code": int(code) if code else None}
    if any(words in hit.text for words in _OOM_KILLER):
        pid = f" (pid {found['pid']})" if "pid" in found else ""
        return Told(message=f"the host OOM killer ended a process{pid}{during}", details=details)
    exit_words = f" (exit code {code or found.get('exit') or ''})".replace(" (exit code )", "")
    guess = "most likely the host OOM killer or the cgroup memory limit"
    if run.engine == "sglang" and rank is not None:
        who = f"Rank {rank} scheduler"
    elif rank is not None:
        who = f"Rank {rank}"
    elif hit.rank:
        who = rank_words(hit.rank)
    else:
        who = "a process"
    if "died unexpectedly" in hit.text and code is None:
        return Told(message=f"{who} died{during} without a word: {guess}", rank=rank or "")
    return Told(
        message=f"{who} was SIGKILLed{exit_words}{during}: {guess}",
        rank=rank or "",
        details=details,
    )


def crashed(_run: Run, hit: Hit) -> Told:
    """Say which signal ended a rank."""
    found = hit.groups
    told = found.get("code") or found.get("code2") or found.get("code3") or found.get("code4")
    number = int(told) if told else -int(found.get("signal", "0"))
    during = when(hit.phase) + (f" ({hit.bar})" if hit.bar else "")
    rank = found.get("rank") or hit.rank
    who = rank_words(rank) if rank else "a process"
    return Told(
        message=f"{who} was killed by {signal_name(number) or 'a signal'}{during}; "
        "the log names no cause",
        rank=rank,
        details={"exit_code": number},
    )


def warmup_failed(run: Run, hit: Hit) -> Told:
    """Say what the server's request to itself met; a proxy in between is the classic."""
    later = (h for h in run.hits if h.line > hit.line and h.is_exception)
    said = next((f"{h.groups['exc']}: {h.groups['msg']}" for h in later), "")
    said = said or hit.groups.get("text", "").partition("Traceback")[0].strip()
    lowered = said.lower()
    is_proxied = any(word in lowered for word in ("proxy", "squid", "[503]", "[403]", "[407]"))
    guess = "; most likely a proxy stands between the server and itself" if is_proxied else ""
    quoted = f": {clipped(said)}" if said else ""
    return Told(message=f"the server's warm-up request to itself failed{quoted}{guess}")


def _said_dead(run: Run, hit: Hit) -> str:
    """Old SGLang tells the rank on one line and its exit code on the next."""
    before = [h for h in run.hits if h.line < hit.line and "rank" in h.groups]
    return before[-1].groups["rank"] if before and hit.line - before[-1].line <= 3 else ""


def _numbered(rank: str) -> dict[str, Number | None]:
    """Give a rank as the number that it is."""
    return {"rank": int(rank)} if rank.isdigit() else {}
