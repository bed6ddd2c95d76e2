"""From the text of a configuration file to a layer, and to what is wrong with it.

Nothing is raised for what a file says: every problem is returned with its line, so that
`gpudash config validate` can name them all. Checked is what stands in the file; whether a group's
hosts make sense is seen when it is expanded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from gpudash.config.layers import Group, Layer, Origin, Section, Value
from gpudash.config.positions import Path, key_lines, line_of
from gpudash.config.schema import ALERT_KEYS, HOST_KEYS, TABLES, TOP_KEYS, Key, in_toml
from gpudash.core.errors import UsageError
from gpudash.core.hostnames import GROUP_NAME
from gpudash.core.hostranges import expand_range
from gpudash.core.hostspec import shown
from gpudash.core.nearest import nearest

_PATTERN = re.compile(r"[\w.:%+*?\[][\w.@:%+*?\[\]-]*")
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_KIND = {
    bool: "a truth value",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a table",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with a file."""

    path: str
    line: int
    message: str
    hint: str = ""

    @property
    def sentence(self) -> str:
        """Return file, line and what is wrong."""
        return f"{self.path}:{self.line}: {self.message}"


def parse_document(text: str, path: str, origin: Origin) -> tuple[Layer, tuple[Problem, ...]]:
    """Read the text of a file; return what is right in it, and everything that is wrong."""
    import tomllib

    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        return Layer(origin=origin, path=path), (_not_toml(str(error), text, path),)
    reader = _Reader(path=path, lines=key_lines(text))
    layer = Layer(
        origin=origin,
        path=path,
        top=reader.values({key: table[key] for key in table if key not in TABLES}, (), TOP_KEYS),
        groups=reader.groups(table.get("groups", {})),
        sections=reader.sections(table.get("hosts", {})),
    )
    if "cleanup" in table:
        layer = reader.with_cleanup(layer, table["cleanup"])
    if "alerts" in table:
        alerts = reader.table(table["alerts"], ("alerts",))
        layer = replace(layer, alerts=reader.values(alerts, ("alerts",), ALERT_KEYS))
    if "keys" in table:
        layer = replace(layer, keys=reader.keys(table["keys"]))
    if "preflight" in table:
        layer = reader.with_preflights(layer, table["preflight"])
    return layer, tuple(sorted(reader.problems, key=lambda problem: problem.line))


def _not_toml(message: str, text: str, path: str) -> Problem:
    place = _TOML_PLACE.search(message)
    line = int(place[1]) if place and place[1] else text.count("\n") + 1
    said = _TOML_PLACE.sub("", message).rstrip(".")
    hint = 'Texts stand in quotes: theme = "gpudash-dark"'
    return Problem(path=path, line=line, message=f"not TOML: {shown(said)}", hint=hint)


