"""Every key of the configuration file: type, default, where it stands, what it does.

The one place that knows them. Checking, `gpudash config --defaults` and the environment's
variables all read this table, so a key that is not here does not exist.
"""

from __future__ import annotations

from gpudash.config.checks import (
    argv,
    bound,
    duration,
    flag,
    gpus,
    one_of,
    port,
    program,
    text,
    user,
)
from gpudash.config.key import Key as Key
from gpudash.config.key import Place as Place
from gpudash.config.key import Setting as Setting

_FLAG = "true or false"

KEYS = (
    Key(
        name="interval",
        place=Place.TOP,
        expects='a duration from "100ms" to "1h", like "500ms", "1s" or "5m"',
        check=duration,
        default="1s",
        doc="How often GPUs are read.",
    ),
    Key(
        name="theme",
        place=Place.TOP,
        expects='the name of a theme, like "gpudash-dark"',
        check=text,
        default="gpudash-dark",
        doc="The dashboard's colours.",
    ),
    Key(
        name="density",
        place=Place.TOP,
        expects='"auto", "card", "line" or "cell"',
        check=one_of("auto", "card", "line", "cell"),
        default="auto",
        doc="How much room a host takes in the dashboard; auto is what fits.",
    ),
    Key(
        name="keymap",
        place=Place.TOP,
        expects='"default" or "vim"',
        check=one_of("default", "vim"),
        default="default",
        doc="The dashboard's set of keys; [keys] changes single ones.",
    ),
    Key(
        name="readonly",
        place=Place.TOP,
        expects=_FLAG,
        check=flag,
        default=False,
        doc="Look at hosts and never act on any, whatever their sections say.",
        loosest_first=(False, True),
    ),
    Key(
        name="baselines",
        place=Place.TOP,
        expects=_FLAG,
        check=flag,
        default=True,
        doc="Whether a reading that was accepted as idle passes; false: only 0 bytes does.",
        loosest_first=(True, False),
    ),
    Key(
        name="confirm",
        place=Place.CLEANUP,
        expects='"alive" or "always"',
        check=one_of("alive", "always"),
        default="alive",
        doc="When the dashboard asks before it cleans: where somebody is alive, or always.",
        loosest_first=("alive", "always"),
    ),
    Key(
        name="memory",
        place=Place.ALERTS,
        expects="a number of percent from 1 to 100, or false",
        check=bound(100),
        default=False,
        doc="Tell when so much of a GPU's memory is used, like 95; false: a full GPU is normal.",
    ),
    Key(
        name="temperature",
        place=Place.ALERTS,
        expects="a number of °C from 1 to 150, or false",
        check=bound(150),
        default=90,
        doc="Tell when a GPU is so hot, in °C, for 5 s.",
    ),
    Key(
        name="throttle",
        place=Place.ALERTS,
        expects=_FLAG,
        check=flag,
        default=True,
        doc="Tell when a GPU is slowed by heat, the power brake or the hardware.",
    ),
    Key(
        name="ecc",
        place=Place.ALERTS,
        expects=_FLAG,
        check=flag,
        default=True,
        doc="Tell when a memory row is broken and waits for a reset, or can't be replaced.",
    ),
    Key(
        name="lost",
        place=Place.ALERTS,
        expects=_FLAG,
        check=flag,
        default=True,
        doc="Tell when a host or a GPU that was read is so no more.",
    ),
    Key(
        name="bell",
        place=Place.ALERTS,
        expects=_FLAG,
        check=flag,
        default=True,
        doc="Ring the terminal's bell with an alert; never for simulated hosts.",
    ),
    Key(
        name="osc9",
        place=Place.ALERTS,
        expects=_FLAG,
        check=flag,
        default=False,
        doc="Let the terminal notify the desktop of an alert (OSC 9, wrapped for tmux).",
    ),
    Key(
        name="transport",
        place=Place.HOST,
        expects='"auto", "asyncssh" or "openssh"',
        check=one_of("auto", "asyncssh", "openssh"),
        default="auto",
        doc="Which ssh client connects; auto takes OpenSSH's where asyncssh lacks something.",
    ),
    Key(
        name="command",
        place=Place.HOST,
        expects='a list of words, like ["kubectl", "exec", "-i", "vllm-0", "--", "sh"]',
        check=argv,
        default=None,
        example=("docker", "exec", "-i", "trainer", "sh"),
        doc="Reach the host by this command instead of ssh: a shell on its stdin.",
    ),
    Key(
        name="user",
        place=Place.HOST,
        expects='a user name, like "root"',
        check=user,
        default=None,
        example="root",
        doc="Log in as this user where the command line names none.",
    ),
    Key(
        name="port",
        place=Place.HOST,
        expects="a number from 1 to 65535",
        check=port,
        default=None,
        example=22,
        doc="Connect to this port where the command line names none.",
    ),
    Key(
        name="sudo",
        place=Place.HOST,
        expects='"never", "see" or "clean"',
        check=one_of("never", "see", "clean"),
        default="never",
        doc="What runs by sudo -n there: nothing, reading, or cleaning too.",
        loosest_first=("clean", "see", "never"),
    ),
    Key(
        name="readonly",
        place=Place.HOST,
        expects=_FLAG,
        check=flag,
        default=False,
        doc="Look at this host and never act on it.",
        loosest_first=(False, True),
    ),
    Key(
        name="python",
        place=Place.HOST,
        expects='a program, like "python3" or "/opt/python/bin/python3"',
        check=program,
        default="python3",
        doc="The Python (3.6 or newer) that runs the probe there.",
    ),
    Key(
        name="gpus",
        place=Place.HOST,
        expects="a number from 1 to 128",
        check=gpus,
        default=None,
        example=8,
        doc="How many GPUs the host has: while it lists fewer, nothing there is clear.",
        is_least=True,
    ),
    Key(
        name="nvidia_smi",
        place=Place.HOST,
        expects=_FLAG,
        check=flag,
        default=True,
        doc="Fall back to nvidia-smi where the probe can't read the driver.",
    ),
)

TOP_KEYS = {key.name: key for key in KEYS if key.place is Place.TOP}
HOST_KEYS = {key.name: key for key in KEYS if key.place is Place.HOST}
CLEANUP_KEYS = {key.name: key for key in KEYS if key.place is Place.CLEANUP}
ALERT_KEYS = {key.name: key for key in KEYS if key.place is Place.ALERTS}
TABLES = ("groups", "hosts", "cleanup", "alerts", "keys", "preflight")
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
