"""From the text of a filter to its tokens, each with its place; no text is refused here."""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple


class Kind(Enum):
    """What a token is."""

    WORD = "word"
    QUOTED = "quoted"
    OPERATOR = "operator"
    OPEN = "("
    CLOSE = ")"
    NOT = "!"
    UNCLOSED = "unclosed"
    """A quote without its end."""
    END = "end"


class Token(NamedTuple):
    """One token."""

    kind: Kind
    text: str
    """Without quotes and escapes."""
    at: int
    """Column of its first character, from 0."""
    length: int


_TOKEN = re.compile(
    r"""(?P<blank>\s+)
    |(?P<operator><=|>=|!=|<|>|=)
    |(?P<open>\()|(?P<close>\))
    |(?P<quoted>"(?:\\.|[^"\\])*")
    |(?P<unclosed>"(?:\\.|[^"\\])*\\?$)
    |(?P<not>!)
    |(?P<word>(?:[^\s()"=<>!]|!(?!=))+)""",
    re.VERBOSE | re.DOTALL,
)
_KINDS = {
    "operator": Kind.OPERATOR,
    "open": Kind.OPEN,
    "close": Kind.CLOSE,
    "quoted": Kind.QUOTED,
    "unclosed": Kind.UNCLOSED,
    "not": Kind.NOT,
    "word": Kind.WORD,
}


def tokens_of(text: str) -> tuple[Token, ...]:
    """Return the tokens of a text, the end as the last one."""
    found = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        if kind == "blank":
            continue
        said = match[0]
        if kind == "quoted":
            said = re.sub(r"\\(.)", r"\1", said[1:-1], flags=re.DOTALL)
        found.append(Token(_KINDS[kind], said, match.start(), len(match[0])))
    return (*found, Token(Kind.END, "", len(text), 0))


def quoted(text: str) -> str:
    """Write a text so that it reads as one word again."""
    is_plain = re.fullmatch(r"(?:[^\s()\"=<>!])(?:[^\s()\"=<>!]|!(?!=))*", text)
    if is_plain and text.lower() not in ("and", "or", "not") and not text.endswith("!"):
        return text
    inner = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inner}"'
