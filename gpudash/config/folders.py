"""Where gpudash keeps what it writes here, and where its configuration is, by platformdirs.

Nothing is written on hosts.
"""

from __future__ import annotations

import os
import stat
import sys

TYPE_CHECKING = False  # as in sources/oneshot.py
if TYPE_CHECKING:
    from collections.abc import Mapping

SITE_FILE = "/etc/gpudash/config.toml"
"""The rules of the machine's owner, which nothing loosens."""


def cache_folder() -> str:
    """Return the folder for what can be made anew."""
    return _folder("XDG_CACHE_HOME", ".cache") or _asked("user_cache_dir")


def state_folder() -> str:
    """Return the folder for logs and other traces of what was done."""
    return _folder("XDG_STATE_HOME", os.path.join(".local", "state")) or _asked("user_state_dir")


def config_folder() -> str:
    """Return the folder of what the user wrote: `config.toml`, later themes."""
    return _folder("XDG_CONFIG_HOME", ".config") or _asked("user_config_dir")


def user_file(env: Mapping[str, str]) -> str:
    """Return the path of the user's configuration file; GPUDASH_CONFIG names another."""
    return env.get("GPUDASH_CONFIG") or os.path.join(config_folder(), "config.toml")


def _folder(variable: str, below_home: str) -> str | None:
    """Return what platformdirs answers on Linux, without its import of 10 ms.

    `check` is measured against a bare one-shot.
    """
    if sys.platform != "linux":
        return None
    base = os.environ.get(variable, "").strip()
    return os.path.join(base or os.path.expanduser(os.path.join("~", below_home)), "gpudash")


def _asked(name: str) -> str:
    import platformdirs

    return str(getattr(platformdirs, name)("gpudash", appauthor=False))


def is_ours(folder: str) -> bool:
    """Tell whether a folder is this user's own and no link: under sudo HOME may be another's."""
    status = os.lstat(folder)
    is_folder = stat.S_ISDIR(status.st_mode)
    return is_folder and (not hasattr(os, "geteuid") or status.st_uid == os.geteuid())
