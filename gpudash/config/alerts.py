"""The [alerts] of a configuration file: what the dashboard tells by itself, and how loudly."""

from __future__ import annotations

from gpudash.config.load import Config
from gpudash.core.alert_levels import Bounds


def bounds_of(config: Config) -> Bounds:
    """Return when alerts are raised."""
    memory, temperature = (_number(config, name) for name in ("memory", "temperature"))
    return Bounds(
        memory_pct=memory,
        temperature_c=temperature,
        throttle=is_on(config, "throttle"),
        ecc=is_on(config, "ecc"),
        lost=is_on(config, "lost"),
    )


def is_on(config: Config, name: str) -> bool:
    """Tell whether a truth value of [alerts] is true."""
    return config.alert(name).value is True


def _number(config: Config, name: str) -> int | None:
    value = config.alert(name).value
    return value if isinstance(value, int) and not isinstance(value, bool) else None
