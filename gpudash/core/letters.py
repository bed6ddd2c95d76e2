"""One letter for each family: given in order of appearance, kept until the family is gone."""

from __future__ import annotations

from gpudash.core.families import Key, Letters, family_key, is_dead, is_hidden
from gpudash.core.kin import in_plan_order
from gpudash.core.listed import gpu_processes, pids_are_local
from gpudash.core.model import Fleet, Host


def relettered(fleet: Fleet, host: Host, *, is_anew: bool = False) -> Letters:
    """Return the letters after this host changed: gone families lose theirs, new ones get one.

    Families get the lowest free letter in order of appearance; one that the host was not asked
    about yet waits. `is_anew` gives all of this host new ones.
    """
    present: dict[Key, None] = {}
    for gpu in host.gpus:
        for pid, _ in gpu_processes(gpu):
            asked = is_dead(host, pid) or is_hidden(host, pid) or not pids_are_local(host)
            key = family_key(host, pid)
            if key[2] or asked:
                present[key] = None
    if is_anew:
        present = dict.fromkeys(in_plan_order(host, present))
    kept = [
        entry
        for entry in fleet.letters
        if entry[0][0] != host.name or (entry[0] in present and not is_anew)
    ]
    taken = {letter for _, letter in kept}
    have = {key for key, _ in kept}
    for key in present:
        if key not in have:
            letter = _free_letter(taken)
            taken.add(letter)
            kept.append((key, letter))
    return tuple(kept)


def _free_letter(taken: set[str]) -> str:
    number = 0
    while (letter := _letter(number)) in taken:
        number += 1
    return letter


def _letter(number: int) -> str:
    first, second = divmod(number, 26)
    return (chr(64 + first) if first else "") + chr(65 + second)
