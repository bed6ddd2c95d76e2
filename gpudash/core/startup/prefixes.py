"""Peel off what stands before a message: containers, launchers, ranks, engines.

Wrappers nest (docker around journald around a rank), so peeling repeats until nothing fits. What
an engine wrote about itself counts more than what was stamped on the way: its time wins.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gpudash.core.startup import logtime
from gpudash.core.startup.logtime import Stamp

_INNERMOST = frozenset({"sglang", "vllm", "tgi", "trtllm", "llama.cpp", "slog", "deepspeed"})
"""What an engine wrote itself: nothing is peeled off behind it."""
_LAYERS = 8
"""Nobody stacks more prefixes than this."""


@dataclass(slots=True, kw_only=True)
class Prefix:
    """What was said about a message before it began; filled while layers are peeled off."""

    rank: str | None = None
    """`TP3`, `0`, `pid 106022`; None where the line doesn't say."""
    stamp: Stamp | None = None
    """The engine's own time."""
    passed: Stamp | None = None
    """The time that a container or journal put before it."""
    level: str = ""
    writer: str = ""
    """Which logger: `lmdeploy`, `vllm`, `[TM]`; evidence of an engine."""


_STAMPED = re.compile(
    r"\d{4}-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)(?:Z|[+-]\d\d:?\d\d) "
    r"(?! *(?:TRACE|DEBUG|INFO|WARN|ERROR) (?:[\w-]+(?:\{[^}]*\})?: )*text_generation)"
    r"(?:(?:stdout|stderr) [FP] |[\w.-]+ [\w./@-]+\[\d+\]: )?"
)
_TGI = re.compile(
    r"\d{4}-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)Z? +(TRACE|DEBUG|INFO|WARN|ERROR) "
    r"(?:[\w-]+(?:\{[^}]*\})?: )*?(text_generation\w*)(?:::[\w:]+)?: (?:[\w/.-]+\.rs:\d+: )?"
)
_COMPOSE = re.compile(r"\[?[A-Za-z][\w.-]*\]? +\| ?")
_JOURNAL = re.compile(
    r"([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d(?:\.\d+)?) \S+ [\w./@:-]+?(?:\[\d+\])?: "
)
_REPEATED = re.compile(r"message repeated \d+ times: \[ ?(.*?)\]?$")
_MPI = re.compile(r"\[\d+,(\d+)\]<std(?:out|err)>:")
_SRUN = re.compile(r" *(\d{1,4}): (?=\S)")
_RANK = re.compile(r"\[(?:rank|default)(\d+)\]: ?|\[gpu(?:_id)?=(\d+)\] ")
_ROUTED = re.compile(r"\[\d{4,5}\] ")
_PROCESS = re.compile(r"\(([A-Za-z]\w*)(?: rank=(\d+))? pid=(\d+)(?:, ip=[\d.]+)?\) ?")
_OF_VLLM = ("EngineCore", "APIServer", "ApiServer", "VllmWorker", "MainProcess")
_WORKER_RANK = re.compile(r"_((?:DP|PP|TP|EP)\d+(?:_(?:DP|PP|PCP|TP|DCP|EP)\d+)*)")
_SGLANG = re.compile(
    r"\[\d{4}-(\d\d)-(\d\d) (\d\d:\d\d:\d\d(?:\.\d{3})?)"
    r"((?: (?:DP|PP|ATTN_CP|MOE_DP|TP|EP)\d+)*)\] "
)
_DEEPSPEED = re.compile(
    r"\[\d{4}-(\d\d)-(\d\d) (\d\d:\d\d:\d\d,\d{3})\] \[(DEBUG|INFO|WARNING|ERROR|CRITICAL)\] "
    r"(?:\[PID:\d+\] )?\[[\w.]+:\d+:\w+\] (?:\[Rank (-?\d+)\] )?"
)
_TRTLLM = re.compile(
    r"\[(\d\d)/(\d\d)/\d{4}-(\d\d:\d\d:\d\d)\] \[TRT-LLM\] (?:\[RANK (\d+)\] )?\[([IWEVF])\] "
    r"(?:\[\w+\](?=\[RANK))?(?:\[RANK (\d+)\] )?"
)
_TRTLLM_CPP = re.compile(
    r"\[TensorRT-LLM\](?:\[(INFO|WARNING|ERROR|DEBUG)\])? |"
    r"\[TRT-LLM\] \[([IWEVF])\] (?:\[\w+\](?=\[RANK))?(?:\[RANK (\d+)\] ?)?"
)
_TURBOMIND = re.compile(
    r"\[TM\]\[(INFO|WARNING|ERROR|DEBUG|FATAL)\](?:\[(\d+)\])?"
    r"(?:\[\d{4} [\d:.]+\]\[[\w./]+:\d+\])? ?"
)
_TORCH = re.compile(r"\[?([DIWEF])(\d{2,4}) (\d\d:\d\d:\d\d\.\d+) (?:\d+ )?([\w./-]+:\d+)\] ?")
_VLLM = re.compile(
    r"(?:\S+ )?(DEBUG|INFO|WARNING|ERROR|CRITICAL) (\d\d)-(\d\d) (\d\d:\d\d:\d\d) "
    r"\[?[\w./]+:\d+\] ?"
)
_LOGGING = re.compile(
    r"\d{4}-(\d\d)-(\d\d)[ T](\d\d:\d\d:\d\d[,.]\d{3}) "
    r"(?:- (?:([\w.-]+) - )?(DEBUG|INFO|WARNING|ERROR|CRITICAL) - (?:[\w.]+:\d+ - )?"
    r"|\[(\w+) *\] \S+ MODEL_LOG - )"
)
_ACCELERATE = re.compile(
    r"(\d\d)/(\d\d)/\d{4} (\d\d:\d\d:\d\d) - (DEBUG|INFO|WARNING|ERROR) - ([\w.]+) - +"
)
_LLAMA = re.compile(r"(\d+)\.(\d\d)\.(\d{3})\.(\d{3}) ([IWED]) ")
_SLOG = re.compile(r"time=\d{4}-(\d\d)-(\d\d)T(\d\d:\d\d:\d\d(?:\.\d+)?)\S* level=(\w+) ")
_SLOG_MESSAGE = re.compile(r'(?:source=\S+ )?msg=(?:"((?:[^"\\]|\\.)*)"|(\S*)) ?')


