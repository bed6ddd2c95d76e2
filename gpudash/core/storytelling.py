"""A story as plain text for a terminal, or as Markdown to paste into an issue.

What comes from outside (names of processes, commands) is shown as it is in both: no link, no
mention, no markup comes of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gpudash.core.explained import Story

_LINE = 82

# -- plain text --------------------------------------------------------------------------------


def as_text(story: Story) -> str:
    """Return the story for a terminal."""
    lines = [
        f"{story.run}  {story.began}",
        story.command,
        "; ".join(story.about),
        f"→ {story.outcome}",
        *(f"! {doubt}" for doubt in story.doubts),
        "",
    ]
    host_width = max((len(event.host) for event in story.events), default=0)
    kind_width = max((len(event.kind) for event in story.events), default=0)
    for event in story.events:
        head = f"{event.at:<12}  {event.host:<{host_width}}  {event.kind:<{kind_width}}  "
        lines.append(f"{head}{event.says}".rstrip())
        indent = " " * 14
        clock = (f"host's clock: {event.host_clock}",) if event.host_clock else ()
        lines += [f"{indent}{line}" for line in _wrapped((*event.facts, *clock))]
        for table in event.tables:
            lines += [f"{indent}{table.title}:"]
            lines += [f"{indent}  {row}" for row in _aligned((table.header, *table.rows))]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _wrapped(facts: Sequence[str]) -> list[str]:
    """Put short facts side by side; none is cut."""
    lines: list[str] = []
    for fact in facts:
        if lines and len(lines[-1]) + len(fact) < _LINE:
            lines[-1] += f" · {fact}"
        else:
            lines.append(fact)
    return lines


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


# -- Markdown ----------------------------------------------------------------------------------


_STEERS = re.compile(r"([\\`*_{}\[\]>|#~!()+-])")


def _escaped(text: str) -> str:
    """Return text that Markdown shows as it is: no link, no mention, no markup."""
    return _STEERS.sub(r"\\\1", text).replace("@", "&#64;").replace("<", "&lt;")


def _code(text: str) -> str:
    """Return a block of code that no text in it can end."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def as_markdown(story: Story) -> str:
    """Return the story so that it can be pasted into an issue."""
    blocks = [
        f"### gpudash record `{story.run}`",
        _code(story.command),
        "\n".join(
            [
                f"- {_escaped(story.began)}",
                *(f"- {_escaped(fact)}" for fact in story.about),
                f"- **{_escaped(story.outcome)}**",
                *(f"- **{_escaped(doubt)}**" for doubt in story.doubts),
            ]
        ),
    ]
    rows = [
        (event.at, event.host, event.kind, "; ".join((event.says, *event.facts)))
        for event in story.events
    ]
    if rows:
        blocks.append(_markdown_table(("UTC", "host", "what", ""), rows))
    for event in story.events:
        for table in event.tables:
            blocks.append(f"**{_escaped(f'{table.title}, {event.kind} at {event.at}')}**")
            blocks.append(_markdown_table(table.header, table.rows))
    return "\n\n".join(blocks) + "\n"


def _markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header)]
    shown = [" | ".join(line) for line in lines]
    shown += [" | ".join(_escaped(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in shown)
