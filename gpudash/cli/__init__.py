"""The command line: arguments in, one writer of stdout, one of stderr, an exit code out."""
