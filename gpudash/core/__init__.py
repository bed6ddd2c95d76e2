"""Decisions as values: no I/O, no clock, no asyncio, no logging, no randomness."""
