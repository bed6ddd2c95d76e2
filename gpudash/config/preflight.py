"""The [preflight.NAME] sections of a configuration file: the user's own checks before a launch.

Each looks at one thing: a port, a path, free disk, shared memory, or whether a command ends with 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from gpudash.config.schema import Key, Place, Setting
from gpudash.core.errors import UsageError
from gpudash.core.launch.checks import Check, Kind
from gpudash.core.units import parse_duration, parse_size

LONGEST_S = 600.0


def _port(value: object) -> Setting:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 65535:
        raise ValueError
    return value


def _text(value: object) -> Setting:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError
    return value


def _size(value: object) -> Setting:
    try:
        parse_size(str(_text(value)), flag="size")
    except UsageError as error:
        raise ValueError from error
    return str(value)


def _argv(value: object) -> Setting:
    if not isinstance(value, list) or not value:
        raise ValueError
    return tuple(str(_text(word)) for word in value)


def _patience(value: object) -> Setting:
    try:
        seconds = parse_duration(str(_text(value)), flag="timeout")
    except UsageError as error:
        raise ValueError from error
    if not 0.1 <= seconds <= LONGEST_S:
        raise ValueError
    return str(value)


_SIZE = 'a size, like "200GiB"'
KEYS = (
    Key(
        name="port",
        place=Place.PREFLIGHT,
        expects="a number from 1 to 65535",
        check=_port,
        default=None,
        example=30000,
        doc="Nobody listens on this port.",
    ),
    Key(
        name="path",
        place=Place.PREFLIGHT,
        expects='a path, like "/models/draft"',
        check=_text,
        default=None,
        example="/models/draft",
        doc="This is there and can be read; with free_disk: the disk that is meant.",
    ),
    Key(
        name="free_disk",
        place=Place.PREFLIGHT,
        expects=_SIZE,
        check=_size,
        default=None,
        example="200GiB",
        doc="So much is free on the disk of path, or of the command's folder.",
    ),
    Key(
        name="shm",
        place=Place.PREFLIGHT,
        expects=_SIZE,
        check=_size,
        default=None,
        example="16GiB",
        doc="So much is free in /dev/shm.",
    ),
    Key(
        name="command",
        place=Place.PREFLIGHT,
        expects='a list of words, like ["nvidia-smi", "nvlink", "-s"]',
        check=_argv,
        default=None,
        example=("test", "-s", "/models/draft/config.json"),
        doc="This ends with 0, on the host, without a shell.",
    ),
    Key(
        name="timeout",
        place=Place.PREFLIGHT,
        expects='a duration up to "10m", like "30s"',
        check=_patience,
        default=None,
        example="30s",
        doc="So long the command may take.",
    ),
)
PREFLIGHT_KEYS = {key.name: key for key in KEYS}
_SUBJECTS = ("port", "free_disk", "shm", "command", "path")
"""What a check is about; a path beside free_disk only says where."""


def check_of(name: str, values: Mapping[str, Setting], where: str) -> Check:
    """Return the check of one section. Raises ValueError with what is wrong, as a clause."""
    subjects = [key for key in _SUBJECTS if key in values]
    if "free_disk" in subjects and "path" in subjects:
        subjects.remove("path")
    if len(subjects) != 1:
        said = " and ".join(subjects) or "nothing"
        raise ValueError(f"looks at {said}: it needs one of {', '.join(_SUBJECTS)}")
    subject = subjects[0]
    if "timeout" in values and subject != "command":
        raise ValueError("has a timeout, which belongs to a command")
    kind, arguments = _arguments(subject, values)
    return Check(name=name, kind=kind, origin=where, arguments=arguments)


def _arguments(subject: str, values: Mapping[str, Setting]) -> tuple[Kind, dict[str, object]]:
    value = values[subject]
    match subject:
        case "port":
            return Kind.PORT_FREE, {"port": value}
        case "path":
            return Kind.PATH_EXISTS, {"path": value}
        case "free_disk":
            size = parse_size(str(value), flag="free_disk")
            return Kind.FREE_DISK, {"path": values.get("path", "."), "bytes": size}
        case "shm":
            return Kind.SHM, {"bytes": parse_size(str(value), flag="shm")}
        case _:
            limit = parse_duration(str(values.get("timeout", "30s")), flag="timeout")
            words = list(value) if isinstance(value, tuple) else []
            return Kind.COMMAND, {"argv": words, "timeout_s": limit}
