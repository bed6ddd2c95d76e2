"""What runs over time: one task per host, the clock, later cleaning and recording."""
