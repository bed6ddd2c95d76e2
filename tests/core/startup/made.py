"""Logs that no recorded case has, from tests/data/startup-made.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "data" / "startup-made.toml"
CAUSE = "►"
READY = "√"
_RETURN = "␍"


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One log with what it should yield."""

    name: str
    text: str
    kind: str | None
    words: tuple[str, ...]
    """Must be in the sentence."""
    engine: str | None
    phases: tuple[str, ...] | None
    exit_code: int | None

    @property
    def log(self) -> bytes:
        """The bytes, without marks."""
        plain = self.text.replace(CAUSE, "").replace(READY, "")
        return plain.replace(_RETURN, "\r").encode()

    def line_of(self, mark: str) -> int | None:
        """Return the line that a mark stands on."""
        for number, line in enumerate(self.text.split("\n"), 1):
            if mark in line:
                return number
        return None


def _made(row: dict[str, Any]) -> Made:
    phases = row.get("phases")
    return Made(
        name=row["name"],
        text=row["text"],
        kind=row.get("kind"),
        words=tuple(row.get("words", ())),
        engine=row.get("engine"),
        phases=tuple(phases) if phases else None,
        exit_code=row.get("exit_code"),
    )


LOGS = {row["name"]: _made(row) for row in tomllib.loads(DATA.read_text(encoding="utf-8"))["logs"]}
