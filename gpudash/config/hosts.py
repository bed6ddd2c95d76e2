"""What the configuration says about one host that was named.

A section means a host by the name that was typed, by its address, and by whatever else the caller
knows it to be called (the HostName that ssh resolves, this machine's own name for `local`): a rule
of the site is not left behind by another way of writing the same host.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gpudash.config.load import Config
from gpudash.config.schema import HOST_KEYS, Setting
from gpudash.core.errors import ConfigError, UsageError
from gpudash.core.hostnames import expand_hosts, group_members
from gpudash.core.hostspec import HostSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class HostSettings:
    """Everything that counts for one host."""

    transport: str
    """`auto`, `asyncssh` or `openssh`; `local` for this machine; nothing where `command` is set."""
    command: tuple[str, ...] | None
    """What to run here to get a shell there; None is ssh."""
    user: str | None
    """From the command line, else the configuration; None leaves it to ssh."""
    port: int | None
    """From the command line, else the configuration; None leaves it to ssh."""
    sudo: str
    """`never`, `see` or `clean`."""
    readonly: bool
    gpus: int | None
    """How many GPUs there are; None where nobody says."""
    python: str
    nvidia_smi: bool
    """Whether nvidia-smi may stand in where the probe can't read the driver."""
    origins: Mapping[str, str]
    """Where each value comes from: `PATH:LINE`, a variable, `command line` or `default`."""
    warnings: tuple[str, ...] = ()
    """What was ignored because it would loosen the site's rules."""

    @property
    def reached_by(self) -> str:
        """Return the transport in one word, `command` included."""
        return "command" if self.command else self.transport


def host_settings(config: Config, spec: HostSpec, aliases: Iterable[str] = ()) -> HostSettings:
    """Return what counts for a host; `aliases` are further names of it."""
    values, warnings = config.host_values((*host_names(spec), *aliases))
    said: dict[str, Setting] = {name: value.value for name, value in values.items()}
    origins = {name: value.where for name, value in values.items()}
    for name, typed in (("user", spec.user), ("port", spec.port)):
        if typed is not None:
            said[name], origins[name] = typed, "command line"
    if spec.is_local:
        # A glob means remote hosts: nothing stands between gpudash and its own machine.
        said |= {"transport": "local", "command": None, "user": None, "port": None}
    # The schema checked every type when the file was read.
    return HostSettings(**said, origins=origins, warnings=warnings)  # type: ignore[arg-type]


_OF_THE_MACHINE = ("sudo", "readonly", "gpus", "python", "nvidia_smi")
"""What a section says of a machine, whatever it is called; the rest is about the way there."""


def settings_as(config: Config, spec: HostSpec, hostname: str) -> HostSettings:
    """Return what counts for a host that ssh resolves to `hostname`.

    A rule that holds for the one name or the other holds; of two values, the tighter.
    """
    typed = host_settings(config, spec)
    resolved = host_settings(config, replace(spec, name=hostname, address=hostname))
    changes = {
        name: getattr(resolved, name)
        for name in _OF_THE_MACHINE
        if typed.origins[name] == "default"
        or HOST_KEYS[name].loosens(getattr(typed, name), getattr(resolved, name))
    }
    origins = {**typed.origins, **{name: resolved.origins[name] for name in changes}}
    together = host_settings(config, spec, (hostname,)).warnings
    warnings = tuple(dict.fromkeys((*typed.warnings, *resolved.warnings, *together)))
    return replace(typed, **changes, origins=origins, warnings=warnings)


def host_names(spec: HostSpec) -> tuple[str, ...]:
    """Return the names under which sections may mean a host."""
    if not spec.is_local:
        return (spec.name, spec.address)
    from socket import gethostname

    whole = gethostname()
    return (spec.name, whole, whole.partition(".")[0])


def named_hosts(words: Iterable[str], config: Config) -> tuple[HostSpec, ...]:
    """Return the hosts that words name, by the configuration's groups. Raises UsageError."""
    return expand_hosts(words, config.groups)


def groups_of(config: Config) -> dict[str, tuple[HostSpec, ...]]:
    """Return the members of every group. Raises ConfigError naming the line of a wrong one."""
    found: dict[str, tuple[HostSpec, ...]] = {}
    for name, group in config.group_entries.items():
        try:
            found[name] = group_members(name, config.groups)
        except UsageError as error:
            raise ConfigError(f"{group.where}: {error.message}", hint=error.hint) from error
    return found


def known_names(config: Config) -> frozenset[str]:
    """Return every host name that the configuration spells out: addresses and names."""
    names: set[str] = set()
    for layer in config.layers:
        for section in layer.sections:
            names |= section.exact
    for members in groups_of(config).values():
        for spec in members:
            names |= {spec.name, spec.address}
    return frozenset(names)


def section_warnings(config: Config) -> tuple[str, ...]:
    """Return what the user's own sections would loosen, for `gpudash config`.

    A glob stands for itself here: which hosts it means is known when they are named.
    """
    found: dict[str, None] = {}
    bounds = {name for name, key in HOST_KEYS.items() if key.loosest_first}
    for section in config.user.sections:
        if bounds & set(section.values):
            for name in (*sorted(section.exact), *section.globs):
                found |= dict.fromkeys(config.host_values([name])[1])
    return tuple(found)
