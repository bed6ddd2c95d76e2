"""What the dashboard looks like, as pure functions from values to rows of styled text.

Nothing here knows a terminal library: the first frame is printed from these rows before one is
imported, and widgets draw the same rows afterwards. Every row is exactly as wide as was asked.
"""
