"""Follows logs: one thread a log, which reads only as fast as the link takes it.

Whatever it is read from ends with the hand: children are told by the kernel when we are gone.
"""

import base64
import threading

from gpudash.probe.line import now
from gpudash.probe.lineage import Tree
from gpudash.probe.logfile import Unreadable
from gpudash.probe.logsource import source_of, writer_behind

POLL_S = 0.2
SIGNS_S = 1.0
SEARCH_S = 5.0  # between two looks for who writes the file
MOST_TAILS = 16


class Tails(object):
    """All logs that one hand follows."""

    def __init__(self, wire):
        self._wire = wire
        self._tails = {}

    def obey(self, command):
        """Begin to follow a log, or end it."""
        self._tails = {key: tail for key, tail in self._tails.items() if not tail.is_over}
        if command["do"] == "untail":
            tail = self._tails.pop(command.get("tail"), None)
            if tail is not None:
                tail.stop()
            self._wire.ack(command, "" if tail is not None else "no such tail")
            return
        if len(self._tails) >= MOST_TAILS:
            self._wire.ack(command, "%d logs are followed already" % MOST_TAILS)
            return
        try:
            tail = Tail(command, self._wire)
        except (Unreadable, KeyError, TypeError, ValueError) as error:
            self._wire.ack(command, str(error) or type(error).__name__)
            return
        self._tails[command["id"]] = tail
        self._wire.ack(command)
        tail.start()


class Tail(object):
    """One log that is followed."""

    def __init__(self, command, wire):
        """Find out what is to be read. Raises Unreadable with words that say why not."""
        self._id = command["id"]
        self._wire = wire
        self._ended = threading.Event()
        self._is_once = command.get("once") is True
        self._reader, self._pid = source_of(command)
        self._tree = Tree(self._pid) if self._pid else None
        self._next_signs = 0.0
        self._next_search = 0.0
        self._head = None
        self._is_live = False
        self.is_over = False

    def start(self):
        """Read in a thread of our own."""
        threading.Thread(target=self._work, daemon=True).start()

    def stop(self):
        """Read no further."""
        self._ended.set()

    def _work(self):
        try:
            while not self._ended.is_set():
                self._round()
        except Unreadable as error:
            self._send(note="unreadable", words=str(error))
        except Exception as error:
            # A thread that died in silence would look like a log that is silent.
            self._send(note="failed", words="%s: %s" % (type(error).__name__, error))
        finally:
            self.is_over = True
            self._reader.close()

    def _round(self):
        """Pass on what there is; wait where there is nothing."""
        piece = self._reader.read()
        signs = self._signs()
        if piece is not None:
            self._pass_on(piece, signs)
            if piece.note in ("ended", "failed"):
                self._ended.set()
            elif piece.note == "opened" and self._tree is None and not self._is_once:
                self._send(note="nobody")
            return
        if signs:
            self._send(**signs)
        if self._is_once and self._reader.is_at_end():
            self._send(note="ended")
            self._ended.set()
            return
        if not self._is_live and self._reader.is_at_end():
            # From here on a byte is news.
            self._is_live = True
            self._send(note="live")
        self._reader.wait(self._ended, POLL_S)

    def _pass_on(self, piece, signs):
        fields = dict(signs, offset=piece.offset, data=base64.b64encode(piece.data).decode())
        if piece.note:
            fields["note"] = piece.note
        self._send(**dict(fields, **piece.more))

    def _send(self, **fields):
        head = self._reader.head()
        if head is not None and head != self._head:
            self._head = fields["head"] = head
        fields.setdefault("offset", self._reader.offset)
        self._wire.send(t="log", id=self._id, inode=self._reader.inode, **fields)

    # -- signs of life -------------------------------------------------------------------------

    def _signs(self):
        """Return what the processes behind the log do, once a second."""
        at = now()
        if at < self._next_signs:
            return {}
        self._next_signs = at + SIGNS_S
        if self._tree is None and at >= self._next_search:
            self._next_search = at + SEARCH_S
            pid = writer_behind(self._reader)
            self._tree = Tree(pid) if pid else None
        if self._tree is None:
            return {}
        return {"signs": self._tree.look()}
