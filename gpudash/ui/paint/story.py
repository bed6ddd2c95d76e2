"""What the banner says: the verdict in one word, how much, who, and what can be done.

`HELD` reads IN USE or NOT CLEAR: the same verdict, and red only where something is wrong. A
single zero reading is ZERO, never clear: it says nothing of the next second.
"""

from __future__ import annotations

from typing import NamedTuple

from gpudash.core.model import Link
from gpudash.core.problems import RELEASED
from gpudash.core.units import format_duration, format_known, known_sum, plural
from gpudash.core.verify import FleetVerdict, Verdict
from gpudash.ui.paint.facts import (
    amount,
    broken_facts,
    fact,
    families,
    gap_facts,
    leftover_fact,
    leftover_words,
    read_words,
    short_amount,
    silences,
    unproven,
    until,
    who_holds,
    zeros,
)
from gpudash.ui.paint.spans import Row
from gpudash.ui.paint.tally import Tally

Keys = tuple[tuple[str, str], ...]
"""Key and what it does."""

ERRORS = ("e", "errors")
CLEAN = ("c", "clean now")
RECONNECT = ("r", "reconnect")
RESUME = ("p", "go on")


class Story(NamedTuple):
    """The banner's content."""

    tone: str
    """`use`, `bad`, `unknown` or `holding`: names the badge and the tint."""
    symbol: str
    """Name of a glyph."""
    word: str
    since: str
    headline: tuple[Row, ...]
    """Facts; the first is never cut."""
    second: tuple[Row, ...]
    keys: Keys
    short: Row
    """The headline where there is room for one amount only."""


class Stand(NamedTuple):
    """Since when the banner's word is what it is."""

    word: str
    since_s: float
    """Viewer's clock."""
    is_first: bool
    """It was so when watching began: since when is not known."""


def stand_after(before: Stand | None, word: str, now_s: float) -> Stand:
    """Return since when a word stands, after one more look."""
    if before is not None and before.word == word:
        return before
    return Stand(word, now_s, before is None)


def word_of(verdict: FleetVerdict, count: Tally) -> str:
    """Return the banner's word, by the one rule for many hosts (mockups spec §8)."""
    if count.hosts and all(host.link is Link.PAUSED for host in count.hosts):
        return "PAUSED"
    if count.broken or count.unexplained or count.dead or count.ended or count.leftovers:
        return "NOT CLEAR"
    if verdict.verdict is Verdict.UNKNOWN:
        return "UNKNOWN"
    words = {Verdict.HELD: "IN USE", Verdict.BASELINE: "BASELINE"}
    return words.get(verdict.verdict, "ZERO")


def tell(
    verdict: FleetVerdict,
    count: Tally,
    *,
    now_s: float,
    stand: Stand | None = None,
    is_wide: bool = True,
) -> Story:
    """Return what the banner says; not `is_wide` is for less than 100 columns."""
    word = word_of(verdict, count)
    since = _since(word, stand, now_s)
    match word:
        case "PAUSED":
            return _paused(count, since)
        case "NOT CLEAR":
            return _not_clear(count, since, now_s, is_wide=is_wide)
        case "UNKNOWN":
            return _unknown(verdict, count, since, now_s, is_wide=is_wide)
        case "IN USE":
            return _in_use(count, since, is_wide=is_wide)
        case "BASELINE":
            return _baseline(count)
        case _:
            return _zero(count)


def _since(word: str, stand: Stand | None, now_s: float) -> str:
    if stand is None:
        return "since start" if word == "UNKNOWN" else ""
    if stand.word != word:
        # This look is the first that says so; the next one knows for how long.
        return f"for {format_duration(0)}" if word == "UNKNOWN" else ""
    if stand.is_first and word == "UNKNOWN":
        return "since start"
    stood = format_duration(now_s - stand.since_s)
    return f"seen {stood}" if stand.is_first else f"for {stood}"


def _in_use(count: Tally, since: str, *, is_wide: bool) -> Story:
    return Story(
        tone="use",
        symbol="use",
        word="IN USE",
        since=since,
        headline=(amount(count, is_wide=is_wide), who_holds(count)),
        second=families(count.holders),
        keys=(("c", "clean"),),
        short=short_amount(count),
    )


