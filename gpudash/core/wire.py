"""The wire between a host's probe and this side, version 1 (design §5).

Bytes in any chunking become events; nothing that comes in can make memory grow beyond one
line, one scan apart, raise, or turn into a reading that was not complete. Everything before the
handshake token is noise (banners, MOTD) and is dropped.
"""

from __future__ import annotations

import json

from gpudash.core.events import Garbled, ProbeEvent
from gpudash.core.lines import PROTOCOL as PROTOCOL
from gpudash.core.lines import READING_FIELDS as READING_FIELDS
from gpudash.core.lines import event_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gpudash.core.kinlines import KindredParts
    from gpudash.core.scanlines import ScanParts

MAX_LINE_BYTES = 64 * 1024
MAX_NOISE_BYTES = 1 << 20
"""So much may come before the token, or between two lines of the wire; a host that sends more is
given up."""
_EMPTY_LINE_COSTS = 64
"""A line of garbage is an event, however short it is."""

SAMPLER_COMMANDS = ("bye", "detail", "once", "ping", "rate", "release")
HAND_COMMANDS = (
    "abort",
    "bye",
    "environment",
    "kindred",
    "launch",
    "leavings",
    "managers",
    "order",
    "ping",
    "preflight",
    "process",
    "report",
    "scan",
    "tail",
    "untail",
    "url",
)


PART_CHARS = 24 * 1024
"""Of a command's text in one line; written as text in JSON it may become twice as long."""
MAX_PARTS = 100


def encode_command(command_id: int, do: str, **arguments: object) -> bytes:
    """Return one command as a line; a long one as numbered parts, each a line that may be.

    The other side joins `{"id", "do": "part", "n": K, "of": N, "text"}` and obeys the text. Raises
    ValueError for one of more than MAX_PARTS.
    """
    text = json.dumps({"id": command_id, "do": do, **arguments})
    if len(text) < MAX_LINE_BYTES:
        return text.encode() + b"\n"
    starts = range(0, len(text), PART_CHARS)
    if len(starts) > MAX_PARTS:
        raise ValueError(f"a command of {len(text)} characters is no command")
    parts = (
        {
            "id": command_id,
            "do": "part",
            "n": number,
            "of": len(starts),
            "text": text[start : start + PART_CHARS],
        }
        for number, start in enumerate(starts)
    )
    return b"".join(json.dumps(part).encode() + b"\n" for part in parts)


class LineDecoder:
    """Turn bytes into events; one decoder for one probe process."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._rest = b""
        self._is_open = False
        self._is_skipping = False
        self._noise = 0
        self._scan: ScanParts | None = None
        self._kindred: KindredParts | None = None

    @property
    def is_open(self) -> bool:
        """Tell whether the token came: everything from here on is the probe's."""
        return self._is_open

    @property
    def is_hopeless(self) -> bool:
        """Tell whether so much noise came in a row that waiting makes no sense."""
        return self._noise > MAX_NOISE_BYTES

    def feed(self, data: bytes) -> list[ProbeEvent]:
        """Take the next bytes and return the events that are complete with them."""
        *lines, rest = (self._rest + data).split(b"\n")
        events: list[ProbeEvent] = []
        for line in lines:
            if self._is_skipping:
                self._is_skipping = False
                continue
            if self.is_hopeless:
                return events
            event = self._line(line)
            if event is not None:
                events.append(event)
        if not self._is_open:
            # Only the end of a line of noise can be the token.
            self._noise += max(0, len(rest) - len(self._token) - 1)
            rest = rest[-len(self._token) - 1 :]
        elif len(rest) > MAX_LINE_BYTES:
            if not self._is_skipping:
                events.append(self._garbage("a line is longer than 64 KiB", rest))
            else:
                self._noise += len(rest)
            self._is_skipping = True
            rest = b""
        self._rest = rest
        return events

    def _line(self, line: bytes) -> ProbeEvent | None:
        if not self._is_open:
            if line.removesuffix(b"\r").endswith(self._token):
                self._is_open = True
                self._noise = 0
            else:
                self._noise += len(line) + 1
            return None
        if len(line) > MAX_LINE_BYTES:
            return self._garbage("a line is longer than 64 KiB", line)
        try:
            value = json.loads(line)
            kind = value.get("t") if isinstance(value, dict) else None
            if kind == "holders":
                event = self._scan_part(value)
            elif kind == "order":
                event = _order_line(value)
            elif kind == "leavings":
                event = _leavings_line(value)
            elif kind in ("launched", "exited", "preflight"):
                event = _launch_line(value)
            elif kind in ("log", "url"):
                event = _startup_line(value)
            elif kind == "kindred":
                event = self._kindred_part(value)
            elif kind == "detail":
                event = _detail_line(value)
            else:
                event = event_of(value)
        except (ValueError, RecursionError) as error:
            return self._garbage(str(error) or type(error).__name__, line)
        self._noise = 0
        return event

    def _scan_part(self, value: dict[str, object]) -> ProbeEvent | None:
        """Keep a part of a scan; with the last one the scan is whole. Raises InvalidLine."""
        if self._scan is None:
            from gpudash.core.scanlines import ScanParts

            self._scan = ScanParts()
        return self._scan.take(value)

    def _kindred_part(self, value: dict[str, object]) -> ProbeEvent | None:
        """Keep a part of a look at families; whole with the last. Raises InvalidLine."""
        if self._kindred is None:
            from gpudash.core.kinlines import KindredParts

            self._kindred = KindredParts()
        return self._kindred.take(value)

    def _garbage(self, reason: str, line: bytes) -> Garbled:
        self._noise += len(line) + _EMPTY_LINE_COSTS
        return _garbled(reason, line)


