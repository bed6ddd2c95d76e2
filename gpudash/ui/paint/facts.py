"""Single facts of the banner, as rows: amounts, holders, troubles, silence."""

from __future__ import annotations

from gpudash.core.families import Holder
from gpudash.core.model import Host, Link
from gpudash.core.units import format_duration, format_memory, gib, index_list, plural
from gpudash.ui.paint.claims import TEXT_OF
from gpudash.ui.paint.spans import Row, outside
from gpudash.ui.paint.tally import GpuMark, Tally


def fact(text: str, style: str = "text") -> Row:
    """Return a fact of one span."""
    return ((text, style),)


def amount(count: Tally, *, is_wide: bool) -> Row:
    """Write `577.1 of 764.8 GiB on 8 of 8 GPUs`."""
    used = count.used_bytes
    if used < 1 << 30:
        words = format_memory(used)
    else:
        words = f"{gib(used)} of {gib(count.total_bytes)} GiB"
    held, gpus = count.gpus_held, count.gpus
    where = f"on {held} of {plural(gpus, 'GPU')}" if is_wide else f"{held}/{gpus} GPUs"
    return (words, "text-strong b"), (f"  {where}", "text")


def short_amount(count: Tally) -> Row:
    """Write `577.1 GiB 8/8 GPUs`."""
    return (format_memory(count.used_bytes), "text-strong b"), (
        f" {count.gpus_held}/{count.gpus} GPUs",
        "text",
    )


def who_holds(count: Tally) -> Row:
    """Say how many holders, and whether all of them are known."""
    number = len(count.holders)
    if unasked := len(count.unasked):
        return fact(
            f"{plural(number, 'holder')}, asking who {'it is' if unasked == 1 else 'they are'}"
        )
    if unnamed := len(count.unnamed):
        who = "not" if unnamed == number else f"{unnamed} not"
        return fact(f"{plural(number, 'holder')}, {who} known from here", "unknown")
    if number == 0:
        return fact("nobody is listed", "unknown")
    return fact(f"{number} holder, alive" if number == 1 else f"{number} holders, all alive")


def families(holders: tuple[Holder, ...]) -> tuple[Row, ...]:
    """Write `A sglang 569.6 GiB`, one fact a family, most memory first."""
    largest = sorted(holders, key=lambda one: (-one.used_bytes, one.key))
    return tuple(_family(one) for one in largest[:6])


def _family(holder: Holder) -> Row:
    name = outside(holder.label.name, 24)
    amount = format_memory(holder.used_bytes) if holder.used_bytes else "? GiB"
    words = (f"{name} {amount}", "text-muted")
    if not holder.letter:
        return (words,)
    return (f"{holder.letter} ", f"{TEXT_OF[holder.owner]} b"), words


def zeros(count: Tally) -> Row:
    """Write `8 of 8 GPUs at 0 MiB`."""
    words = f"{count.gpus_zero} of {plural(count.gpus, 'GPU')} at 0 MiB"
    return fact(words, "text-strong b")


def broken_facts(count: Tally, *, several: bool) -> list[Row]:
    """Write `gpu-c: GPU 5 lost`, one fact for each host and fault."""
    grouped: dict[tuple[str, str], list[int]] = {}
    for mark in count.broken:
        grouped.setdefault((mark.host, mark.words), []).append(mark.number)
    facts = []
    for (host, words), indices in grouped.items():
        where = f"{outside(host, 40)}: " if several else ""
        gpus = f"GPU{'s' if len(indices) > 1 else ''} {index_list(indices)}"
        facts.append(fact(f"{where}{gpus} {_for_many(words, len(indices))}", "leftover b"))
    return facts


def _for_many(words: str, number: int) -> str:
    if number > 1 and words.startswith("needs "):
        return "need " + words.removeprefix("needs ")
    return words


def gap_facts(count: Tally, *, several: bool) -> list[Row]:
    """Write `512 MiB unexplained on GPU 7`, one fact for each host."""
    by_host: dict[str, list[GpuMark]] = {}
    for mark in count.unexplained:
        by_host.setdefault(mark.host, []).append(mark)
    facts = []
    for host, marks in by_host.items():
        amount = format_memory(sum(mark.used_bytes for mark in marks))
        gpus = f"GPU{'s' if len(marks) > 1 else ''} {index_list([mark.number for mark in marks])}"
        where = f"{outside(host, 40)}, {gpus}" if several else gpus
        facts.append(fact(f"{amount} unexplained on {where}", "unknown b"))
    return facts


def unproven(count: Tally) -> str:
    """Say what stands in the way of a proof."""
    read = f"{count.gpus_read} of {plural(count.gpus, 'GPU')} read"
    reasons = []
    if count.silent:
        reasons.append("a host is silent" if len(count.silent) == 1 else "hosts are silent")
    if count.broken:
        mark = count.broken[0]
        is_verb = mark.words.startswith("needs")
        reasons.append(f"GPU {mark.number} {mark.words if is_verb else 'is ' + mark.words}")
    if count.unexplained:
        reasons.append("memory is unexplained")
    if count.dead:
        reasons.append("a dead pid keeps memory")
    return f"{read}; nothing can be proven zero while {' and '.join(reasons[:2])}"


def silence(host: Host, now_s: float) -> Row:
    """Name a host that says nothing, and for how long or why."""
    name = outside(host.name, 40)
    match host.link:
        case Link.CONNECTING:
            return fact(f"{name} connecting", "unknown b")
        case Link.PAUSED:
            return fact(f"{name} paused", "unknown b")
        case Link.HUNG:
            return fact(f"{name}: the driver hangs", "unknown b")
        case Link.STALE if host.received_s is not None:
            ago = format_duration(now_s - host.received_s)
            return fact(f"{name} last seen {ago} ago", "unknown b")
        case _:
            title = outside(host.problem.title, 40) if host.problem else "not read yet"
            return fact(f"{name}: {title}", "unknown b")


def read_words(count: Tally) -> Row:
    """Say how many GPUs were read."""
    if not count.gpus and all(host.link is Link.CONNECTING for host in count.hosts):
        names = (
            outside(count.hosts[0].name, 60)
            if len(count.hosts) == 1
            else plural(len(count.hosts), "host")
        )
        return fact(f"connecting to {names}", "text-strong b")
    known = "known " if any(not host.gpus for host in count.hosts) and count.gpus else ""
    if not count.gpus:
        return fact("no GPU read", "text-strong b")
    noun = "GPU" if count.gpus == 1 else "GPUs"
    return fact(f"{count.gpus_read} of {count.gpus} {known}{noun} read", "text-strong b")


def until(count: Tally) -> str:
    """Say until when nothing can be proven."""
    if len(count.silent) == 1 and len(count.hosts) > 1:
        return f"nothing can be proven zero while {outside(count.silent[0].name, 40)} says nothing"
    if len(count.silent) > 1:
        return "nothing can be proven zero until every host answers"
    if count.silent:
        return "nothing can be proven zero until it answers"
    return "what can't be read can't be proven zero"
