"""The paint layer stands alone: it is drawn before a terminal library is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import gpudash.ui.paint

FOLDER = Path(gpudash.ui.paint.__file__).parent
MODULES = [f"gpudash.ui.paint.{path.stem}" for path in FOLDER.glob("[a-z]*.py")]


def test_no_terminal_library_is_imported() -> None:
    code = (
        f"import sys, {', '.join(MODULES)}, gpudash.ui.theme\n"
        "print(*[name for name in ('textual', 'rich', 'asyncio', 'tomllib', 'pathlib')"
        " if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_no_clock_is_read(path: Path) -> None:
    text = path.read_text()
    assert "import time" not in text
    assert "datetime" not in text
