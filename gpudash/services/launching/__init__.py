"""Launching over time: checks and the start through a hand, the gates between, and the end."""
