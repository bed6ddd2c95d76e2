"""A scripted server: it prints a real log, takes memory of the fake driver, opens a port."""
