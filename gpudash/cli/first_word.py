"""What the first word is when it is no command: a host, or a command with a typing error.

A word within two edits of a command is a typing error, unless it is a host that the configuration
or ~/.ssh/config knows. Files are read only for such a word.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpudash.core.errors import GpudashError, UsageError
from gpudash.core.nearest import nearest

_NO_COMMAND = frozenset("@:[],.!%/ ")
"""What only a host has."""


def refuse_typo(words: Sequence[str], commands: Sequence[str]) -> None:
    """Raise UsageError where the first word was meant to be a command."""
    first = words[0] if words else ""
    if not first or first == "local" or first[0] == "-" or _NO_COMMAND & set(first):
        return
    if first == "ssh" and len(words) > 1:
        if not is_known_host(first):
            raise UsageError(
                "a pasted ssh line is one word",
                hint=f"Quote it: gpudash 'ssh {' '.join(words[1:])}'",
            )
        return
    guess = nearest(first, commands)
    if guess and not is_known_host(first):
        raise UsageError(
            f"unknown command {first}",
            hint=f"Did you mean: gpudash {guess}? A host of that name: gpudash -- {first}",
        )


def is_plain_word(word: str) -> bool:
    """Tell whether a word could be a command, and is no host that anybody has named."""
    return word != "local" and not _NO_COMMAND & set(word) and not is_known_host(word)


def is_known_host(name: str) -> bool:
    """Tell whether a name stands in the configuration or is an alias of ~/.ssh/config."""
    from gpudash.config.ssh_aliases import ssh_aliases

    return name in ssh_aliases() or name in _configured()


def _configured() -> frozenset[str]:
    """A configuration that is wrong knows no hosts: the typing error is said first."""
    from gpudash.config.hosts import known_names
    from gpudash.config.load import load

    try:
        return known_names(load())
    except GpudashError:
        return frozenset()
