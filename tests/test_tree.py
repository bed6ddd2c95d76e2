"""The shape of the tree, and words that must not be in it."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gpudash

ROOT = Path(__file__).parent.parent
TOP = {
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "CHANGELOG.md",
    "gpudash",
    "tests",
    "screenshots",
    "themes",
}
MADE = {"build", "dist"}
"""What tools make there; git ignores it."""
MAX_LINES = 300
TEXT_SUFFIXES = {"", ".py", ".md", ".toml", ".c", ".h", ".tcss", ".sh", ".txt", ".json", ".jsonl"}
FOREIGN_PATHS = re.compile(r"/(?:work|tmp/wt|home/(?!ana\b|ben\b|user\b)\w+|Users)/")
POSIX_ONLY = {"fcntl", "pwd", "grp", "resource", "termios", "pty", "tty"}
MAY_BE_POSIX = ("gpudash/probe/", "gpudash/sources/process.py", "gpudash/sources/terminal.py")


def python_files() -> list[Path]:
    return sorted((ROOT / "gpudash").rglob("*.py"))


def texts() -> list[Path]:
    found = [
        path for folder in ("gpudash", "tests", "themes") for path in (ROOT / folder).rglob("*")
    ]
    found += [ROOT / name for name in ("README.md", "CHANGELOG.md", "pyproject.toml", ".ci/run")]
    return [
        path
        for path in found
        if path.is_file() and path.suffix in TEXT_SUFFIXES and "__pycache__" not in path.parts
    ]


def test_the_top_level() -> None:
    here = {path.name for path in ROOT.iterdir() if not path.name.startswith(".")}
    here = {name for name in here if not name.endswith(".egg-info")} - MADE
    assert here <= TOP
    assert {"pyproject.toml", "README.md", "LICENSE", "gpudash", "tests"} <= here


@pytest.mark.parametrize("path", python_files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_file_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < MAX_LINES


def test_no_path_of_one_machine_is_in_the_tree() -> None:
    own = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in texts()
        if path != own
        for match in FOREIGN_PATHS.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_modules_have_names_of_their_own() -> None:
    bloated = {"utils", "helpers", "manager", "common", "misc"}
    assert not [path for path in python_files() if path.stem in bloated]


def imports_of(path: Path) -> set[str]:
    """Return what a module needs to be imported at all: imports in functions don't count."""
    names: set[str] = set()
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.split(".")[0])
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            nodes += ast.iter_child_nodes(node)
    return names


@pytest.mark.parametrize("path", python_files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_screen_runs_without_posix(path: Path) -> None:
    """Hosts are Linux; the screen must start elsewhere too (design §10)."""
    if path.relative_to(ROOT).as_posix().startswith(MAY_BE_POSIX):
        return
    assert not imports_of(path) & POSIX_ONLY
    assert "os.fork" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("marker", ["start-command", "test-command"])
def test_the_readme_has_both_commands(marker: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.findall(rf"<!-- {marker} -->\n```\w*\n(.+)\n```\n", text)
    assert len(found) == 1
    assert found[0].startswith("python3 -m venv ")


def test_the_checkout_is_refused_where_the_wheel_was_promised() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "tests/test_contracts.py"],
        cwd=ROOT,
        env=os.environ | {"GPUDASH_EXPECT_INSTALLED": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "not the installed package" in done.stderr


def test_the_wheel_has_its_themes() -> None:
    if os.environ.get("GPUDASH_EXPECT_INSTALLED") == "1":
        installed = Path(gpudash.__file__).parent / "themes"
        assert {path.name for path in installed.iterdir()} == {
            path.name for path in (ROOT / "themes").iterdir()
        }
