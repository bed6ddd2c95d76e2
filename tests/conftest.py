"""Make shared fixtures known, and let tests import each other as `tests.…`.

The root goes to the end of sys.path: what is tested must be the installed package.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

_ROOT = str(Path(__file__).parent.parent)
if _ROOT not in sys.path:
    sys.path.append(_ROOT)

from tests.fake_driver.fixtures import fake_driver  # noqa: E402

__all__ = ["fake_driver"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the Pythons under which the probe was run."""
    reports = terminalreporter.stats.get("passed", [])
    versions = {
        report.nodeid.partition("[")[2].rstrip("]")
        for report in reports
        if report.when == "call" and "test_old_pythons.py::test_sampler_and_hand" in report.nodeid
    }
    if versions:
        ordered = sorted(versions, key=lambda version: int(version.split(".")[1]))
        terminalreporter.write_line(f"the probe ran under Python {', '.join(ordered)}")
