"""The parser: from a text to a query, or to what is wrong and at which column. It never raises.

The printed form of a query reads as the same query again.
"""

from __future__ import annotations

import math
import re
from typing import NamedTuple

from gpudash.core.nearest import nearest
from gpudash.core.query.fields import FIELDS, NEEDS_UNIT, STATES, UNITS, Field, Measure, unit_of
from gpudash.core.query.tokens import Kind, Token, quoted, tokens_of

MOST_CHARACTERS = 400
MOST_DEPTH = 24
"""Of brackets and negations within each other."""
_NUMBER = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)\s*(.*)", re.DOTALL)


class Word(NamedTuple):
    """Found in the name of a host or of a family; `*` and `?` as in a shell."""

    text: str

    def __str__(self) -> str:
        return quoted(self.text)


class Same(NamedTuple):
    """A field that is a text or a state, compared with `=` or `!=`."""

    field: str
    is_equal: bool
    text: str

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.is_equal else '!='}{quoted(self.text)}"


class Compared(NamedTuple):
    """A field that is a number."""

    field: str
    operator: str
    amount: str
    """As written, without what changes nothing: `50`, `0.5`."""
    unit: str

    @property
    def value(self) -> float:
        """Return the amount in the measure's smallest unit."""
        units = {unit.name: unit.factor for unit in UNITS[FIELDS[self.field].measure]}
        return float(self.amount) * units[self.unit]

    @property
    def is_plain_memory(self) -> bool:
        """Tell whether no total is needed: bytes that are used."""
        return self.field == "mem" and self.unit != "%"

    def __str__(self) -> str:
        return f"{self.field}{self.operator}{self.amount}{self.unit}"


class Not(NamedTuple):
    """What the other does not match."""

    query: Query

    def __str__(self) -> str:
        return f"not {_inner(self.query)}"


class All(NamedTuple):
    """Every part; of none: everything."""

    parts: tuple[Query, ...] = ()

    def __str__(self) -> str:
        return " ".join(_inner(part) for part in self.parts)


class Some(NamedTuple):
    """At least one part."""

    parts: tuple[Query, ...]

    def __str__(self) -> str:
        return " or ".join(
            str(part) if isinstance(part, All) else _inner(part) for part in self.parts
        )


Query = Word | Same | Compared | Not | All | Some
EVERYTHING = All()


class Mistake(NamedTuple):
    """What is wrong with a text."""

    at: int
    """Column of the first character that it is about; the end where something is missing."""
    length: int
    message: str


class _Wrong(Exception):
    """Leaves the parser's recursion; never leaves this module."""

    def __init__(self, token: Token, message: str) -> None:
        super().__init__(message)
        self.mistake = Mistake(token.at, max(1, token.length), message)


def _inner(query: Query) -> str:
    return f"({query})" if isinstance(query, All | Some) else str(query)


def parse(text: str) -> tuple[Query, Mistake | None]:
    """Return what a text asks for; with a mistake, what is asked for is everything."""
    if len(text) > MOST_CHARACTERS:
        return EVERYTHING, Mistake(MOST_CHARACTERS, 1, f"longer than {MOST_CHARACTERS} characters")
    parser = _Parser(tokens_of(text))
    try:
        query = parser.whole()
    except _Wrong as wrong:
        return EVERYTHING, wrong.mistake
    return query, None


