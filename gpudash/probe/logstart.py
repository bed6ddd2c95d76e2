"""Finds where the newest start-up begins in the last 4 MiB of a log.

The lines that begin one come from the local side, which knows engines. Several close to each other
are one start: each process says it. What belongs to a start may stand a little before it.
"""

import os
import re

READ_BACK = 4 * 1024 * 1024
MOST_COUNTED = 64 * 1024 * 1024
NEAR = 64 * 1024  # anchors this close to each other belong to one start
PRELUDE = 4096  # what belongs to a start may stand so far before its anchor
LONGEST = 4096  # of a line, as patterns look at it


def last_start(fd, size, anchors):
    """Return where the newest start in the last 4 MiB begins, else the first whole line there."""
    base = size - READ_BACK
    data = os.pread(fd, READ_BACK, base)
    places = _places(data, anchors)
    marks = [place for place, is_anchor in places if is_anchor]
    if not marks:
        return base + data.find(b"\n") + 1
    at = marks[-1]
    for place in reversed(marks):
        if at - place <= NEAR:
            at = place
    near = [place for place, is_anchor in places if not is_anchor and 0 < at - place <= PRELUDE]
    return base + min(near + [at])


def _places(data, anchors):
    """Return where lines with anchors begin, in their order, and whether they are anchors."""
    found = {}
    for word, pattern, is_anchor in anchors:
        known = word.encode("utf-8")
        check = re.compile(pattern.encode("utf-8"))
        at = data.find(known)
        while at >= 0:
            begin = data.rfind(b"\n", 0, at) + 1
            end = data.find(b"\n", at)
            if check.search(data[begin : end if end >= 0 else len(data)][:LONGEST]):
                found[begin] = found.get(begin, False) or bool(is_anchor)
            at = data.find(known, end if end > at else at + len(known))
    return sorted(found.items())


def line_at(fd, offset):
    """Return the number of the line at an offset, or None where counting takes too long."""
    if offset > MOST_COUNTED:
        return None
    line = 1
    at = 0
    while at < offset:
        data = os.pread(fd, min(1 << 20, offset - at), at)
        if not data:
            return None
        line += data.count(b"\n")
        at += len(data)
    return line
