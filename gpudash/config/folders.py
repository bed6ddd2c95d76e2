"""Where the configuration is, by platformdirs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

SITE_FILE = "/etc/gpudash/config.toml"
"""The rules of the machine's owner, which nothing loosens."""


def config_folder(env: Mapping[str, str]) -> str:
    """Return the user's folder: themes and `config.toml`.

    On Linux this is what platformdirs answers, without its import of 20 ms.
    """
    if sys.platform == "linux":
        base = env.get("XDG_CONFIG_HOME", "").strip()
        return os.path.join(base or os.path.expanduser("~/.config"), "gpudash")
    from platformdirs import user_config_dir

    return user_config_dir("gpudash", appauthor=False)


def user_file(env: Mapping[str, str]) -> str:
    """Return the path of the user's configuration file."""
    return env.get("GPUDASH_CONFIG") or os.path.join(config_folder(env), "config.toml")
