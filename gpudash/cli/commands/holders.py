"""Who holds what as JSON and as lines of a table. Keys are a contract: they are only ever added."""

from __future__ import annotations

from gpudash.core.families import gpu_processes, info_of, is_dead, owner_of, root_of, unknown_label
from gpudash.core.model import Gpu, Host, ProcessInfo
from gpudash.core.names import clean_text, process_label
from gpudash.core.units import format_memory


def reach_document(host: Host) -> dict[str, object]:
    """Return how far the verdict on a host sees."""
    from gpudash.core.holders import reach_on

    reach = reach_on(host)
    return {"word": reach.word, "why": list(reach.why)}


def joint_reach(reaches: list[dict[str, object]]) -> dict[str, object]:
    """Return how far all of them see: partial where one is."""
    clauses = [why for reach in reaches for why in _clauses(reach)]
    return {"word": "partial" if clauses else "full", "why": list(dict.fromkeys(clauses))}


def _clauses(reach: dict[str, object]) -> list[str]:
    why = reach["why"]
    assert isinstance(why, list)
    return why


def holder_documents(host: Host) -> list[dict[str, object]]:
    """Return a row for each claim on the host's GPUs."""
    from gpudash.core.attribution import attributions, words_of

    uuids = {gpu.info.index: gpu.info.uuid for gpu in host.gpus}
    rows: list[dict[str, object]] = []
    for row in attributions(host):
        info = row.info or next(iter(row.keepers), None) if row.pid is not None else None
        label = process_label(info) if info else None
        hidden = row.basis.value == "hidden"
        rows.append(
            {
                "basis": row.basis.value,
                "pid": row.pid,
                "name": label.name if label else None,
                "detail": (label.detail or None) if label else None,
                "user": info.user if info else None,
                "uid": info.uid if info else None,
                "owner": "foreign" if hidden else owner_of(host, info).value,
                "root_pid": root_of(info).pid if info else None,
                "state": row.info.state if row.info else None,
                "gpus": [
                    {"index": index, "uuid": uuids.get(index), "used_bytes": used}
                    for index, used in row.gpus
                ],
                "kept_by": [_keeper(one) for one in row.keepers],
                "handles": row.handles,
                "evidence": list(row.evidence),
                "words": words_of(row, host),
            }
        )
    return rows


def _keeper(info: ProcessInfo) -> dict[str, object]:
    label = process_label(info)
    return {
        "pid": info.pid,
        "name": label.name,
        "detail": label.detail or None,
        "user": info.user,
        "uid": info.uid,
    }


def who_holds(host: Host, gpu: Gpu) -> str:
    """Name the holders of one GPU in a few words."""
    listed = gpu_processes(gpu)
    if not listed and (gpu.reading is None or gpu.reading.processes is None):
        return "the process list can't be read"
    said = []
    for pid, used in listed:
        amount = "" if used is None else f" {format_memory(used)}"
        said.append(f"{_listed_words(host, gpu, pid)}{amount}")
    if host.scan is not None:
        said += _gap_words(host, gpu)
    return ", ".join(said) or "no process is listed"


def _listed_words(host: Host, gpu: Gpu, pid: int) -> str:
    info = info_of(host, pid)
    label = process_label(info) if info else unknown_label(host, pid)
    name = f"{label.name} {label.detail}".strip()
    if info is not None:
        named = f"{name} (pid {pid}, {clean_text(info.user, 32)})"
        return named + (", main thread ended," if info.has_ended else "")
    if host.scan is None or not is_dead(host, pid):
        return name
    from gpudash.core.attribution import keeper_words, who
    from gpudash.core.holders import info_of as scanned_info
    from gpudash.core.holders import keepers

    heirs = tuple(scanned_info(one, host) for one in keepers(host, gpu, pid))
    if not heirs:
        return name
    return f"{name}, {keeper_words(host, pid, heirs)}: {who(heirs[0])}"


def _gap_words(host: Host, gpu: Gpu) -> list[str]:
    from gpudash.core.attribution import who
    from gpudash.core.holders import info_of as scanned_info
    from gpudash.core.holders import suspects
    from gpudash.core.listed import unexplained_bytes

    gap = unexplained_bytes(gpu)
    if not gap:
        return []
    found = ", ".join(who(scanned_info(one, host)) for one in suspects(host, gpu)[:4])
    where = f"open there: {found}" if found else "no process found"
    return [f"{format_memory(gap)} unexplained, {where}"]


def host_lines(host: Host) -> str:
    """Return what stands below a host's GPUs: handles without memory, and what was not seen."""
    if host.scan is None:
        return ""
    from gpudash.core.attribution import attributions, handle_words
    from gpudash.core.holders import reach_on

    said = [handle_words(attributions(host)), "; ".join(reach_on(host).why)]
    return "".join(f"  {clean_text(line, 400)}\n" for line in said if line)
