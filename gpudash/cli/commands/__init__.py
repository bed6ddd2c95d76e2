"""One module a command; each offers `run(words) -> exit code`."""
