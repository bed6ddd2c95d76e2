"""gpudash: see, clean, verify, launch and watch GPUs on one host or many."""

__version__ = "0.1.0"
