"""From what a log is called to what reads it: a path, a pid's output, a command's, a pane."""

import os
import re
import stat

from gpudash.probe.lineage import writer_of
from gpudash.probe.logchild import LogChild, Plain
from gpudash.probe.logfile import LogFile, Unreadable, why_no_log
from gpudash.probe.loglines import Journal, Stamped
from gpudash.probe.logpane import LogPane, pane_of_tty, pid_of_pane
from gpudash.probe.processes import argv_of, is_pid

MOST_LINES = 50000  # of an old log that a command prints
MOST_WORDS = 64
_NAME = re.compile(r"[A-Za-z0-9@%$:][\w.@:/%$\\-]{0,250}\Z")
_UNIT = re.compile(r"/([^/]+\.service)(?:/|$)")


def source_of(command):
    """Return reader and pid (or None) of a `tail` command. Raises Unreadable, ValueError."""
    of = command["of"]
    pid = command.get("pid")
    cursor = command.get("cursor")
    follows = command.get("once") is not True
    if "path" in of:
        return _file(_path_of(of["path"]), command), pid
    if "pid" in of:
        return _of_pid(of["pid"], command), of["pid"]
    if "pane" in of:
        pane = _name_of(of["pane"])
        reader = LogPane(pane)
        return reader, pid or pid_of_pane(pane)
    if "unit" in of:
        return LogChild(_journalctl(_name_of(of["unit"]), cursor, follows), Journal(cursor)), pid
    for kind, program in (("container", "docker"), ("podman", "podman")):
        if kind in of:
            argv = _logs(program, _name_of(of[kind]), cursor, follows)
            return LogChild(argv, Stamped(cursor), merges=True), pid
    if "pod" in of:
        argv = _kubectl(_name_of(of["pod"]), cursor, follows, command.get("previous") is True)
        return LogChild(argv, Stamped(cursor)), pid
    if "argv" in of:
        return LogChild(_words_of(of["argv"]), Plain(cursor), merges=True), pid
    raise ValueError("of what is the log?")


# -- commands ----------------------------------------------------------------------------------


def _journalctl(unit, cursor, follows):
    argv = ["journalctl", "--unit", unit, "--output", "json", "--all", "--no-pager"]
    if cursor and cursor[0]:
        argv.append("--after-cursor=%s" % cursor[0])
    else:
        argv.append("--lines=%d" % MOST_LINES)
    return argv + (["--follow"] if follows else [])


def _logs(program, name, cursor, follows):
    argv = [program, "logs", "--timestamps"]
    argv += ["--since", cursor[0]] if _is_stamped(cursor) else ["--tail", str(MOST_LINES)]
    return argv + (["--follow"] if follows else []) + [name]


def _kubectl(name, cursor, follows, is_previous):
    space, _, pod = name.rpartition("/")
    argv = ["kubectl", "logs", "--timestamps"]
    argv += ["--namespace", space] if space else []
    stamped = _is_stamped(cursor)
    argv.append("--since-time=%s" % cursor[0] if stamped else "--tail=%d" % MOST_LINES)
    if is_previous:
        argv.append("--previous")
    elif follows:
        argv.append("--follow")
    return argv + [pod]


def _is_stamped(cursor):
    return bool(cursor and len(cursor) == 3 and cursor[0])


def _name_of(value):
    """Return a name that no command can take for an option. Raises ValueError."""
    if not isinstance(value, str) or not _NAME.match(value):
        raise ValueError("not a name: %s" % str(value)[:80])
    return value


def _words_of(value):
    is_good = isinstance(value, list) and 0 < len(value) <= MOST_WORDS
    if not is_good or any(not isinstance(word, str) or "\0" in word for word in value):
        raise ValueError("argv must be a list of words")
    return value


# -- files -------------------------------------------------------------------------------------


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
    anchors = command.get("anchors") or ()
    return LogFile(path, start, command.get("inode"), command.get("head"), anchors)


# -- where a process's output goes -------------------------------------------------------------


def _of_pid(pid, command):
    """Return what reads a process's output. Raises Unreadable saying where it goes instead."""
    if not is_pid(pid):
        raise ValueError("not a pid")
    found = []
    why = ""
    for number in (1, 2):
        path = "/proc/%d/fd/%d" % (pid, number)
        try:
            found.append((os.stat(path), path, os.readlink(path)))
        except OSError as error:
            why = os.strerror(error.errno or 0)
    if not found:
        raise Unreadable("where the output of pid %d goes can't be seen: %s" % (pid, why))
    files = [one for one in found if stat.S_ISREG(one[0].st_mode)]
    if files:
        # Two files: the one that was written to last says where it is.
        status, path, link = max(files, key=lambda one: one[0].st_mtime)
        is_there = _is_file(link, status)
        return _file(link if is_there else path, command)
    for status, _, link in found:
        if stat.S_ISCHR(status.st_mode) and link.startswith("/dev/pts/"):
            pane = pane_of_tty(link)
            if pane is None:
                words = "the output of pid %d goes to a terminal (%s) that is no tmux pane"
                raise Unreadable(words % (pid, link))
            return LogPane(pane)
        if stat.S_ISFIFO(status.st_mode):
            return _behind_pipe(pid, link, command)
        if stat.S_ISSOCK(status.st_mode):
            raise Unreadable(_socket_words(pid))
    raise Unreadable("the output of pid %d goes to %s: nothing is kept of it" % (pid, found[0][2]))


def _is_file(link, status):
    try:
        its = os.stat(link)
    except OSError:
        return False
    return (its.st_dev, its.st_ino) == (status.st_dev, status.st_ino)


def _behind_pipe(pid, link, command):
    """Return the file that whoever reads the pipe writes, as `tee` does."""
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == pid:
            continue
        try:
            if os.readlink("/proc/%s/fd/0" % name) != link:
                continue
        except OSError:
            continue
        reader = int(name)
        words = argv_of(reader, 200)
        what = os.path.basename(words[0]) if words else "?"
        for number in (3, 4, 5):
            path = "/proc/%d/fd/%d" % (reader, number)
            try:
                status, target = os.stat(path), os.readlink(path)
            except OSError:
                continue
            if what == "tee" and stat.S_ISREG(status.st_mode):
                return _file(target if _is_file(target, status) else path, command)
        words = "the output of pid %d goes into a pipe that pid %d (%s) reads: name its log instead"
        raise Unreadable(words % (pid, reader, what))
    raise Unreadable("the output of pid %d goes into a pipe: name its log instead" % pid)


def _socket_words(pid):
    try:
        with open("/proc/%d/cgroup" % pid) as file:
            unit = _UNIT.search(file.read())
    except OSError:
        unit = None
    hint = "follow --unit %s" % unit.group(1) if unit else "name its log instead"
    return "the output of pid %d goes into a socket, as the journal's does: %s" % (pid, hint)


def writer_behind(reader):
    """Return who writes what is read, or None."""
    return writer_of(reader.file()) if isinstance(reader, LogFile) else None
