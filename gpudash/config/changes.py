"""What differs between two configurations, key by key, and which of it counts at once."""

from __future__ import annotations

from typing import NamedTuple

from gpudash.config.load import Config
from gpudash.config.schema import ALERT_KEYS, CLEANUP_KEYS, HOST_KEYS, TOP_KEYS, Setting, in_toml

TYPE_CHECKING = False  # as in load
if TYPE_CHECKING:
    from gpudash.core.cleanup.protection import Rule

LIVE = frozenset({"theme", "density", "keymap", "cleanup.confirm", "readonly"})
"""Keys that count at once; those of [keys] and [alerts] do too."""


class Change(NamedTuple):
    """One key that says something else now."""

    key: str
    """As in the file: `theme`, `keys.view.theme`, `hosts.gpu-a.user`."""
    before: Setting
    after: Setting

    @property
    def is_live(self) -> bool:
        """Tell whether it counts at once; what was forbidden at the start stays so until then."""
        if self.key == "readonly":
            return self.after is True
        return self.key in LIVE or self.key.startswith(("keys.", "alerts."))

    @property
    def words(self) -> str:
        """Return it as a line: `theme = "gpudash-light"`."""
        if self.after is None:
            return f"{self.key} is unset"
        return f"{self.key} = {in_toml(self.after)}"


def changes(before: Config, after: Config) -> tuple[Change, ...]:
    """Return every key whose value that counts is another one, in the order of the schema."""
    old, new = _values(before), _values(after)
    keys = [*old, *(key for key in new if key not in old)]
    return tuple(
        Change(key, old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key)
    )


def _values(config: Config) -> dict[str, Setting]:
    found: dict[str, Setting] = {name: config.top(name).value for name in TOP_KEYS}
    found |= {f"cleanup.{name}": config.cleanup(name).value for name in CLEANUP_KEYS}
    found |= {f"alerts.{name}": config.alert(name).value for name in ALERT_KEYS}
    found |= {f"keys.{id_}": value.value for id_, value in config.keys.items()}
    found |= {f"cleanup.protect.{rule.name}": _told(rule) for rule in config.protect}
    found |= {f"groups.{name}": words for name, words in config.groups.items()}
    for layer in config.layers:
        for section in layer.sections:
            for name in HOST_KEYS:
                if name in section.values:
                    key = f"hosts.{section.pattern}.{name}"
                    found[key] = section.values[name].value
    return found


def _told(rule: Rule) -> str:
    """Return all that a rule says, so that any change of it is one."""
    parts = (*rule.comms, *rule.exes, *rule.cgroups, *rule.units, *rule.users, rule.command)
    return f"{' '.join(filter(None, parts))}: {rule.why}"
