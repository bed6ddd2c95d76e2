"""Every key of the configuration file: type, default, where it stands, what it does.

The one place that knows them. Checking, `gpudash config --defaults` and the environment's
variables all read this table, so a key that is not here does not exist.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from gpudash.core.errors import UsageError
from gpudash.core.units import parse_duration

Setting = str | bool | int | tuple[str, ...] | None
"""A value as the file says it; None leaves it to something else (ssh's own configuration)."""

MIN_INTERVAL_S = 0.1
MAX_INTERVAL_S = 3600.0


class Place(Enum):
    """Where a key may stand."""

    TOP = "top level"
    HOST = '[hosts."NAME"]'
    CLEANUP = "[cleanup]"
    PREFLIGHT = "[preflight.NAME]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key."""

    name: str
    place: Place
    expects: str
    """What a value is, as the rest of "must be …"."""
    check: Callable[[object], Setting]
    """Returns the value; raises ValueError where it is none."""
    default: Setting
    doc: str
    """One sentence."""
    example: Setting = None
    """Shown beside a default of None."""
    loosest_first: tuple[Setting, ...] = ()
    """Where the site's file says one of these, others only go further right."""
    is_least: bool = False
    """Where the site's file says a number, others say no smaller one."""

    @property
    def variable(self) -> str | None:
        """Return the environment variable that overrides the key; hosts' keys have none."""
        return f"GPUDASH_{self.name.upper()}" if self.place is Place.TOP else None

    def loosens(self, value: Setting, site: Setting) -> bool:
        """Tell whether a value allows more than the site's does."""
        if self.is_least and isinstance(value, int) and isinstance(site, int):
            return value < site
        order = self.loosest_first
        return bool(order) and order.index(value) < order.index(site)


def _flag(value: object) -> Setting:
    if not isinstance(value, bool):
        raise ValueError
    return value


def _text(value: object) -> Setting:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError
    return value


def _program(value: object) -> Setting:
    if str(_text(value)).startswith("-") or " " in str(value):
        raise ValueError
    return str(value)


def _user(value: object) -> Setting:
    from gpudash.core.hostspec import parse_destination

    try:
        return parse_destination(f"{_text(value)}@name").user
    except UsageError as error:
        raise ValueError from error


def _port(value: object) -> Setting:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 65535:
        raise ValueError
    return value


def _gpus(value: object) -> Setting:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 128:
        raise ValueError
    return value


def _argv(value: object) -> Setting:
    if not isinstance(value, list) or not value:
        raise ValueError
    return tuple(str(_text(word)) for word in value)


def _duration(value: object) -> Setting:
    try:
        seconds = parse_duration(str(_text(value)), flag="interval")
    except UsageError as error:
        raise ValueError from error
    if not MIN_INTERVAL_S <= seconds <= MAX_INTERVAL_S:
        raise ValueError
    return str(value)


def _one_of(*words: str) -> Callable[[object], Setting]:
    def check(value: object) -> Setting:
        if not isinstance(value, str) or value not in words:
            raise ValueError
        return value

    return check


_FLAG = "true or false"

KEYS = (
    Key(
        name="interval",
        place=Place.TOP,
        expects='a duration from "100ms" to "1h", like "500ms", "1s" or "5m"',
        check=_duration,
        default="1s",
        doc="How often GPUs are read.",
    ),
    Key(
        name="theme",
        place=Place.TOP,
        expects='the name of a theme, like "gpudash-dark"',
        check=_text,
        default="gpudash-dark",
        doc="The dashboard's colours.",
    ),
    Key(
        name="density",
        place=Place.TOP,
        expects='"auto", "card", "line" or "cell"',
        check=_one_of("auto", "card", "line", "cell"),
        default="auto",
        doc="How much room a host takes in the dashboard; auto is what fits.",
    ),
    Key(
        name="keymap",
        place=Place.TOP,
        expects='"default" or "vim"',
        check=_one_of("default", "vim"),
        default="default",
        doc="The dashboard's set of keys; [keys] changes single ones.",
    ),
    Key(
        name="readonly",
        place=Place.TOP,
        expects=_FLAG,
        check=_flag,
        default=False,
        doc="Look at hosts and never act on any, whatever their sections say.",
        loosest_first=(False, True),
    ),
    Key(
        name="baselines",
        place=Place.TOP,
        expects=_FLAG,
        check=_flag,
        default=True,
        doc="Whether a reading that was accepted as idle passes; false: only 0 bytes does.",
        loosest_first=(True, False),
    ),
    Key(
        name="confirm",
        place=Place.CLEANUP,
        expects='"alive" or "always"',
        check=_one_of("alive", "always"),
        default="alive",
        doc="When the dashboard asks before it cleans: where somebody is alive, or always.",
        loosest_first=("alive", "always"),
    ),
    Key(
        name="transport",
        place=Place.HOST,
        expects='"auto", "asyncssh" or "openssh"',
        check=_one_of("auto", "asyncssh", "openssh"),
        default="auto",
        doc="Which ssh client connects; auto takes OpenSSH's where asyncssh lacks something.",
    ),
    Key(
        name="command",
        place=Place.HOST,
        expects='a list of words, like ["kubectl", "exec", "-i", "vllm-0", "--", "sh"]',
        check=_argv,
        default=None,
        example=("docker", "exec", "-i", "trainer", "sh"),
        doc="Reach the host by this command instead of ssh: a shell on its stdin.",
    ),
    Key(
        name="user",
        place=Place.HOST,
        expects='a user name, like "root"',
        check=_user,
        default=None,
        example="root",
        doc="Log in as this user where the command line names none.",
    ),
    Key(
        name="port",
        place=Place.HOST,
        expects="a number from 1 to 65535",
        check=_port,
        default=None,
        example=22,
        doc="Connect to this port where the command line names none.",
    ),
    Key(
        name="sudo",
        place=Place.HOST,
        expects='"never", "see" or "clean"',
        check=_one_of("never", "see", "clean"),
        default="never",
        doc="What runs by sudo -n there: nothing, reading, or cleaning too.",
        loosest_first=("clean", "see", "never"),
    ),
    Key(
        name="readonly",
        place=Place.HOST,
        expects=_FLAG,
        check=_flag,
        default=False,
        doc="Look at this host and never act on it.",
        loosest_first=(False, True),
    ),
    Key(
        name="python",
        place=Place.HOST,
        expects='a program, like "python3" or "/opt/python/bin/python3"',
        check=_program,
        default="python3",
        doc="The Python (3.6 or newer) that runs the probe there.",
    ),
    Key(
        name="gpus",
        place=Place.HOST,
        expects="a number from 1 to 128",
        check=_gpus,
        default=None,
        example=8,
        doc="How many GPUs the host has: while it lists fewer, nothing there is clear.",
        is_least=True,
    ),
    Key(
        name="nvidia_smi",
        place=Place.HOST,
        expects=_FLAG,
        check=_flag,
        default=True,
        doc="Fall back to nvidia-smi where the probe can't read the driver.",
    ),
)

TOP_KEYS = {key.name: key for key in KEYS if key.place is Place.TOP}
HOST_KEYS = {key.name: key for key in KEYS if key.place is Place.HOST}
CLEANUP_KEYS = {key.name: key for key in KEYS if key.place is Place.CLEANUP}
TABLES = ("groups", "hosts", "cleanup", "keys", "preflight")
"""Top-level names that are tables."""
VARIABLES = {key.variable: key for key in KEYS if key.variable}
CONFIG_VARIABLE = "GPUDASH_CONFIG"


def in_toml(value: Setting) -> str:
    """Write a value as the file would have it."""
    import json

    match value:
        case tuple():
            return f"[{', '.join(json.dumps(word, ensure_ascii=False) for word in value)}]"
        case _:
            return json.dumps(value, ensure_ascii=False)
