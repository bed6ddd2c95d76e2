"""The configuration that counts: site, user and environment, weighed against each other.

The later speaks over the earlier: defaults, the site's file, the user's file, the environment.
But what the site says about `readonly` and `sudo` is a bound: others may go below it and never
above. Who tries is told so by a warning that names both places, and the site's value stays.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from gpudash.config.files import read_file
from gpudash.config.folders import SITE_FILE, user_file
from gpudash.config.layers import Group, Layer, Origin, Value
from gpudash.config.schema import (
    ALERT_KEYS,
    CLEANUP_KEYS,
    CONFIG_VARIABLE,
    HOST_KEYS,
    TOP_KEYS,
    VARIABLES,
    Key,
    in_toml,
)
from gpudash.core.errors import ConfigError
from gpudash.core.nearest import nearest

TYPE_CHECKING = False  # as in sources/oneshot.py
if TYPE_CHECKING:
    from gpudash.config.document import Problem
    from gpudash.core.cleanup.protection import Rule
    from gpudash.core.launch.checks import Check

_TRUTHS = {
    **dict.fromkeys(("1", "true", "yes", "on"), True),
    **dict.fromkeys(("0", "false", "no", "off"), False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All layers; asked by key or by host."""

    site: Layer
    user: Layer
    environment: Layer
    warnings: tuple[str, ...] = ()
    """What was ignored, one sentence each; hosts have warnings of their own."""

    @property
    def layers(self) -> tuple[Layer, Layer, Layer]:
        """Return the layers, the later speaking over the earlier."""
        return (self.site, self.user, self.environment)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Return the words of each group; the user's group of a name replaces the site's."""
        return {name: group.words for name, group in self.group_entries.items()}

    @property
    def group_entries(self) -> dict[str, Group]:
        """Return the groups that count, with their places."""
        return {**self.site.groups, **self.user.groups}

    def top(self, name: str) -> Value:
        """Return a top-level value."""
        own = {**self.user.top, **self.environment.top}
        return weigh(TOP_KEYS[name], self.site.top.get(name), own.get(name))[0]

    def cleanup(self, name: str) -> Value:
        """Return a value of [cleanup]."""
        return weigh(CLEANUP_KEYS[name], self.site.cleanup.get(name), self.user.cleanup.get(name))[
            0
        ]

    def alert(self, name: str) -> Value:
        """Return a value of [alerts]."""
        return weigh(ALERT_KEYS[name], self.site.alerts.get(name), self.user.alerts.get(name))[0]

    @property
    def protect(self) -> tuple[Rule, ...]:
        """Return who is protected besides: the site's entries and the user's."""
        return (*self.site.protect, *self.user.protect)

    @property
    def keys(self) -> dict[str, Value]:
        """Return the entries of [keys] that count: the user's replaces the site's."""
        return {**self.site.keys, **self.user.keys}

    @property
    def preflights(self) -> dict[str, Check]:
        """Return the checks by name; the user's of a name replaces the site's."""
        return {**self.site.preflights, **self.user.preflights}

    def host_values(self, names: Iterable[str]) -> tuple[dict[str, Value], tuple[str, ...]]:
        """Return every host key's value for a host known by these names, and warnings.

        `readonly` at the top level is true for every host.
        """
        known = frozenset(name.lower() for name in names)
        site, own = self.site.host_values(known), self.user.host_values(known)
        values: dict[str, Value] = {}
        warnings: list[str] = []
        for name, key in HOST_KEYS.items():
            values[name], warning = weigh(key, site.get(name), own.get(name))
            warnings += [warning] if warning else []
        everywhere = self.top("readonly")
        if everywhere.value:
            values["readonly"] = everywhere
        return values, tuple(warnings)


def weigh(key: Key, site: Value | None, own: Value | None) -> tuple[Value, str | None]:
    """Return the value that counts, and a warning where the user's would loosen the site's."""
    if site is None or own is None:
        return own or site or Value(value=key.default, where="default"), None
    if key.loosens(own.value, site.value):
        return site, (
            f"{own.where}: {key.name} = {in_toml(own.value)} is ignored: {site.where} says "
            f"{in_toml(site.value)}, which can only be tightened"
        )
    return own, None


def load(
    env: Mapping[str, str] = os.environ, *, site_file: str = SITE_FILE, site_owner: int = 0
) -> Config:
    """Read the site's file, the user's file and the environment.

    Raises ConfigError for the first thing that is wrong, with file and line.
    """
    config, problems = survey(env, site_file=site_file, site_owner=site_owner)
    if problems:
        first = problems[0]
        more = f" And {len(problems) - 1} more: gpudash config validate" if problems[1:] else ""
        raise ConfigError(first.sentence, hint=f"{first.hint}{more}".strip())
    return config


def survey(
    env: Mapping[str, str], *, site_file: str = SITE_FILE, site_owner: int = 0
) -> tuple[Config, tuple[Problem, ...]]:
    """Read everything; return what is right, and what is wrong in the files.

    Raises ConfigError for a file that can't be read and for a wrong variable.
    """
    site, site_problems = _layer(site_file, Origin.SITE, site_owner)
    user, problems = _layer(user_file(env), Origin.USER, site_owner)
    if not user.is_there and env.get(CONFIG_VARIABLE):
        raise ConfigError(f"{CONFIG_VARIABLE}={user.path}: no such file")
    environment, warnings = _from_environment(env)
    config = Config(site=site, user=user, environment=environment)
    loosened = [_top_warning(config, name) for name in TOP_KEYS]
    warnings += tuple(warning for warning in loosened if warning)
    if config.keys:
        from gpudash.config.keys import key_problems

        problems = (*problems, *key_problems(config.keys, str(config.top("keymap").value)))
    return replace(config, warnings=warnings), (*site_problems, *problems)


def _top_warning(config: Config, name: str) -> str | None:
    own = {**config.user.top, **config.environment.top}
    return weigh(TOP_KEYS[name], config.site.top.get(name), own.get(name))[1]


def _layer(path: str, origin: Origin, site_owner: int) -> tuple[Layer, tuple[Problem, ...]]:
    text = read_file(path, origin, site_owner=site_owner)
    if not text:
        return Layer(origin=origin, path=path, is_there=text is not None), ()
    from gpudash.config.document import parse_document

    return parse_document(text, path, origin)


def _from_environment(env: Mapping[str, str]) -> tuple[Layer, tuple[str, ...]]:
    """Read the variables; an empty one is as good as none."""
    top: dict[str, Value] = {}
    warnings: list[str] = []
    for variable, text in env.items():
        if not variable.startswith("GPUDASH_") or not text:
            continue
        key = VARIABLES.get(variable)
        if key is not None:
            top[key.name] = Value(value=_read_variable(key, text), where=variable)
        elif guess := _meant(variable):
            warnings.append(f"the variable {variable} does nothing; did you mean {guess}?")
    return Layer(origin=Origin.ENVIRONMENT, top=top), tuple(warnings)


def _read_variable(key: Key, text: str) -> str | bool | int | tuple[str, ...] | None:
    value: object = text
    if isinstance(key.default, bool):
        value = _TRUTHS.get(text.lower(), text)
    try:
        return key.check(value)
    except ValueError as error:
        from gpudash.core.hostspec import shown

        raise ConfigError(f"{key.variable}={shown(text)}: must be {key.expects}") from error


def _meant(variable: str) -> str | None:
    known = (*VARIABLES, CONFIG_VARIABLE)
    return None if variable == CONFIG_VARIABLE else nearest(variable, known)
