"""`gpudash clean` with real processes: who goes, who stays, and what is said of it."""
