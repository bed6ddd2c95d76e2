"""Benchmarks: what gpudash costs, beside its peers, in one run on one machine.

Nothing here asserts a time; the budgets are in the README of the results, not in the code. Run
`python -m tests.benchmarks`; see __main__.py.
"""
