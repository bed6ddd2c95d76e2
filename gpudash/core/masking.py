"""Takes secrets out of command lines before they are kept or shown to others.

A record can be pasted into an issue. What looks like a secret is replaced, the name before it
stays: `--api-key=…`, `HF_TOKEN=…`, `https://user:…@host`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MASK = "…"

_NAME = re.compile(
    r"(?:^|[-_.])(?:api[-_]?key|key|token|secret|pass(?:word|wd|phrase)?|pwd|credentials?|auth"
    r"|bearer|cookie|apikey|passwords|secrets)$",
    re.IGNORECASE,
)
_PUBLIC = re.compile(r"(?:^|[-_.])(?:public|ssh|host|sort|foreign|primary|partition)[-_.]?key$")
_URL = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s/:@]*):[^\s/@]+@", re.IGNORECASE)
_TOKEN = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{8,}|sk-[A-Za-z0-9_-]{8,}|gh[pousr]_[A-Za-z0-9]{8,}|github_pat_\w{8,}"
    r"|xox[abprs]-[\w-]{8,}|AKIA[0-9A-Z]{12,}|eyJ[\w-]{8,}\.[\w-]+\.[\w-]+)"
)
_HEADER = re.compile(r"\b(authorization:\s*(?:bearer|basic)?\s*)\S+", re.IGNORECASE)
_VARIABLE = re.compile(
    r"(?:^|[-_.])(?:tokens?|secrets?|passwords?|passwd|passphrase|credentials?|apikeys?|private"
    r"|cookies?)(?:[-_.]|$)",
    re.IGNORECASE,
)
_ARMOUR = re.compile(r"-----BEGIN [A-Z ]*(?:PRIVATE|SECRET)")


def masked_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return a command line without the values that look like secrets."""
    found: list[str] = []
    is_secret = False
    for word in argv:
        name, has_value, _ = word.partition("=")
        if is_secret and not word.startswith("-"):
            found.append(MASK)
        elif has_value and _is_secret(name):
            found.append(f"{name}={MASK}")
        else:
            found.append(masked_text(word))
        is_secret = word.startswith("-") and not has_value and _is_secret(word)
    return tuple(found)


def masked_command(command: str) -> str:
    """Return a command line that was joined, without the values that look like secrets."""
    return " ".join(masked_argv(command.split(" ")))


def masked_text(text: str) -> str:
    """Return text without passwords in URLs, bearer headers and tokens of well-known shapes."""
    text = _URL.sub(rf"\1:{MASK}@", text)
    text = _HEADER.sub(rf"\1{MASK}", text)
    return _TOKEN.sub(MASK, text)


def masked_variable(name: str, value: str) -> str:
    """Return the value of an environment variable, or a mask where it looks like a secret."""
    if name == "PWD":  # a folder
        return value
    if _is_secret(name) or _VARIABLE.search(name) or _ARMOUR.search(value):
        return MASK if value else value
    return masked_text(value)


def _is_secret(name: str) -> bool:
    bare = name.lstrip("-")
    return _NAME.search(bare) is not None and _PUBLIC.search(bare.lower()) is None
