"""`gpudash run` with real processes: a scripted server to READY, and its failing twins."""
