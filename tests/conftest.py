"""Make shared fixtures known, and let tests import each other as `tests.…`.

The root goes to the end of sys.path: what is tested must be the installed package.
"""

from __future__ import annotations

import sys
from pathlib import Path

_ROOT = str(Path(__file__).parent.parent)
if _ROOT not in sys.path:
    sys.path.append(_ROOT)

from tests.fake_driver.fixtures import fake_driver  # noqa: E402

__all__ = ["fake_driver"]
