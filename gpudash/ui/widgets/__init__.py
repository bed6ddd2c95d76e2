"""Painted rows as Textual widgets."""
