"""Names of keys: as a configuration writes them, as Textual knows them, as the screen shows them.

A key is a character (`c`, `C`, `!`) or a name (`escape`, `f5`, `pageup`), with `ctrl+`, `alt+` or
`shift+` before it.
"""

from __future__ import annotations

from types import MappingProxyType

CHARACTERS = MappingProxyType(
    {
        " ": "space",
        "!": "exclamation_mark",
        '"': "quotation_mark",
        "#": "number_sign",
        "$": "dollar_sign",
        "%": "percent_sign",
        "&": "ampersand",
        "'": "apostrophe",
        "(": "left_parenthesis",
        ")": "right_parenthesis",
        "*": "asterisk",
        "+": "plus",
        ",": "comma",
        "-": "minus",
        ".": "full_stop",
        "/": "slash",
        ":": "colon",
        ";": "semicolon",
        "<": "less_than_sign",
        "=": "equals_sign",
        ">": "greater_than_sign",
        "?": "question_mark",
        "@": "at",
        "[": "left_square_bracket",
        "\\": "backslash",
        "]": "right_square_bracket",
        "^": "circumflex_accent",
        "_": "underscore",
        "`": "grave_accent",
        "{": "left_curly_bracket",
        "|": "vertical_line",
        "}": "right_curly_bracket",
        "~": "tilde",
    }
)
"""What Textual calls a character that is no letter and no digit."""
NAMED = frozenset(
    """
    escape enter tab space backspace delete insert home end pageup pagedown up down left right
    """.split()  # noqa: SIM905
) | {f"f{number}" for number in range(1, 13)}
_MODIFIERS = ("ctrl", "alt", "shift")
_SHOWN = {
    **{name: character for character, name in CHARACTERS.items() if character != " "},
    "up": "↑",
    "down": "↓",
    "left": "←",
    "right": "→",
    "pageup": "pgup",
    "pagedown": "pgdn",
    "escape": "esc",
}
_ALIASES = {"esc": "escape", "pgup": "pageup", "pgdn": "pagedown", "return": "enter"}


def key_named(text: str) -> str | None:
    """Return Textual's name of a key as somebody wrote it; None where it is none."""
    text = text.strip() or text[:1]
    *modifiers, last = text.split("+") if len(text) > 1 else [text]
    if last == "" and modifiers:
        return None
    name = CHARACTERS.get(last, _ALIASES.get(last.lower(), last))
    is_named = name.lower() in NAMED or name in CHARACTERS.values()
    is_letter = len(name) == 1 and name.isascii() and name.isalnum()
    if not (is_named or is_letter) or any(one.lower() not in _MODIFIERS for one in modifiers):
        return None
    before = [one for one in _MODIFIERS if one in {word.lower() for word in modifiers}]
    if before == ["shift"] and is_letter:
        return name.upper()
    return "+".join([*before, name.lower() if is_named else name])


def shown_key(key: str) -> str:
    """Return how the screen writes a key that Textual calls so."""
    *modifiers, last = key.split("+")
    return "+".join([*modifiers, _SHOWN.get(last, last)])


def split_keys(text: str) -> tuple[str, ...]:
    """Take `a,ctrl+b` apart; a lone or doubled comma is the key itself."""
    if text.strip() == ",":
        return ("comma",)
    return tuple(part.strip() for part in text.split(","))
