"""Words of `gpudash clean` that are refused before any host is looked at."""

from __future__ import annotations

import pytest

from tests.cli.running import Runner
from tests.fake_driver import FakeDriver


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("clean", "gpu-a", "gpu-b", "--pid", "4711", "--yes"), "--pid names a process of one"),
        (("clean", "gpu-[1-2]", "--pid", "4711", "--yes"), "--pid names a process of one host"),
        (("clean", "gpu-a", "gpu-b", "--pid", "4711", "--dry-run"), "--pid names a process of"),
        (("clean", "--pid", "1", "--yes"), "pid 1 and below are nobody's"),
        (("clean", "gpu-a", "gpu-b", "--dry-run", "--format", "sh"), "the plan of one host"),
        (("clean", "--dry-run", "--yes"), "--dry-run signals nobody"),
        (("clean", "--resume", "x", "--yes"), "--resume signals nobody"),
        (("clean", "--user", "ana", "--all-users"), "exclude each other"),
        (("clean", "--user", ""), "--user is empty"),
    ],
)
def test_words_that_are_refused(
    gpudash_command: Runner, fake_driver: FakeDriver, words: tuple[str, ...], says: str
) -> None:
    done = gpudash_command(fake_driver.write(), *words)
    assert (done.code, done.out) == (2, "")
    assert says in done.err
