"""The tour of the demo: one sentence at a time, the next one once what it asks for was done.

Pure: what the screen shows comes in as signs, and a step that was done is never asked for again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Signs(NamedTuple):
    """What the screen shows now."""

    screen: str
    """`dashboard`, `plan`, `startups`, `log`, `details`, or another word."""
    word: str
    """Of the banner."""
    place: tuple[str, int]
    """Host and position of the cursor."""


class Step(NamedTuple):
    """One step."""

    id: str
    words: str
    """What to see and what to press; `{ID}` stands for the key of an action."""
    is_done: Callable[[Signs, Signs], bool]
    """Told from the signs when it began and those of now."""


_CLEANED = ("CLEANING", "ZERO", "ZERO, HOLDING", "ALL CLEAR", "STARTING", "READY")

STEPS = (
    Step(
        "look",
        "A row is a GPU. Its bar is its memory, the colour says who holds it: blue is yours, red "
        "is left over. Move with ↑ and ↓.",
        lambda began, now: now.place != began.place or now.screen == "plan",
    ),
    Step(
        "plan",
        "A server died and its ranks still hold memory. Press {cleanup.start}: it only shows a "
        "plan.",
        lambda _began, now: now.screen == "plan" or now.word in _CLEANED,
    ),
    Step(
        "confirm",
        "The plan names everybody who would be stopped, and why. Nobody was signalled yet. Press "
        "y.",
        lambda _began, now: now.word in _CLEANED,
    ),
    Step(
        "clean",
        "Each process has its line until it ended, and memory drains as it is read. "
        "{cleanup.force} would force them now.",
        lambda _began, now: now.word in _CLEANED[1:],
    ),
    Step(
        "prove",
        "All GPUs read zero, which says nothing of the next second. It has to hold: then it is "
        "ALL CLEAR, until something breaks it.",
        lambda _began, now: now.word in _CLEANED[3:],
    ),
    Step(
        "start",
        "Soon somebody starts a server. It is followed by itself. Press {startups.open} to see it.",
        lambda _began, now: now.screen in ("startups", "log"),
    ),
    Step(
        "follow",
        "Its phases stand on one time axis with memory below; grey is the run before. Press "
        "{log.open} for its whole log, esc to come back.",
        lambda began, now: now.screen == "log" or (began.screen != now.screen),
    ),
    Step(
        "ready",
        "READY comes when its health URL answers, or FAILED with the one line that says why.",
        lambda _began, now: now.word in ("READY", "FAILED", "IN USE"),
    ),
    Step(
        "details",
        "Go back to the dashboard (esc) and press {details.open} on a GPU: what it did, its "
        "facts, and what stands between it and zero.",
        lambda _began, now: now.screen == "details",
    ),
    Step(
        "end",
        "That was the loop: see, clean, verify, launch, watch. {filter.open} filters, {app.help} "
        "lists all keys, {app.palette} searches them, {app.quit} leaves.",
        lambda _began, _now: False,
    ),
)


class Tour(NamedTuple):
    """Where the tour is."""

    at: int
    began: Signs

    @property
    def step(self) -> Step:
        """Return the step that is shown."""
        return STEPS[self.at]

    def after(self, now: Signs) -> Tour:
        """Return where it is once the screen shows this; at most one step further."""
        return Tour(self.at + 1, now) if self.step.is_done(self.began, now) else self

    def words(self, key_of: Callable[[str], str]) -> str:
        """Return the sentence with the keys that count."""
        text = self.step.words
        for part in text.split("{")[1:]:
            action = part.partition("}")[0]
            text = text.replace(f"{{{action}}}", key_of(action))
        return text
