"""The dashboard's log: a file in the state folder, never the screen."""

from __future__ import annotations

import logging
import os
from logging.handlers import RotatingFileHandler

from gpudash.config.folders import is_ours, state_folder

_LIMIT_BYTES = 1 << 20


def log_to_folder() -> None:
    """Send warnings and worse to `gpudash.log`; where nothing can be written they are dropped."""
    logging.raiseExceptions = False
    logging.captureWarnings(True)
    root = logging.getLogger()
    root.setLevel(logging.WARNING)
    root.addHandler(_handler())


def _handler() -> logging.Handler:
    folder = state_folder()
    path = os.path.join(folder, "gpudash.log")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not is_ours(folder) or os.path.islink(path):
            return logging.NullHandler()
        handler = RotatingFileHandler(
            path,
            maxBytes=_LIMIT_BYTES,
            backupCount=1,
            encoding="utf-8",
        )
    except OSError:
        return logging.NullHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    return handler
