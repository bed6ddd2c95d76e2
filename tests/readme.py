"""The tables of README.md that are made: `python -m tests.readme` writes them anew."""

from __future__ import annotations

from pathlib import Path

from gpudash.config.schema import KEYS, Key, Place, in_toml
from gpudash.core.actions import ACTIONS

README = Path(__file__).parent.parent / "README.md"


def key_table() -> str:
    """Return every action: its keys, what it does, its id."""
    rows = ["| key | does | id |", "|---|---|---|"]
    for one in ACTIONS:
        keys = " ".join(f"`{key}`" for key in one.shown.split())
        rows.append(f"| {keys} | {one.help} | `{one.id}` |")
    return "\n".join(rows)


def config_table() -> str:
    """Return every key of the configuration: where it stands, its default, what it does."""
    rows = ["| key | stands in | default | does |", "|---|---|---|---|"]
    for key in sorted(KEYS, key=lambda one: list(Place).index(one.place)):
        rows.append(f"| `{key.name}` | {_place(key)} | {_default(key)} | {key.doc} |")
    return "\n".join(rows)


def _place(key: Key) -> str:
    return f"top, `{key.variable}`" if key.variable else f"`{key.place.value}`"


def _default(key: Key) -> str:
    return "–" if key.default is None else f"`{in_toml(key.default)}`"


TABLES = {"keys": key_table, "configuration": config_table}


def written(text: str) -> str:
    """Return the README's text with its tables made anew. Raises ValueError without a marker."""
    for name, make in TABLES.items():
        start, end = f"<!-- {name}: made by python -m tests.readme -->\n\n", f"\n\n<!-- /{name} -->"
        before, found, rest = text.partition(start)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"README.md has no place for {name}")
        text = f"{before}{start}{make()}{closed}{after}"
    return text


if __name__ == "__main__":
    README.write_text(written(README.read_text(encoding="utf-8")), encoding="utf-8")
