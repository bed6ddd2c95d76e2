"""Entry point of `gpudash` and `python -m gpudash`."""

from __future__ import annotations

import gc
import sys


def main() -> int:
    """Run one command and return its exit code."""
    from gpudash.cli.main import run

    words = sys.argv[1:]
    if words[:1] == ["check"]:
        # It lives for 0.1 s; looking for garbage would be a tenth of its CPU time.
        gc.disable()
    try:
        return run(words)
    finally:
        # Nor is there anything to collect on the way out.
        gc.freeze()


if __name__ == "__main__":
    sys.exit(main())