def peel(text: str) -> tuple[Prefix, str]:
    """Return what stood before the message, and the message (its indent stays)."""
    prefix = Prefix()
    for _ in range(_LAYERS):
        if not text:
            break
        rest = _peel_one(prefix, text)
        if rest is None:
            break
        text = rest
        if prefix.stamp is not None and prefix.writer in _INNERMOST:
            break
    return prefix, text


def _peel_one(prefix: Prefix, text: str) -> str | None:
    first = text[0]
    if first == "[":
        rest = _bracket(prefix, text)
        return rest if rest is not None else _compose(text)
    if first == "(":
        return _process(prefix, text)
    if "0" <= first <= "9":
        return _digit(prefix, text)
    if first == " ":
        return _srun(prefix, text)
    return _letter(prefix, text)


def _bracket(prefix: Prefix, text: str) -> str | None:
    if match := _SGLANG.match(text):
        month, day, clock, ranks = match.groups()
        stamp = logtime.dated(month, day, clock)
        _told(prefix, stamp, ranks.strip(), writer="sglang")
        return text[match.end() :]
    if match := _RANK.match(text):
        prefix.rank = match[1] or match[2]
        return text[match.end() :]
    if match := _DEEPSPEED.match(text):
        month, day, clock, level, rank = match.groups()
        stamp = logtime.dated(month, day, clock)
        known = rank if rank and not rank.startswith("-") else ""
        _told(prefix, stamp, known, level=level, writer="deepspeed")
        return text[match.end() :]
    if match := _TRTLLM.match(text):
        month, day, clock, rank, level, inner = match.groups()
        stamp = logtime.dated(month, day, clock)
        _told(prefix, stamp, rank or inner or "", level=level, writer="trtllm")
        return text[match.end() :]
    if match := _TRTLLM_CPP.match(text):
        rank = match[3] or ""
        _told(prefix, None, rank, writer="trtllm")
        return text[match.end() :]
    if match := _TURBOMIND.match(text):
        _told(prefix, None, match[2] or "", level=match[1], writer="[TM]")
        return text[match.end() :]
    if match := _TORCH.match(text):
        _torch(prefix, match)
        return text[match.end() :]
    if match := _MPI.match(text):
        prefix.rank = prefix.rank or match[1]
        return text[match.end() :]
    if match := _ROUTED.match(text):
        return text[match.end() :]
    return None


