"""The host names that the user's ~/.ssh/config spells out, for completion and for typing errors.

No more than a look: `Host` lines without wildcards, through `Include`, within limits. What an
alias means is asked of ssh itself when somebody connects. What can't be read has no aliases.
"""

from __future__ import annotations

import glob
import os
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpudash.config.files import open_at_once
from gpudash.core.errors import UsageError
from gpudash.core.hostspec import parse_destination

MAX_DEPTH = 16
"""Includes within includes, as OpenSSH has it."""
MAX_FILES = 256
MAX_BYTES = 1 << 20
MAX_ALIASES = 16384


def ssh_aliases(path: str | None = None) -> tuple[str, ...]:
    """Return the aliases in the order of the file, each once; by default of ~/.ssh/config."""
    reading = _Reading(home=os.path.expanduser("~"))
    reading.file(path or os.path.join(reading.home, ".ssh", "config"), 0)
    return tuple(reading.aliases)


@dataclass(slots=True)
class _Reading:
    """The aliases found so far."""

    home: str
    aliases: dict[str, None] = field(default_factory=dict)
    files: int = 0

    def file(self, path: str, depth: int) -> None:
        """Read one file and what it includes."""
        self.files += 1
        if depth > MAX_DEPTH or self.files > MAX_FILES:
            return
        for keyword, words in _lines(path):
            if keyword == "host":
                self._add(words)
            elif keyword == "include":
                for word in words:
                    self._include(word, depth)

    def _include(self, word: str, depth: int) -> None:
        """Follow one Include: `~` is the home, a relative path begins in ~/.ssh."""
        if word.startswith("~/"):
            word = os.path.join(self.home, word[2:])
        pattern = os.path.join(self.home, ".ssh", word)
        for found in sorted(glob.iglob(pattern))[:MAX_FILES]:
            self.file(found, depth + 1)

    def _add(self, words: list[str]) -> None:
        for word in words:
            if len(self.aliases) < MAX_ALIASES and _is_alias(word):
                self.aliases[word] = None


def _is_alias(word: str) -> bool:
    """Tell whether a pattern is one name, and one that a HOST may be."""
    try:
        return parse_destination(word).address == word
    except UsageError:
        return False


def _lines(path: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (keyword in lower case, words) of each line that can be read."""
    for line in _text(path).splitlines():
        keyword, words = _split(line)
        if keyword:
            yield keyword, words


def _split(line: str) -> tuple[str, list[str]]:
    """Split `Keyword words` or `Keyword=words`."""
    line = line.strip()
    if not line or line.startswith("#"):
        return "", []
    keyword = line.replace("=", " ", 1).split(None, 1)
    if len(keyword) < 2 or not keyword[0].isalpha():
        return "", []
    try:
        return keyword[0].lower(), shlex.split(keyword[1], comments=True)
    except ValueError:
        return "", []


def _text(path: str) -> str:
    try:
        with open(path, "rb", opener=open_at_once) as file:
            return (file.read(MAX_BYTES) or b"").decode("utf-8", "replace")
    except (OSError, ValueError):
        return ""
