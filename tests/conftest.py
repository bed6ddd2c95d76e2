"""Make shared fixtures known, and let tests import each other as `tests.…`.

The root goes to the end of sys.path: what is tested must be the installed package.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

_ROOT = str(Path(__file__).parent.parent)
if _ROOT not in sys.path:
    sys.path.append(_ROOT)

from tests.fake_driver.fixtures import fake_driver  # noqa: E402

__all__ = ["fake_driver"]


_IS_GATE = os.environ.get("GPUDASH_EXPECT_INSTALLED") == "1"

# Nothing timed decides; the gate says the same of the same tree, other runs look further.
settings.register_profile(
    "gpudash",
    deadline=None,
    derandomize=_IS_GATE,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("gpudash")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse to test the checkout where the installed package was promised.

    In the background of a script ctrl-c is ignored, and would be in what the tests start.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not _IS_GATE:
        return
    import gpudash

    if "site-packages" not in Path(gpudash.__file__).parts:
        raise pytest.UsageError(f"gpudash is {gpudash.__file__}, not the installed package")


@pytest.fixture(scope="session", autouse=True)
def _own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's folders out of every test, and tests out of the user's folders."""
    home = tmp_path_factory.mktemp("folders")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("CACHE", "CONFIG", "STATE"):
            patch.setenv(f"XDG_{name}_HOME", str(home / name.lower()))
        yield


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