class _Parser:
    """Reads tokens from the left to the right, with one of them in sight."""

    def __init__(self, tokens: tuple[Token, ...]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at += token.kind is not Kind.END
        return token

    def _is_word(self, *words: str) -> bool:
        return self._next.kind is Kind.WORD and self._next.text.lower() in words

    def whole(self) -> Query:
        """Read all of it."""
        if self._next.kind is Kind.END:
            return EVERYTHING
        query = self._some()
        rest = self._take()
        if rest.kind is not Kind.END:
            raise _Wrong(rest, "there is no ( before this )")
        return query

    def _some(self) -> Query:
        parts = [self._all()]
        while self._is_word("or"):
            self._take()
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else Some(tuple(parts))

    def _all(self) -> Query:
        parts = [self._not()]
        while self._next.kind not in (Kind.END, Kind.CLOSE) and not self._is_word("or"):
            if self._is_word("and"):
                self._take()
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _not(self) -> Query:
        token = self._next
        is_negation = token.kind is Kind.NOT or self._is_word("not")
        if not is_negation and token.kind is not Kind.OPEN:
            return self._term()
        self._take()
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise _Wrong(token, "too many brackets within each other")
        if is_negation:
            query: Query = Not(self._not())
        else:
            query = self._some()
            if self._take().kind is not Kind.CLOSE:
                raise _Wrong(token, "this ( is not closed")
        self._depth -= 1
        return query

    def _term(self) -> Query:
        token = self._take()
        match token.kind:
            case Kind.WORD if self._next.kind is Kind.OPERATOR:
                return self._comparison(token, self._take())
            case Kind.WORD if token.text.lower() in ("and", "or"):
                raise _Wrong(token, f"{token.text} stands between two things")
            case Kind.WORD | Kind.QUOTED:
                return Word(token.text)
            case Kind.UNCLOSED:
                raise _Wrong(token, "this quote is not closed")
            case Kind.OPERATOR:
                raise _Wrong(token, f"a field stands before {token.text}, like mem or user")
            case Kind.CLOSE:
                raise _Wrong(token, "there is nothing before this )")
            case _:
                raise _Wrong(token, "something is missing here")

    def _comparison(self, name: Token, operator: Token) -> Query:
        field = FIELDS.get(name.text.lower())
        if field is None:
            near = nearest(name.text.lower(), FIELDS)
            known = f"did you mean {near}?" if near else f"there are {', '.join(FIELDS)}"
            raise _Wrong(name, f"no field {_short(name.text)}; {known}")
        value = self._take()
        if value.kind is Kind.UNCLOSED:
            raise _Wrong(value, "this quote is not closed")
        if value.kind not in (Kind.WORD, Kind.QUOTED):
            raise _Wrong(value, f"a value is missing, as in {field.example}")
        if field.measure in (Measure.TEXT, Measure.STATE):
            return _same(field, operator, value)
        unit = self._next
        if field.measure in NEEDS_UNIT and _is_bare(value) and unit_of(field.measure, unit.text):
            # `mem > 40 GiB`: a unit that stands apart.
            self._take()
            length = unit.at + unit.length - value.at
            value = Token(Kind.WORD, value.text + unit.text, value.at, length)
        return _compared(field, operator, value)


def _same(field: Field, operator: Token, value: Token) -> Same:
    if operator.text not in ("=", "!="):
        raise _Wrong(operator, f"{field.name} is no number: = or !=, as in {field.example}")
    text = value.text
    if field.measure is Measure.STATE:
        text = text.lower()
        if text not in STATES:
            near = nearest(text, STATES)
            known = f"did you mean {near}?" if near else f"there are {', '.join(STATES)}"
            raise _Wrong(value, f"no state {_short(text)}; {known}")
    return Same(field.name, operator.text == "=", text)


def _compared(field: Field, operator: Token, value: Token) -> Compared:
    match = _NUMBER.fullmatch(value.text)
    if match is None:
        raise _Wrong(value, f"{field.name} is a number, as in {field.example}")
    unit = unit_of(field.measure, match[2])
    if unit is None:
        names = " or ".join(one.name for one in UNITS[field.measure]) or "no unit"
        raise _Wrong(value, f"{field.name} is told in {names}, as in {field.example}")
    whole, _, part = match[1].partition(".")
    amount = whole.lstrip("0") or "0"
    amount += f".{part.rstrip('0')}" if part.rstrip("0") else ""
    found = Compared(field.name, operator.text, amount, unit.name)
    assert math.isfinite(found.value)
    return found


def _is_bare(value: Token) -> bool:
    match = _NUMBER.fullmatch(value.text)
    return match is not None and not match[2]


def _short(text: str) -> str:
    return text if len(text) <= 24 else f"{text[:24]}…"
