"""What the configuration says about hosts, by the name that was typed and by the one ssh resolves.

A rule of the site about a machine must not be left behind by an alias in ~/.ssh/config. ssh is not
asked where no section could say anything.
"""

from __future__ import annotations

from collections.abc import Iterable

from gpudash.config.hosts import HostSettings, host_settings, settings_as
from gpudash.config.load import Config
from gpudash.core.hostspec import HostSpec
from gpudash.core.ways import Way

Judged = tuple[HostSpec, HostSettings, str | None]
"""A host, what counts for it, and the HostName for which that was read.

None where no section speaks of hosts or ssh is not the way; empty where ssh names none.
"""


def judge(config: Config, specs: Iterable[HostSpec]) -> list[Judged]:
    """Return what counts for each host, in their order."""
    typed = [(spec, host_settings(config, spec)) for spec in specs]
    asked = [
        way_of(spec, settings)
        for spec, settings in typed
        if not spec.is_local and not settings.command
    ]
    if not asked or not any(layer.sections for layer in config.layers):
        return [(spec, settings, None) for spec, settings in typed]
    import asyncio

    names = asyncio.run(_hostnames(asked))
    found: list[Judged] = []
    for spec, settings in typed:
        hostname = names.get(spec.name)
        if hostname:
            settings = settings_as(config, spec, hostname)
        found.append((spec, settings, hostname))
    return found


async def _hostnames(ways: list[Way]) -> dict[str, str]:
    """Return the HostName of each; an empty text where ssh can't say: then it can't connect."""
    import asyncio

    from gpudash.sources.base import SourceError
    from gpudash.sources.ssh.resolve import Destination, resolve

    async def one(way: Way) -> str:
        to = Destination(address=way.address, options=way.options, configuration=way.configuration)
        try:
            return (await resolve(to)).hostname.lower()
        except SourceError:
            return ""

    answers = await asyncio.gather(*map(one, ways))
    return {way.name: answer for way, answer in zip(ways, answers, strict=True)}


def way_of(spec: HostSpec, settings: HostSettings, judged_as: str | None = None) -> Way:
    """Return how a host is reached; `judged_as` is the HostName that its settings are for."""
    where = settings.origins["sudo"]
    said = where if settings.sudo != "clean" and where != "default" else ""
    if spec.is_local:
        return Way(
            name=spec.name,
            has_sudo=settings.sudo != "never",
            sudo_said=said,
            gpus=settings.gpus,
            is_readonly=settings.readonly,
        )
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
        sudo_said=said,
        has_smi=settings.nvidia_smi,
        gpus=settings.gpus,
        is_readonly=settings.readonly,
        judged_as=judged_as,
    )
