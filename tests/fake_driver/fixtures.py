"""Fixtures for tests that need a driver; tests/conftest.py makes them known everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fake_driver import CompilerMissing, FakeDriver, library_folder


@pytest.fixture
def fake_driver(tmp_path: Path) -> FakeDriver:
    """Eight idle H200 GPUs, written."""
    try:
        library_folder()
    except CompilerMissing as error:
        pytest.skip(f"the fake driver needs a C compiler: {error}")
    return FakeDriver.h200(8, tmp_path / "driver").write()
