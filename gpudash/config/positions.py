"""On which line of a TOML text a key stands: tomllib tells values, not places.

Only for a text that tomllib has read already, so nothing here looks for errors. A key inside an
inline table has the line of the statement it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Path = tuple[str, ...]

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}|\'\'\'.*?\'{3,5}|"(?:\\.|[^"\\\n])*"|\'[^\'\n]*\''
    r"|\#[^\n]*|\n|[\[\]{}=]|[^\[\]{}=\#\"'\n]+",
    re.DOTALL,
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def key_lines(text: str) -> dict[Path, int]:
    """Return the line, from 1, of every table header and every key, by its full path."""
    found: dict[Path, int] = {}
    table: Path = ()
    for line, key, is_header in _statements(text.replace("\r\n", "\n")):
        path = _path(key, is_header=is_header)
        if is_header:
            table = path
            found.setdefault(table, line)
        else:
            found.setdefault(table + path, line)
    return found


def line_of(lines: dict[Path, int], path: Path) -> int:
    """Return the line of a key, or of the nearest table around it; 1 where none is known."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    # `[hosts.a]` makes the table `hosts` without a header of its own.
    return min((line for key, line in lines.items() if key[: len(path)] == path), default=1)


def _statements(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield (line, header or key as written, is it a header) of each statement."""
    line, start, depth = 1, 1, 0
    key, is_value = "", False
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token == "\n" and depth == 0:
            if key.strip() and not is_value:
                yield start, key.strip(), True
            key, is_value = "", False
        elif token.startswith("#") or (is_value and token not in ("[", "]", "{", "}")):
            pass
        elif token == "=":
            yield start, key.strip(), False
            is_value = True
        elif is_value:
            depth += 1 if token in "[{" else -1
        else:
            if not key.strip():
                start = line
            key += token
        line += token.count("\n")
    if key.strip() and not is_value:
        yield start, key.strip(), True


def _path(key: str, *, is_header: bool) -> Path:
    """Return the parts of a dotted key; tomllib reads the quotes."""
    if _BARE.fullmatch(key):
        return (key,)
    import tomllib

    node: object = tomllib.loads(key if is_header else f"{key} = 0")
    parts: list[str] = []
    while isinstance(node, (dict, list)) and node:
        if isinstance(node, list):
            node = node[0]
            continue
        name, node = next(iter(node.items()))
        parts.append(name)
    return tuple(parts)
