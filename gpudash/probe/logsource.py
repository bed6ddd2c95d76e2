"""From what a log is called to what reads it: a path, a pid's output, a command's, a pane."""

import os

from gpudash.probe.logfile import LogFile, Unreadable, why_no_log


def source_of(command):
    """Return reader and pid (or None) of a `tail` command. Raises Unreadable, ValueError."""
    of = command["of"]
    pid = command.get("pid")
    if "path" in of:
        path = _path_of(of["path"])
        return _file(path, command), pid
    raise ValueError("of what is the log?")


def _path_of(value):
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("a path is needed")
    return os.path.expanduser(value)


def _file(path, command):
    start = command.get("from", "anchor")
    if type(start) is not int and start not in ("anchor", "start", "end"):
        raise ValueError("from where?")
    try:
        status = os.stat(path)
    except OSError:
        status = None
    if status is not None:
        words = why_no_log(status, path)
        if words:
            raise Unreadable(words)
        if not os.access(path, os.R_OK):
            raise Unreadable("%s may not be read: it belongs to uid %d" % (path, status.st_uid))
    anchors = command.get("anchors", ())
    return LogFile(path, start, command.get("inode"), command.get("head"), anchors)
