"""Whose children hang below pid 1: an init's are orphans, another program's are its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpudash.core.cleanup.leftovers import Life
from tests.core.cleanup.making import Box
from tests.core.making import GIB


def worker_below(name: str, *argv: str) -> Life:
    """Return how a renamed worker below this pid 1 is judged; gpudash runs beside it."""
    box = Box()
    first = box.processes[1]
    box.processes[1] = replace(first, comm=name[:15], argv=argv or (name,))
    box.scan_changes["is_initial_namespace"] = False
    box.add(400, "sglang::scheduler_TP0", parent=1, memory={0: GIB})
    return box.plan().families[0].life


@pytest.mark.parametrize("name", ["systemd", "init", "tini", "docker-init", "sleep", "tail"])
def test_below_an_init_a_worker_without_a_root_is_left_over(name: str) -> None:
    assert worker_below(name) is Life.LEFTOVER


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("python3", ("python3", "-m", "sglang.launch_server", "--tp", "8")),
        ("sshd", ("/usr/sbin/sshd", "-D")),
        ("jupyter-lab", ("python3", "/usr/bin/jupyter-lab")),
        ("bash", ("bash",)),
        ("supervisord", ("python3", "/usr/bin/supervisord")),
    ],
)
def test_below_a_containers_own_program_it_may_be_that_programs(
    name: str, argv: tuple[str, ...]
) -> None:
    assert worker_below(name, *argv) is not Life.LEFTOVER


@pytest.mark.parametrize("is_initial", [True, False])
def test_a_first_process_that_is_hidden_is_an_init_on_a_host_only(*, is_initial: bool) -> None:
    box = Box()
    del box.processes[1]
    box.scan_changes["is_initial_namespace"] = is_initial
    box.add(400, "sglang::scheduler_TP0", parent=1, memory={0: GIB})
    lives = [family.life for family in box.plan().families]
    assert (Life.LEFTOVER in lives) == is_initial
