"""Arguments, the order of things, the table and the JSON."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gpudash
from tests.benchmarks.figures import Comparison
from tests.benchmarks.settings import QUICK, Settings

NAMES = (
    "check",
    "hosts",
    "sampler",
    "scan",
    "wire",
    "proof",
    "clean",
    "paint",
    "startup",
    "dashboard",
)
ON_REAL = ("check", "sampler", "dashboard")
"""Those that need a driver; the others measure our own code alone."""
SCHEMA = "gpudash.benchmarks/1"
_PACKAGES = ("textual", "nvidia-ml-py", "nvitop", "plotext")


def main(words: Sequence[str] | None = None) -> int:
    """Measure what is asked for, print it, and write the JSON."""
    options = _parse(words)
    quick: dict[str, Any] = QUICK if options.quick else {}
    settings = Settings(is_real=options.real, **quick)
    document = {"schema": SCHEMA, **surroundings(settings), "results": {}}
    failed = False
    for name in options.names or (ON_REAL if options.real else NAMES):
        try:
            comparisons = measure(name, settings)
        except Exception as error:
            # The others are still worth having: a long run on a lent machine must not be lost.
            failed = True
            document["results"][name] = {"error": f"{type(error).__name__}: {error}"}
            print(f"{name}: {error}\n", file=sys.stderr)
        else:
            document["results"][name] = [one.document() for one in comparisons]
            for one in comparisons:
                print(one.table() + "\n", flush=True)
        if options.json is not None:
            options.json.write_text(json.dumps(document, indent=1) + "\n")
    return 1 if failed else 0


def measure(name: str, settings: Settings) -> list[Comparison]:
    """Run one benchmark; its module is loaded only then."""
    module = importlib.import_module(f"tests.benchmarks.{name}")
    comparisons: list[Comparison] = module.measure(settings)
    return comparisons


def surroundings(settings: Settings) -> dict[str, Any]:
    """Say on what it was measured."""
    return {
        "driver": "real" if settings.is_real else "fake",
        "gpudash": gpudash.__version__,
        "installed": "site-packages" in Path(gpudash.__file__).parts,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": [round(value, 2) for value in os.getloadavg()],
        "packages": {name: _version(name) for name in _PACKAGES},
    }


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _parse(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=" | ".join(NAMES))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the values there too")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    parser.add_argument("--real", action="store_true", help="on this machine's own driver")
    options = parser.parse_args(words)
    for name in options.names:
        if name not in NAMES:
            parser.error(f"no benchmark is called {name}; there are: {', '.join(NAMES)}")
    return options