def _process(prefix: Prefix, text: str) -> str | None:
    match = _PROCESS.match(text)
    if match is None:
        return None
    name, rank, pid = match.groups()
    if rank is None and (worker := _WORKER_RANK.search(name)) and name.startswith("Worker"):
        rank = worker[1].replace("_", " ")
    if rank is None and "Worker" in name:
        rank = f"pid {pid}"
    writer = "vllm" if name.startswith(_OF_VLLM) else prefix.writer
    _told(prefix, None, rank or "", writer=writer)
    return text[match.end() :]


def _digit(prefix: Prefix, text: str) -> str | None:
    if text[4:5] == "-":
        return _dated(prefix, text)
    if match := _LLAMA.match(text):
        stamp = logtime.since_start(*match.groups()[:4])
        _told(prefix, stamp, "", level=match[5], writer="llama.cpp")
        return text[match.end() :]
    if text[2:3] == "/" and (match := _ACCELERATE.match(text)):
        month, day, clock, level, name = match.groups()
        stamp = logtime.dated(month, day, clock)
        _told(prefix, stamp, "", level=level, writer=name)
        return text[match.end() :]
    return _srun(prefix, text)


def _dated(prefix: Prefix, text: str) -> str | None:
    if match := _STAMPED.match(text):
        month, day, clock = match.groups()
        prefix.passed = logtime.dated(month, day, clock)
        return text[match.end() :]
    if match := _TGI.match(text):
        month, day, clock, level, _ = match.groups()
        stamp = logtime.dated(month, day, clock)
        _told(prefix, stamp, "", level=level, writer="tgi")
        return text[match.end() :]
    if match := _LOGGING.match(text):
        month, day, clock, name, level, other = match.groups()
        stamp = logtime.dated(month, day, clock)
        _told(prefix, stamp, "", level=level or other, writer=name or "")
        return text[match.end() :]
    return None


def _srun(prefix: Prefix, text: str) -> str | None:
    if match := _SRUN.match(text):
        prefix.rank = prefix.rank or match[1]
        return text[match.end() :]
    return None


def _letter(prefix: Prefix, text: str) -> str | None:
    if "] " in text[:120] and (match := _VLLM.match(text)):
        level, month, day, clock = match.groups()
        stamp = logtime.yearless(month, day, clock)
        _told(prefix, stamp, "", level=level, writer="vllm")
        return text[match.end() :]
    if text[1:2].isdigit() and (match := _TORCH.match(text)):
        _torch(prefix, match)
        return text[match.end() :]
    if text.startswith("time=") and (match := _SLOG.match(text)):
        month, day, clock, level = match.groups()
        stamp = logtime.dated(month, day, clock)
        rest = text[match.end() :]
        message = _SLOG_MESSAGE.match(rest)
        _told(prefix, stamp, "", level=level, writer="slog")
        if message is None:
            return rest
        said = message[1] if message[1] is not None else message[2]
        fields = rest[message.end() :]
        return f"{said}\t{fields}" if fields else said
    if text[3:4] == " " and (match := _JOURNAL.match(text)):
        month_name, day, clock = match.groups()
        prefix.passed = logtime.named_month(month_name, day, clock)
        return text[match.end() :]
    if text.startswith("message repeated") and (match := _REPEATED.match(text)):
        return match[1]
    return _compose(text)


def _compose(text: str) -> str | None:
    if "|" in text and (match := _COMPOSE.match(text)):
        return text[match.end() :]
    return None


def _torch(prefix: Prefix, match: re.Match[str]) -> None:
    level, digits, clock, source = match.groups()
    month, day = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits[:1], digits[1:])
    writer = "torchrun" if "torch/distributed/" in source else prefix.writer
    _told(prefix, logtime.yearless(month, day, clock), "", level=level, writer=writer)


def _told(
    prefix: Prefix, stamp: Stamp | None, rank: str, *, level: str = "", writer: str = ""
) -> None:
    prefix.stamp = stamp or prefix.stamp
    prefix.rank = rank or prefix.rank
    prefix.level = level or prefix.level
    prefix.writer = writer or prefix.writer
