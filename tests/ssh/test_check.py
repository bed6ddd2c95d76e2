"""`gpudash check HOST` against a real sshd."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

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


def test_a_rule_for_the_hostname_holds_behind_the_alias(
    gpudash: Command, gpu_a: Sshd, tmp_path: Path
) -> None:
    """`sudo` is wanted for 127.0.0.1 alone, and there is none on the host."""
    rules = tmp_path / "rules.toml"
    rules.write_text('[hosts."127.0.0.*"]\nsudo = "see"\nreadonly = true\n')
    rules.chmod(0o600)
    listed = gpudash("hosts", "gpu-a", "--format", "json", GPUDASH_CONFIG=str(rules))
    (host,) = json.loads(listed.out)["hosts"]
    assert (host["sudo"], host["readonly"]) == ("see", True)
    done = gpudash("check", "gpu-a", GPUDASH_CONFIG=str(rules))
    assert "sudo" in done.err
    assert done.code == 4


def test_held(gpudash: Command, gpu_a: Sshd, fake_driver: FakeDriver) -> None:
    fake_driver.with_used(2, 1).write()
    done = gpudash("check", "gpu-a")
    assert done.code == 1
    assert "gpu-a" in done.out
