"""One runner for the session: what it caches is made once."""

from __future__ import annotations

import pytest

from tests.cli.running import Runner


@pytest.fixture(scope="session")
def gpudash_command(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return Runner(tmp_path_factory.mktemp("home"))
