"""[preflight.NAME] of a configuration: checks by name, mistakes named with their line."""

from __future__ import annotations

import pytest

from gpudash.config.document import parse_document
from gpudash.config.layers import Origin
from gpudash.core.launch.checks import Kind

GOOD = """
[preflight.weights]
path = "/models/draft"

[preflight.disk]
free_disk = "200GiB"
path = "/data"

[preflight.here]
free_disk = "1MiB"

[preflight.port]
port = 30000

[preflight.shm]
shm = "16GiB"

[preflight.link]
command = ["nvidia-smi", "nvlink", "-s"]
timeout = "5s"
"""
GIB = 1 << 30


def test_sections_are_checks() -> None:
    layer, problems = parse_document(GOOD, "config.toml", Origin.USER)
    assert problems == ()
    found = {name: (one.kind, dict(one.arguments)) for name, one in layer.preflights.items()}
    assert found == {
        "weights": (Kind.PATH_EXISTS, {"path": "/models/draft"}),
        "disk": (Kind.FREE_DISK, {"path": "/data", "bytes": 200 * GIB}),
        "here": (Kind.FREE_DISK, {"path": ".", "bytes": 1 << 20}),
        "port": (Kind.PORT_FREE, {"port": 30000}),
        "shm": (Kind.SHM, {"bytes": 16 * GIB}),
        "link": (Kind.COMMAND, {"argv": ["nvidia-smi", "nvlink", "-s"], "timeout_s": 5.0}),
    }
    assert layer.preflights["port"].origin == "config.toml:12"
    assert layer.preflights["port"].name == "port"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("preflight = 3", 1, "must be a table"),
        ("[preflight]\na = 3", 2, "must be a table"),
        ("[preflight.a]", 1, "looks at nothing: it needs one of"),
        ("[preflight.a]\nport = 1\nshm = '1GiB'", 1, "looks at port and shm"),
        ("[preflight.a]\nport = 0", 2, "must be a number from 1 to 65535"),
        ("[preflight.a]\nport = true", 2, "must be a number from 1 to 65535"),
        ("[preflight.a]\nshm = 3", 2, "must be a size"),
        ("[preflight.a]\nshm = 'much'", 2, "must be a size"),
        ("[preflight.a]\npath = ''", 2, "must be a path"),
        ("[preflight.a]\ncommand = 'ls'", 2, "must be a list of words"),
        ("[preflight.a]\ncommand = ['ls']\ntimeout = '1h'", 3, "must be a duration up to"),
        ("[preflight.a]\nport = 1\ntimeout = '1s'", 1, "a timeout, which belongs to a command"),
        ("[preflight.a]\nports = 1", 2, "unknown key"),
        ('[preflight."a b"]\nport = 1', 1, "a name has letters"),
        ("[preflight.none]\nport = 1", 1, "a name has letters"),
    ],
)
def test_what_is_wrong_is_named(text: str, line: int, words: str) -> None:
    layer, problems = parse_document(text, "config.toml", Origin.USER)
    assert layer.preflights == {}
    assert [(one.line, words in one.message) for one in problems][:1] == [(line, True)], problems