def _not_clear(count: Tally, since: str, now_s: float, *, is_wide: bool) -> Story:
    several = len(count.hosts) > 1
    troubles = broken_facts(count, several=several)
    if count.leftovers:
        troubles.append(leftover_fact(count))
    if count.dead:
        held = format_known(*known_sum(used for one in count.dead for _, used in one.gpu_bytes))
        pids = "a dead pid" if len(count.dead) == 1 else f"{len(count.dead)} dead pids"
        troubles.append(fact(f"{held} kept by {pids}", "unknown b"))
    if count.ended:
        held = format_known(*known_sum(used for one in count.ended for _, used in one.gpu_bytes))
        troubles.append(fact(f"{held} held, main thread ended", "unknown b"))
    troubles += silences(count, now_s)
    troubles += gap_facts(count, several=several, is_wide=is_wide)
    first = amount(count, is_wide=is_wide) if count.used_bytes else zeros(count)
    keys: Keys = (CLEAN,) if count.leftovers else ()
    keys = (*keys, RECONNECT) if count.silent else keys
    return Story(
        tone="bad",
        symbol="bad",
        word="NOT CLEAR",
        since=since,
        headline=(first, *troubles),
        second=leftover_words(count) or unproven(count, is_wide=is_wide),
        keys=(*keys, ERRORS) if count.silent or count.broken else keys,
        short=_short_trouble(troubles, count),
    )


def _short_trouble(troubles: list[Row], count: Tally) -> Row:
    return troubles[0] if troubles else short_amount(count)


def _unknown(
    verdict: FleetVerdict, count: Tally, since: str, now_s: float, *, is_wide: bool
) -> Story:
    if not count.hosts:
        return _nothing()
    found = silences(count, now_s)
    found += _unreadable(count)
    if not found and count.gpus:
        reasons = [gpu.reason for host in verdict.hosts for gpu in host.gpus if gpu.reason]
        found = [fact(reason, "unknown b") for reason in reasons[:1]]
    return Story(
        tone="unknown",
        symbol="unknown",
        word="UNKNOWN",
        since=since,
        headline=(read_words(count), *found),
        second=(fact(until(count, is_wide=is_wide)),),
        keys=_unknown_keys(count),
        short=fact(f"{count.gpus_read}/{count.gpus} GPUs read", "text-strong b"),
    )


def _unreadable(count: Tally) -> list[Row]:
    grouped: dict[str, int] = {}
    for mark in count.unreadable:
        grouped[mark.words] = grouped.get(mark.words, 0) + 1
    return [
        fact(f"{plural(number, 'GPU')} {words}", "unknown b") for words, number in grouped.items()
    ]


def _unknown_keys(count: Tally) -> Keys:
    troubled = [host for host in count.silent if host.link is not Link.CONNECTING]
    return (RECONNECT, ERRORS) if troubled else ()


def _zero(count: Tally) -> Story:
    return Story(
        tone="holding",
        symbol="zero",
        word="ZERO",
        since="one reading",
        headline=(zeros(count), who_holds(count) if count.holders else fact("no holders")),
        second=(fact("true of this reading; proven only when held over time", "text-muted"),),
        keys=(),
        short=fact(f"0 MiB {count.gpus_zero}/{count.gpus} GPUs", "text-strong b"),
    )


def _baseline(count: Tally) -> Story:
    return Story(
        tone="holding",
        symbol="zero",
        word="AT BASELINE",
        since="one reading",
        headline=(amount(count, is_wide=True), fact("accepted as this GPU's idle reading")),
        second=(fact("true of this reading; proven only when held over time", "text-muted"),),
        keys=(),
        short=short_amount(count),
    )


def _paused(count: Tally, since: str) -> Story:
    titles = {host.problem.title for host in count.hosts if host.problem}
    is_released = titles == {RELEASED}
    first = fact("driver released" if is_released else "values stand still", "text-strong b")
    return Story(
        tone="unknown",
        symbol="waiting",
        word="PAUSED",
        since=since.replace("seen", "for"),
        headline=(first, fact("values below are old")),
        second=(fact("nothing is read and nothing can be proven until you go on"),),
        keys=(RESUME,),
        short=first,
    )


def _nothing() -> Story:
    return Story(
        tone="unknown",
        symbol="unknown",
        word="UNKNOWN",
        since="",
        headline=(fact("nothing to watch yet", "text-strong b"),),
        second=(fact("no GPU on this machine, no host named"),),
        keys=(),
        short=fact("nothing to watch yet", "text-strong b"),
    )
