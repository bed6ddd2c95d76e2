"""Launching a server or a run: checks, gates and the start, in one order that never changes.

`machine` is the order as a table; `checks` what is looked at before; `spec` what is started.
"""
