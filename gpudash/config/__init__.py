"""Folders and, later, the configuration file."""
