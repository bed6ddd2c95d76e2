"""What to call a process: the word a person would use, from its title or command line.

Titles, command lines and comm are outside text: `clean_text` removes control, bidi and
zero-width characters before anything reaches a screen.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from gpudash.core.model import Ancestor, ProcessInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A short name and what tells it from its like."""

    name: str
    detail: str = ""


_TITLE = re.compile(r"([A-Za-z_]+)::([\w:.\- ]+)")
_PYTHON = re.compile(r"(?:pypy|python)[\d.]*|pt_main_thread")
_MODULES = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "ipykernel_launcher": "notebook",
    "ipykernel": "notebook",
    "accelerate.commands.launch": "accelerate",
    "deepspeed.launcher.launch": "deepspeed",
    "mpi4py.futures.server": "trtllm",
}
_BREAKS = frozenset("\t\n\r\v\f\x85\u2028\u2029")
_MODEL_FLAGS = ("--model-path", "--model", "--model-name", "-m")
_PORT_FLAGS = ("--port",)
_TP_FLAGS = ("--tp-size", "--tensor-parallel-size", "--tp", "-tp", "--tensor-parallel")


def printable(text: str) -> str:
    """Return text as one line without what hides, turns or moves: controls, bidi, zero width.

    Nearly all text is so already and costs one look.
    """
    if text.isprintable():
        return text
    kept = (" " if char in _BREAKS else char for char in text)
    return "".join(char for char in kept if unicodedata.category(char)[0] != "C")


def printable_lines(text: str) -> str:
    """Return text of several lines, each of them printable; blank ones are left out."""
    lines = (printable(line).rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def clean_text(text: str, limit: int = 200) -> str:
    """Return outside text fit for a screen: one line, no control, format or bidi characters."""
    return printable(text[: limit * 2])[:limit].strip()


def process_label(info: ProcessInfo | Ancestor) -> Label:
    """Name one process: `sglang` + `scheduler TP0`, `train.py`, `notebook` + `ipykernel`."""
    return _label(info.comm, info.argv)


@lru_cache(maxsize=4096)
def _label(raw_comm: str, raw_argv: tuple[str, ...]) -> Label:
    """Every row of every tick asks; cleaning a long command line takes 0.1 ms."""
    argv = tuple(clean_text(word) for word in raw_argv)
    comm = clean_text(raw_comm, 32) or "?"
    if not argv or not argv[0]:
        return Label(name=comm)
    if title := _TITLE.match(argv[0]):
        return Label(name=title[1].lower(), detail=_title_detail(title[2]))
    program = posixpath.basename(argv[0].split(" ", 1)[0]).lstrip("-") or comm
    if _PYTHON.fullmatch(program):
        return _python_label(argv, comm if not _PYTHON.fullmatch(comm) else "python")
    return Label(name=program, detail=_serving_detail(argv))


def _title_detail(text: str) -> str:
    return re.sub(r"[_\s]+", " ", text).strip()


def _python_label(argv: tuple[str, ...], fallback: str) -> Label:
    rest = list(argv[1:])
    while rest:
        word = rest.pop(0)
        if word == "-m" and rest:
            return _module_label(rest[0], tuple(rest[1:]))
        if word == "-c":
            return Label(name="python", detail="-c")
        if word in ("-W", "-X") and rest:
            rest.pop(0)
        elif not word.startswith("-"):
            return _script_label(word, tuple(rest))
    return Label(name=fallback)


def _module_label(module: str, rest: tuple[str, ...]) -> Label:
    if module in _MODULES:
        name = _MODULES[module]
        detail = "ipykernel" if name == "notebook" else _inner_script(rest)
        return Label(name=name, detail=detail)
    package, _, inner = module.partition(".")
    return Label(name=package, detail=_serving_detail((module, *rest)) or inner)


def _script_label(script: str, rest: tuple[str, ...]) -> Label:
    name = posixpath.basename(script)
    if name in ("torchrun", "accelerate", "deepspeed"):
        return Label(name=name, detail=_inner_script(rest))
    if name.startswith("ipykernel_launcher"):
        return Label(name="notebook", detail="ipykernel")
    return Label(name=name, detail=_serving_detail((script, *rest)))


def _inner_script(rest: tuple[str, ...]) -> str:
    return next((posixpath.basename(word) for word in rest if word.endswith(".py")), "")


def _serving_detail(argv: tuple[str, ...]) -> str:
    model = _flag(argv, _MODEL_FLAGS)
    if not model and len(argv) > 2 and argv[1] == "serve":
        model = argv[2]
    tp = _flag(argv, _TP_FLAGS)
    port = _flag(argv, _PORT_FLAGS)
    parts = [
        posixpath.basename(model.rstrip("/")) if model else "",
        f"TP{tp}" if tp.isdigit() and tp != "1" else "",
        f":{port}" if port.isdigit() else "",
    ]
    return " ".join(part for part in parts if part)


def _flag(argv: tuple[str, ...], names: tuple[str, ...]) -> str:
    for position, word in enumerate(argv):
        name, has_value, value = word.partition("=")
        if name in names:
            if has_value:
                return value
            if position + 1 < len(argv):
                return argv[position + 1]
    return ""
