"""The configuration: where its files are, what they may say, what counts for a host."""
