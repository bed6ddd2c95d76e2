"""What runs on a host: stdlib only, Python 3.6 or newer, nothing of ours but itself.

The files travel as text (bootstrap.py) and run as modules of exactly these names.
"""
