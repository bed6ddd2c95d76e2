"""Lines that carry a time: taken up again after a cut without losing or doubling one."""

import json
import time

LONGEST_STAMP = 40
LONGEST_ENTRY = 8 * 1024 * 1024
MOST_OUT = 20000


class Stamped(object):
    """Lines of containers, each behind a time in RFC 3339 and a blank."""

    def __init__(self, cursor):
        """`cursor`: the newest time, how many whole lines have it, and bytes of the next one."""
        known = cursor if cursor and len(cursor) == 3 else ["", 0, 0]
        self._stamp, self._count, self._part = known
        self._until, self._dropped, self._skip = known
        self._is_resumed = bool(self._until) or bool(self._skip)
        self._start = b""
        self._here = ""
        self._in_line = False
        self._passes = True

    def feed(self, data):
        """Return what is new; the beginning of a line waits until its time is whole."""
        out = b""
        while data:
            if not self._in_line:
                self._start += data
                blank = self._start.find(b" ")
                end = self._start.find(b"\n")
                has_stamp = 0 <= blank and (end < 0 or blank < end)
                if not has_stamp and end < 0 and len(self._start) < LONGEST_STAMP:
                    return out
                data, self._start = self._start, b""
                self._begin(whole_stamp(data[:blank]) if has_stamp else "")
            line, newline, data = data.partition(b"\n")
            out += self._pass(line + newline)
            if newline:
                self._end()
        return out

    def _begin(self, stamp):
        self._in_line = True
        self._here = stamp
        self._part = 0
        if self._is_resumed:
            self._passes = not self._is_old(stamp)
            if self._passes:
                self._is_resumed = False
        else:
            self._skip = 0

    def _is_old(self, stamp):
        if not self._until or stamp > self._until:
            return False
        if stamp == self._until:
            if self._dropped <= 0:
                return False
            self._dropped -= 1
        return True

    def _pass(self, data):
        if not self._passes:
            return b""
        new = data[self._skip :]
        self._skip = max(0, self._skip - len(data))
        self._part += len(data)
        return new

    def _end(self):
        self._in_line = False
        if self._passes:
            same = self._here == self._stamp or not self._here
            self._count = self._count + 1 if same else 1
            self._stamp = self._here or self._stamp
            self._part = 0
            self._skip = 0
        self._passes = True

    def cursor(self):
        return [self._stamp, self._count, self._part]


def whole_stamp(data):
    """Return a time with nine digits of a second, so that texts compare as times do."""
    text = data.decode("ascii", "replace")
    if not text.endswith("Z"):
        return text
    head, _, digits = text[:-1].partition(".")
    return "%s.%sZ" % (head, digits.ljust(9, "0"))


class Journal(object):
    """Entries of `journalctl -o json`, as lines behind a time."""

    def __init__(self, cursor):
        self._cursor = cursor[0] if cursor else ""
        self._rest = b""

    def feed(self, data):
        """Return the entries that are complete now, as lines."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()[:LONGEST_ENTRY]
        return b"".join(self._line(line) for line in lines if line)

    def _line(self, line):
        try:
            entry = json.loads(line.decode("utf-8", "replace"))
            micros = int(entry.get("__REALTIME_TIMESTAMP", 0))
        except (ValueError, AttributeError):
            return line + b"\n"
        self._cursor = entry.get("__CURSOR", self._cursor)
        second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(micros // 1000000))
        head = "%s.%06dZ " % (second, micros % 1000000)
        return head.encode("ascii") + message_of(entry.get("MESSAGE")) + b"\n"

    def cursor(self):
        return [self._cursor]


def message_of(value):
    """Return a message as bytes; one with escape sequences comes as an array of them."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, list) and all(type(one) is int and 0 <= one < 256 for one in value):
        return bytes(bytearray(value))
    return b""
