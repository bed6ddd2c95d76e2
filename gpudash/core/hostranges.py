"""Host ranges: `node[01-32,40]`, several brackets, steps `[0-10/2]`, and folding them back.

What one part of a bracket means, and how numbers fold, is ClusterShell's RangeSet: the syntax
that Slurm's, pdsh's and ClusterShell's users know. Only that module is imported, and only for a
word with a bracket: it is three imports of the standard library and reads nothing, while
ClusterShell's NodeSet reads configuration files when it is imported. RangeSet makes every number
at once, so numbers are counted before it sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product
from math import prod

from gpudash.core.errors import UsageError
from gpudash.core.hostspec import refuse, shown
from gpudash.core.units import grouped

MAX_HOSTS = 4096
"""More hosts than a person looks at, few enough to make at once."""
_PART = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9})(?:/([0-9]{1,9}))?)?")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_NUMBERED = re.compile(r"([^\[\]]*?)([0-9]{1,9})([^0-9\[\]]*(?::[0-9]+)?)")


def expand_range(word: str) -> tuple[str, ...]:
    """Return the names that a word stands for, in the order of its parts.

    A word without a bracket, and one whose bracket holds an IPv6 address, stands for itself.
    Raises UsageError for a malformed range and for more than MAX_HOSTS names.
    """
    if not has_range(word):
        return (word,)
    pieces = _BRACKET.split(word)
    if any("[" in text or "]" in text for text in pieces[::2]):
        refuse(word, "a bracket is not closed, or closed twice", "Example: 'node[01-32,40]'")
    brackets = [text.split(",") for text in pieces[1::2]]
    count = prod(sum(_size(part, word) for part in parts) for parts in brackets)
    if count > MAX_HOSTS:
        raise too_many(count, word)
    numbers = [[number for part in parts for number in _numbers(part)] for parts in brackets]
    names = ("".join(_woven(pieces[::2], chosen)) for chosen in product(*numbers))
    return tuple(dict.fromkeys(names))


def has_range(word: str) -> bool:
    """Tell whether a word has a bracket that is no IPv6 address."""
    place = word.rpartition("@")[2].rpartition("://")[2]
    if place.startswith("[") and ":" in place.partition("]")[0]:
        return False
    return "[" in word or "]" in word


def fold(names: Iterable[str]) -> str:
    """Write names as short as ranges allow, by commas; the last number of a name folds.

    Expanding the answer yields the same names, grouped by what stands around the number.
    """
    patterns: dict[tuple[str, str], dict[str, None]] = {}
    for name in names:
        match = _NUMBERED.fullmatch(name) if name.count(":") < 2 else None
        key = (match[1], match[3]) if match else (name, "")
        numbers = patterns.setdefault(key, {})
        if match:
            numbers[match[2]] = None
    return ",".join(_folded(*key, tuple(numbers)) for key, numbers in patterns.items())


def too_many(count: int, word: str) -> UsageError:
    """Return the error for more hosts than one command takes."""
    return UsageError(
        f"{shown(word)} names {grouped(count)} hosts; at most {grouped(MAX_HOSTS)} are watched",
        hint="Name fewer, or several commands.",
    )


def _size(part: str, word: str) -> int:
    """Return how many numbers a part of a bracket has, without making them."""
    match = _PART.fullmatch(part)
    if match is None:
        what = f"{shown(part)} is no range" if part else "a bracket has an empty part"
        refuse(word, what, "Write numbers: 'node[01-32,40]' or 'node[0-10/2]'")
    first, last, step = match[1], match[2] or match[1], int(match[3] or 1)
    is_padded = any(len(number) > 1 and number.startswith("0") for number in (first, last))
    if is_padded and len(first) != len(last):
        refuse(word, f"{part} has zeros on one side only", f"{first.zfill(len(last))}-{last}")
    if int(first) > int(last):
        refuse(word, f"the range {part} runs backwards", f"{last}-{first}")
    if step == 0:
        refuse(word, f"the step of {part} is zero")
    return (int(last) - int(first)) // step + 1


def _numbers(part: str) -> tuple[str, ...]:
    from ClusterShell.RangeSet import RangeSet

    return tuple(RangeSet(part).striter())


def _woven(texts: list[str], numbers: tuple[str, ...]) -> Iterable[str]:
    yield texts[0]
    for number, text in zip(numbers, texts[1:], strict=True):
        yield number
        yield text


def _folded(before: str, after: str, numbers: tuple[str, ...]) -> str:
    if len(numbers) < 2:
        return before + "".join(numbers) + after
    from ClusterShell.RangeSet import RangeSet

    return f"{before}[{RangeSet(','.join(numbers))}]{after}"
