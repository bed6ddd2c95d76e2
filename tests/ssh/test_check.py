"""`gpudash check HOST` against a real sshd."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.cli.running import Done
from tests.fake_driver import FakeDriver
from tests.ssh.sshd import Sshd

Command = Callable[..., Done]


def test_zero(gpudash: Command, gpu_a: Sshd) -> None:
    done = gpudash("check", "gpu-a", "--format", "json")
    assert (done.code, done.err) == (0, "")
    document = json.loads(done.out)
    (host,) = document["hosts"]
    assert (host["host"], host["source"], host["transport"]) == ("gpu-a", "nvml", "ssh")
    assert host["link_notes"] == []
    assert document["clear"] == "yes"
    assert len(host["gpus"]) == 8
    assert gpu_a.logins == 1


def test_held(gpudash: Command, gpu_a: Sshd, fake_driver: FakeDriver) -> None:
    fake_driver.with_used(2, 1).write()
    done = gpudash("check", "gpu-a")
    assert done.code == 1
    assert "gpu-a" in done.out
