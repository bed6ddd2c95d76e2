"""Single facts of the banner, as rows: amounts, holders, troubles, silence."""

from __future__ import annotations

from gpudash.core.families import Holder
from gpudash.core.model import Host, Link
from gpudash.core.units import format_duration, format_known, format_memory, gib, index_list, plural
from gpudash.ui.paint.claims import TEXT_OF
from gpudash.ui.paint.spans import Row, outside
from gpudash.ui.paint.tally import Tally


def fact(text: str, style: str = "text") -> Row:
    """Return a fact of one span."""
    return ((text, style),)


def amount(count: Tally, *, is_wide: bool) -> Row:
    """Write `577.1 of 764.8 GiB on 8 of 8 GPUs`."""
    used = count.used_bytes
    words = format_known(used, count.is_whole)
    if used >= 1 << 30:
        words = f"{words.removesuffix(' GiB')} of {gib(count.total_bytes)} GiB"
    held, gpus = count.gpus_held, count.gpus
    where = f"on {held} of {plural(gpus, 'GPU')}" if is_wide else f"{held}/{gpus} GPUs"
    return (words, "text-strong b"), (f"  {where}", "text")


def short_amount(count: Tally) -> Row:
    """Write `577.1 GiB 8/8 GPUs`."""
    return (format_known(count.used_bytes, count.is_whole), "text-strong b"), (
        f" {count.gpus_held}/{count.gpus} GPUs",
        "text",
    )


def who_holds(count: Tally) -> Row:
    """Say how many holders, and whether all of them are known."""
    number = sum(one.has_memory for one in count.holders)
    bare = sum(len(one.pids) for one in count.holders if not one.has_memory)
    if bare and not number:
        return fact(f"{plural(bare, 'process', 'processes')} listed, no memory")
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
    amount = format_known(*holder.known_bytes)
    words = (f"{name} {amount}", "text-muted")
    if not holder.letter:
        return (words,)
    return (f"{holder.letter} ", f"{TEXT_OF[holder.owner]} b"), words


def leftover_fact(count: Tally) -> Row:
    """Write `498.4 GiB are leftovers of sglang`."""
    sums = [one.known_bytes for one in count.leftovers]
    held = format_known(sum(used for used, _ in sums), all(whole for _, whole in sums))
    names = list(dict.fromkeys(outside(one.label.name, 24) for one in count.leftovers))
    more = f" and {len(names) - 2} more" if len(names) > 2 else ""
    return fact(f"{held} are leftovers of {' and '.join(names[:2])}{more}", "leftover b")


def leftover_words(count: Tally) -> tuple[Row, ...]:
    """Say what tells that they are left over; nothing where something worse is the matter."""
    if count.broken or count.silent or count.unexplained:
        return ()
    said = {
        one.evidence: len(one.members)
        for host in count.hosts
        for one in host.kin
        if one.is_leftover and one.evidence
    }
    if not said or not count.leftovers:
        return ()
    first, number = next(iter(said.items()))
    live = f"{plural(number, 'process lives', 'processes live')} on"
    return (fact(f"{outside(first, 80)}: {live}"),)


def zeros(count: Tally) -> Row:
    """Write `8 of 8 GPUs at 0 MiB`."""
    words = f"{count.gpus_zero} of {plural(count.gpus, 'GPU')} at 0 MiB"
    return fact(words, "text-strong b")


def broken_facts(count: Tally, *, several: bool) -> list[Row]:
    """Write `gpu-c: GPU 5 lost`, one fact for each host and fault; many become one."""
    grouped: dict[tuple[str, str], list[int]] = {}
    for mark in count.broken:
        grouped.setdefault((mark.host, mark.words), []).append(mark.number)
    if len(grouped) > 2:
        hosts = len({host for host, _ in grouped})
        where = f" on {plural(hosts, 'host')}" if several else ""
        return [fact(f"{plural(len(count.broken), 'GPU')}{where} in trouble", "leftover b")]
    facts = []
    for (host, words), indices in grouped.items():
        where = f"{outside(host, 40)}: " if several else ""
        facts.append(
            fact(f"{where}{_gpus(indices)} {_for_many(words, len(indices))}", "leftover b")
        )
    return facts


def _gpus(indices: list[int]) -> str:
    return f"GPU{'s' if len(indices) > 1 else ''} {index_list(indices)}"


def _for_many(words: str, number: int) -> str:
    if number > 1 and words.startswith("needs "):
        return "need " + words.removeprefix("needs ")
    return words


def gap_facts(count: Tally, *, several: bool, is_wide: bool) -> list[Row]:
    """Write `512 MiB unexplained on GPU 7`; several hosts are only counted."""
    marks = count.unexplained
    if not marks:
        return []
    words = f"{format_memory(sum(mark.used_bytes for mark in marks))} unexplained"
    hosts = {mark.host: None for mark in marks}
    if len(hosts) > 1:
        words += f" on {len(hosts)} hosts" if is_wide else ""
    elif is_wide:
        where = f"{outside(marks[0].host, 40)}, " if several else ""
        words += f" on {where}{_gpus([mark.number for mark in marks])}"
    return [fact(words, "unknown b")]


def unproven(count: Tally, *, is_wide: bool) -> tuple[Row, ...]:
    """Say what stands in the way of a proof."""
    reasons = []
    if count.broken:
        mark = count.broken[0]
        is_verb = mark.words.startswith("needs")
        reasons.append(f"GPU {mark.number} {mark.words if is_verb else 'is ' + mark.words}")
    if count.silent:
        reasons.append("a host is silent" if len(count.silent) == 1 else "hosts are silent")
    if count.unexplained:
        reasons.append("memory is unexplained")
    if count.dead:
        reasons.append("a dead pid keeps memory")
    if count.ended:
        reasons.append("a process that ended keeps memory")
    read = fact(f"{count.gpus_read} of {plural(count.gpus, 'GPU')} read", "text-muted")
    if is_wide:
        words = f"nothing can be proven zero while {' and '.join(reasons[:2])}"
        return fact(words), read
    return fact(f"no proof while {reasons[0]}"), read


def silences(count: Tally, now_s: float) -> list[Row]:
    """Name the hosts that say nothing; more than two are counted.

    None is named where nothing was read yet anywhere: the first fact says so already.
    """
    if not count.gpus and all(host.link is Link.CONNECTING for host in count.silent):
        return []
    if len(count.silent) > 2:
        words = f"{len(count.silent)} of {len(count.hosts)} hosts say nothing"
        return [fact(words, "unknown b")]
    return [silence(host, now_s) for host in count.silent]


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


def until(count: Tally, *, is_wide: bool) -> str:
    """Say until when nothing can be proven."""
    if not count.silent:
        return "what can't be read can't be proven zero" if is_wide else "unread is not zero"
    start = "nothing can be proven zero" if is_wide else "no proof"
    if len(count.silent) > 1:
        return f"{start} until {'every host answers' if is_wide else 'all answer'}"
    if len(count.hosts) > 1 and is_wide:
        return f"{start} while {outside(count.silent[0].name, 40)} says nothing"
    return f"{start} until it answers"
