"""`python -m tests.benchmarks [NAME …] [--json FILE] [--quick] [--real]`.

Run so in a checkout it measures the checkout. To measure an installed gpudash, put the checkout
at the end of the path, where only `tests` is found in it:

    python -Pc 'import runpy, sys; sys.path.append("CHECKOUT");
    runpy.run_module("tests.benchmarks", run_name="__main__", alter_sys=True)' --quick
"""

from __future__ import annotations

import sys

from tests.benchmarks.command_line import main

if __name__ == "__main__":
    sys.exit(main())
