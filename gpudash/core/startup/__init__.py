"""Following a start-up: bytes of a log → segments → records → markers → phases, READY, failure.

Theory of operation. `segments` cuts bytes at CR and LF and takes glued records apart. `prefixes`
peels off what containers, launchers and engines put before a message and keeps rank and time.
`catalog` is what is known of engines (data: `markers.toml`). `reading` holds one run as it is read;
`phases` turns markers into intervals, `suspicion` collects what looks like a failure, `causes`
chooses the one that is the root and `sentences` says it. `tracker.step` is the machine around it.
"""
