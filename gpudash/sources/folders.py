"""Where gpudash keeps what it writes here, by platformdirs; nothing is written on hosts."""

from __future__ import annotations

import os
import sys


def cache_folder() -> str:
    """Return the folder for what can be made anew.

    On Linux this is what platformdirs answers, without its import of 10 ms: `check` is measured
    against a bare one-shot.
    """
    if sys.platform == "linux":
        base = os.environ.get("XDG_CACHE_HOME", "").strip()
        return os.path.join(base or os.path.expanduser("~/.cache"), "gpudash")
    from platformdirs import user_cache_dir

    return user_cache_dir("gpudash", appauthor=False)
