"""Runs that need a real NVIDIA GPU; each leaves JSON and pictures."""