def _order_line(value: dict[str, object]) -> ProbeEvent:
    from gpudash.core.cleanup.reports import report_of
    from gpudash.core.events import OrderTold

    return OrderTold(report=report_of(value))


def _leavings_line(value: dict[str, object]) -> ProbeEvent:
    from gpudash.core.cleanup.leavings import leavings_of
    from gpudash.core.events import LeavingsTold

    return LeavingsTold(leavings=leavings_of(value))


def _launch_line(value: dict[str, object]) -> ProbeEvent:
    from gpudash.core.launch.lines import event_of_launch

    return event_of_launch(value)


def _startup_line(value: dict[str, object]) -> ProbeEvent:
    from gpudash.core.startup.loglines import told_of

    return told_of(value)


def _detail_line(value: dict[str, object]) -> ProbeEvent:
    from gpudash.core.events import DetailTold
    from gpudash.core.gpudetail import detail_of

    return DetailTold(detail=detail_of(value))


def _garbled(reason: str, line: bytes) -> Garbled:
    excerpt = line[:120].decode("ascii", "replace")
    printable = "".join(char if char.isprintable() else "?" for char in excerpt)
    return Garbled(reason=reason[:200], excerpt=printable)


# -- how a probe ended -------------------------------------------------------------------------

_ENDINGS = {
    96: (
        "python3 too old",
        "The python3 on the host is older than 3.6.",
        "Install a newer one beside it.",
    ),
    97: ("no python3", "No python3 was found on the host.", "Install python3 (3.6 or newer)."),
    98: ("probe cut off", "The probe did not arrive whole.", "Try again; is the link stable?"),
    99: ("probe failed", "The probe failed on the host.", "gpudash doctor shows its last words."),
    126: ("python3 can't run", "python3 is there and may not be run.", "Check its permissions."),
    127: ("no python3", "No python3 was found on the host.", "Install python3 (3.6 or newer)."),
    137: ("probe killed", "Something killed the probe with SIGKILL.", "Out of memory? See dmesg."),
    143: ("probe ended", "Something ended the probe with SIGTERM.", ""),
    255: ("link failed", "ssh itself failed.", "Try: ssh HOST true"),
}


GARBAGE = (
    "garbage",
    "The host sends text without end that is not the probe's.",
    "Does a command in its shell's start-up files talk?",
)


def ending(exit_status: int, *, has_begun: bool = True) -> tuple[str, str, str]:
    """Return title, sentence and advice for the exit status of a probe (design §5).

    A signal comes as a negative number or as 128 plus the signal. `has_begun` tells whether the
    probe said its first word: before that, what ended is a shell or something called python3.
    """
    status = 128 - exit_status if exit_status < 0 else exit_status
    default = ("probe ended", f"The probe ended with exit code {status}.", "")
    if not has_begun:
        default = (
            "probe not started",
            f"The login shell or python3 there ended with exit code {status}.",
            "Try: ssh HOST python3 --version",
        )
    return _ENDINGS.get(status, default)
