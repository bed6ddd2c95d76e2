"""Reads a configuration file only where nobody else can write it.

A file may name commands to run, and the site's holds rules: one that others can change is
refused, not read with a shrug. So is one that is there and can't be read, because a rule that is
skipped is a rule that is broken.
"""

from __future__ import annotations

import os
import stat

from gpudash.config.layers import Origin
from gpudash.core.errors import ConfigError

MAX_BYTES = 1 << 20


def read_file(path: str, origin: Origin, *, site_owner: int = 0) -> str | None:
    """Return the text of a file, None where there is none. Raises ConfigError."""
    try:
        with open(path, "rb", opener=open_at_once) as file:
            status = os.fstat(file.fileno())
            if path == os.devnull:
                return ""
            if not stat.S_ISREG(status.st_mode):
                raise ConfigError(f"{path} is no file that can be read as configuration")
            if os.name == "posix":
                _check_owner(path, status, origin, site_owner)
            content = file.read(MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    if len(content) > MAX_BYTES:
        raise ConfigError(f"{path} is larger than 1 MiB: that is no configuration file")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}:{line}: not UTF-8", hint="TOML files are UTF-8.") from error


def open_at_once(path: str, flags: int) -> int:
    """Open without waiting for whoever writes to a pipe."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _unreadable(path: str, error: OSError | ValueError) -> ConfigError:
    why = error.strerror if isinstance(error, OSError) else str(error)
    return ConfigError(
        f"{path} can't be read: {why}",
        hint="What it says may matter, so nothing was started without it.",
    )


def _check_owner(path: str, status: os.stat_result, origin: Origin, site_owner: int) -> None:
    """Raise ConfigError where others than its owner can change a file."""
    if origin is Origin.SITE:
        if status.st_uid != site_owner or status.st_mode & 0o022:
            raise ConfigError(
                f"{path} can be changed by others than root, so its rules can't be trusted",
                hint=f"As root: chown root {path} && chmod go-w {path}",
            )
        return
    me = os.geteuid()
    # Root reads what it was pointed at: in containers the user's home belongs to another uid.
    if me != 0 and status.st_uid not in (me, 0):
        raise ConfigError(
            f"{path} belongs to another user (uid {status.st_uid})",
            hint="A configuration may name commands to run: copy it and own the copy.",
        )
    if status.st_mode & 0o002:
        raise ConfigError(
            f"{path} can be changed by everybody",
            hint=f"chmod o-w {path}",
        )
