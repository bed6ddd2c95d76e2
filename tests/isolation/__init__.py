"""Scenes with real processes, each in a room of its own: pid namespace, /proc, network, mounts.

In its room a scene sees no process but its own, so that stand-in devices are held by nobody else,
nothing outside can be hurt, and everything ends with it. A machine that can't make a room fails
the test: it was not run.
"""
