"""Entry point of `gpudash` and `python -m gpudash`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one command and return its exit code."""
    from gpudash.cli.main import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
