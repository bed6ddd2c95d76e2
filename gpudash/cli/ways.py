"""From the words on the command line to how each host is reached.

Nothing is read where only this machine is meant and nobody wrote a configuration: `check` there
is measured against a bare reading.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gpudash.core.ways import Way

TYPE_CHECKING = False  # as in sources/oneshot.py
if TYPE_CHECKING:
    from gpudash.config.load import Config

LOCAL = "local"


def ways_of(words: Sequence[str], config: Config | None = None) -> tuple[Way, ...]:
    """Return how the hosts named are reached; this machine where none is. Raises UsageError."""
    is_here = all(word == LOCAL for word in words)
    if is_here and config is None and not _has_configuration():
        return (Way(name=LOCAL),)
    from gpudash.cli import diagnostics
    from gpudash.config.load import load
    from gpudash.core.errors import ConfigError

    if config is None:
        try:
            config = load(os.environ)
        except ConfigError as error:
            if not is_here:
                raise
            # Without a word of the file nothing goes by sudo here: that is the tightest.
            diagnostics.say(f"gpudash: {error.message}")
            return (Way(name=LOCAL),)
        for warning in config.warnings:
            diagnostics.say(f"gpudash: {warning}")
    if is_here and not any(layer.sections for layer in config.layers):
        return (Way(name=LOCAL),)
    from gpudash.cli.rules import judge, way_of
    from gpudash.config.hosts import named_hosts

    words = (LOCAL,) if is_here else words
    ways = []
    said: dict[str, None] = {}
    for spec, settings, hostname in judge(config, named_hosts(words, config)):
        said |= dict.fromkeys((*settings.warnings, *(f"{spec.name}: {n}" for n in spec.notes)))
        ways.append(way_of(spec, settings, hostname))
    for sentence in said:
        diagnostics.say(f"gpudash: {sentence}")
    return tuple(ways)


def _has_configuration() -> bool:
    from gpudash.config.folders import SITE_FILE, user_file

    return any(map(os.path.lexists, (SITE_FILE, user_file(os.environ))))
