"""Configurations out of two texts and an environment."""

from __future__ import annotations

import os
from pathlib import Path

from gpudash.config.load import Config, load


def configuration(folder: Path, site: str = "", user: str = "", **variables: str) -> Config:
    """Write both files where they are not empty, and load them."""
    for name, text in (("site.toml", site), ("user.toml", user)):
        if text:
            path = folder / name
            path.write_text(text, encoding="utf-8")
            path.chmod(0o644)
    env = {"GPUDASH_CONFIG": str(folder / "user.toml") if user else os.devnull, **variables}
    return load(env, site_file=str(folder / "site.toml"), site_owner=os.geteuid())
