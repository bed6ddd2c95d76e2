"""Read the data that the start-up tracker knows engines and failures by."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files

from gpudash.core.startup.catalog import Catalog
from gpudash.core.startup.catalog_document import build

_PACKAGE = "gpudash.core.startup"


@cache
def load_catalog() -> Catalog:
    """Return the catalog that is shipped with the package."""
    folder = files(_PACKAGE)
    markers, failures = (
        tomllib.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("markers.toml", "failures.toml")
    )
    return build(markers, failures)