@dataclass(slots=True)
class _Reader:
    """Turns tables into values; collects what is wrong."""

    path: str
    lines: dict[Path, int]
    problems: list[Problem] = field(default_factory=list)

    def values(self, table: dict[str, object], at: Path, keys: dict[str, Key]) -> dict[str, Value]:
        """Return the valid values of a table."""
        found: dict[str, Value] = {}
        for name, value in table.items():
            path = (*at, name)
            if name not in keys:
                self._wrong(path, f"unknown key {_dotted(path)}", _near(name, keys, at))
                continue
            try:
                found[name] = Value(value=keys[name].check(value), where=self._where(path))
            except ValueError:
                expects = keys[name].expects
                self._wrong(path, f"{_dotted(path)} must be {expects}, not {_told(value)}")
        return found

    def groups(self, table: object) -> dict[str, Group]:
        """Return the valid groups."""
        found: dict[str, Group] = {}
        for name, words in self.table(table, ("groups",)).items():
            path = ("groups", name)
            if not GROUP_NAME.fullmatch(name):
                self._wrong(path, f"{_dotted(path)}: a group's name has letters, digits and ._-")
            elif not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                expects = 'a list of hosts, like ["gpu-a", "node[01-32]"]'
                self._wrong(path, f"{_dotted(path)} must be {expects}, not {_told(words)}")
            else:
                found[name] = Group(words=tuple(words), where=self._where(path))
        return found

    def sections(self, table: object) -> tuple[Section, ...]:
        """Return the valid sections, in order."""
        found: list[Section] = []
        for pattern, inner in self.table(table, ("hosts",)).items():
            path = ("hosts", pattern)
            values = self.values(self.table(inner, path), path, HOST_KEYS)
            try:
                names = [name.lower() for name in expand_range(pattern)]
                if not all(_PATTERN.fullmatch(name) for name in names):
                    raise UsageError(
                        f"{shown(pattern)} is no host name, range or glob",
                        hint='Examples: [hosts.gpu-a], [hosts."node[01-32]"], [hosts."gpu-*"]',
                    )
            except UsageError as error:
                self._wrong(path, f"{_dotted(path)}: {error.message}", error.hint)
                continue
            found.append(
                Section(
                    pattern=pattern,
                    exact=frozenset(name for name in names if not re.search(r"[*?]", name)),
                    globs=tuple(name for name in names if re.search(r"[*?]", name)),
                    values=values,
                    where=self._where(path),
                )
            )
        return tuple(found)

    def with_cleanup(self, layer: Layer, table: object) -> Layer:
        """Return the layer with what [cleanup] says."""
        # Loaded only where somebody wrote one: most configurations have none.
        from gpudash.config.cleanup import read_rule, read_values

        inner = dict(self.table(table, ("cleanup",)))
        entries = inner.pop("protect", [])
        values, wrong = read_values(inner)
        if not isinstance(entries, list):
            entries, wrong = [], [*wrong, ("protect", "must be tables, [[cleanup.protect]]")]
        rules = []
        for entry in entries:
            rule, problems = read_rule(entry)
            rules += [rule] if rule is not None else []
            wrong += [("protect" if not key else f"protect.{key}", why) for key, why in problems]
        for key, why in wrong:
            path = ("cleanup", *key.split("."))
            self._wrong(path, f"{_dotted(path)} {why}")
        found = {
            name: Value(value=value, where=self._where(("cleanup", name)))
            for name, value in values.items()
        }
        return replace(layer, cleanup=found, protect=tuple(rules))

    def keys(self, table: object, at: Path = ("keys",)) -> dict[str, Value]:
        """Return the entries of [keys] by the ids of actions, which may stand without quotes."""
        found: dict[str, Value] = {}
        for name, value in self.table(table, at).items():
            path = (*at, name)
            if isinstance(value, dict):
                found |= self.keys(value, path)
            elif isinstance(value, str):
                found[".".join(path[1:])] = Value(value=value, where=self._where(path))
            else:
                self._wrong(path, f'{_dotted(path)} must be keys, like "c,f5", not {_told(value)}')
        return found

    def with_preflights(self, layer: Layer, table: object) -> Layer:
        """Return the layer with the checks of [preflight.NAME]."""
        from gpudash.config.preflight import PREFLIGHT_KEYS, check_of

        found = {}
        for name, inner in self.table(table, ("preflight",)).items():
            path = ("preflight", name)
            before = len(self.problems)
            values = self.values(self.table(inner, path), path, PREFLIGHT_KEYS)
            if not GROUP_NAME.fullmatch(name) or name == "none":
                self._wrong(path, f"{_dotted(path)}: a name has letters, digits and ._-, no none")
            if len(self.problems) > before:
                continue
            try:
                plain = {key: one.value for key, one in values.items()}
                found[name] = check_of(name, plain, self._where(path))
            except ValueError as error:
                self._wrong(path, f"{_dotted(path)} {error}")
        return replace(layer, preflights=found)

    def table(self, value: object, path: Path) -> dict[str, object]:
        """Return a table, an empty one for what is none."""
        if isinstance(value, dict):
            return value
        self._wrong(path, f"{_dotted(path)} must be a table, [{_dotted(path)}], not {_told(value)}")
        return {}

    def _where(self, path: Path) -> str:
        return f"{self.path}:{line_of(self.lines, path)}"

    def _wrong(self, path: Path, message: str, hint: str = "") -> None:
        line = line_of(self.lines, path)
        self.problems.append(Problem(path=self.path, line=line, message=message, hint=hint))


def _dotted(path: Path) -> str:
    """Write a key's path as TOML does: quotes where a part needs them."""
    return ".".join(
        part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else in_toml(shown(part)) for part in path
    )


def _told(value: object) -> str:
    """Say what stands there instead."""
    kind = _KIND.get(type(value), "a date")
    if isinstance(value, (bool, int, float, str)):
        text = in_toml(value) if not isinstance(value, float) else str(value)
        return f"{kind}: {shown(text)}"
    return kind


def _near(name: str, keys: dict[str, Key], at: Path) -> str:
    known = (*keys, *TABLES) if not at else tuple(keys)
    guess = nearest(name, known)
    if guess:
        return f"Did you mean {guess}?"
    for place, others in (
        ("at the top", TOP_KEYS),
        ("in [alerts]", ALERT_KEYS),
        ('in a [hosts."NAME"]', HOST_KEYS),
    ):
        if name in others:
            return f"{name} stands {place}."
    return f"Known here: {', '.join(known)}"
