"""The dashboard: rows of text as pure functions, and the widgets that show them."""
