"""From the words on the command line to how each host is reached.

Nothing is read where only this machine is meant: `check` there is measured against a bare reading.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from gpudash.core.ways import Way

TYPE_CHECKING = False  # as in sources/oneshot.py
if TYPE_CHECKING:
    from gpudash.config.hosts import HostSettings
    from gpudash.config.load import Config
    from gpudash.core.hostspec import HostSpec

LOCAL = "local"


def ways_of(words: Sequence[str], config: Config | None = None) -> tuple[Way, ...]:
    """Return how the hosts named are reached; this machine where none is. Raises UsageError."""
    if all(word == LOCAL for word in words):
        return (Way(name=LOCAL),)
    from gpudash.cli import diagnostics
    from gpudash.config.hosts import host_settings, named_hosts
    from gpudash.config.load import load

    if config is None:
        config = load(os.environ)
        for warning in config.warnings:
            diagnostics.say(f"gpudash: {warning}")
    ways = []
    said: dict[str, None] = {}
    for spec in named_hosts(words, config):
        settings = host_settings(config, spec)
        said |= dict.fromkeys((*settings.warnings, *(f"{spec.name}: {n}" for n in spec.notes)))
        ways.append(_way(spec, settings))
    for sentence in said:
        diagnostics.say(f"gpudash: {sentence}")
    return tuple(ways)


def _way(spec: HostSpec, settings: HostSettings) -> Way:
    if spec.is_local:
        return Way(name=spec.name)
    options = spec.options
    flags: list[str] = []
    if settings.user is not None:
        flags += ["-l", settings.user]
    if settings.port is not None:
        flags += ["-p", str(settings.port)]
    for path in options.identity_files:
        flags += ["-i", path]
    if options.jump:
        flags += ["-J", ",".join(options.jump)]
    for keyword, value in options.settings:
        flags += ["-o", f"{keyword}={value}"]
    return Way(
        name=spec.name,
        address="" if settings.command else spec.address,
        options=tuple(flags),
        configuration=("-F", options.config_file) if options.config_file else (),
        transport="" if settings.transport == "auto" else settings.transport,
        command=settings.command or (),
        python="" if settings.python == "python3" else settings.python,
        has_sudo=settings.sudo != "never",
        has_smi=settings.nvidia_smi,
    )
