"""How each GPU in scope would end if nothing was signalled, and whose memory can't be had.

Also what `clean --dry-run` exits with: 0 only where all in scope read zero.
"""

from __future__ import annotations

from gpudash.core.baselines import NO_BASELINES, Baselines
from gpudash.core.cleanup.families import Families
from gpudash.core.cleanup.outcomes import Ending, Outcome, joint
from gpudash.core.cleanup.plan import Consent, FamilyPlan, Share, Unseen
from gpudash.core.cleanup.table import Table
from gpudash.core.errors import ExitCode
from gpudash.core.holding import Existence
from gpudash.core.model import Gpu, GpuState, Host, Link
from gpudash.core.names import printable
from gpudash.core.units import MIB, format_memory
from gpudash.core.verify import GpuVerdict, Verdict, judge_gpu, judge_host

_NOISE_BYTES = 64 * MIB
"""So much less than the whole the driver attributes to a process: its context's own."""


def unseen_of(
    table: Table, found: Families, families: tuple[FamilyPlan, ...], scope: tuple[Gpu, ...]
) -> tuple[Unseen, ...]:
    """Return memory on GPUs in scope that belongs to no family and nobody who is kept."""
    rows: list[Unseen] = []
    for gpu in scope:
        key, index = gpu.info.key, gpu.info.index
        shares = [share for one in families for share in one.shares if share.gpu == key]
        is_open = any(share.used_bytes is None for share in shares)
        hidden = table.hidden.get(key, {})
        rows += [
            Unseen(
                gpu=key,
                index=index,
                used_bytes=used,
                words=_hidden_words(pid, table),
                is_foreign=_is_alive(pid, table),
                is_listed=True,
            )
            for pid, used in sorted(hidden.items())
            if _is_alive(pid, table) or not is_open
        ]
        gap = _gap(gpu, found, shares, hidden)
        if gap and not is_open and not (hidden and not rows):
            rows.append(
                Unseen(
                    gpu=key,
                    index=index,
                    used_bytes=gap,
                    words=_gap_words(gpu, found),
                    is_foreign=False,
                    is_listed=bool(hidden or table.dead.get(key)),
                )
            )
    return tuple(rows)


def _is_alive(pid: int, table: Table) -> bool:
    return dict(table.scan.listed).get(pid) is Existence.HIDDEN


def _hidden_words(pid: int, table: Table) -> str:
    if _is_alive(pid, table):
        return f"pid {pid} is alive for the driver and hidden from this user"
    return f"host pid {pid}: not visible from here"


def _gap(gpu: Gpu, found: Families, shares: list[Share], hidden: dict[int, int | None]) -> int:
    """Return bytes in use that nobody visible accounts for; 0 where nothing can be said."""
    reading = gpu.reading
    if reading is None or not reading.used_bytes or gpu.state is not GpuState.READ:
        return 0
    key = gpu.info.key
    known = sum(share.used_bytes or 0 for share in shares)
    for pid in (*found.protected, *(process.pid for process in found.own)):
        known += found.table.memory_of(pid).get(key) or 0
    known += sum(used or 0 for used in hidden.values())
    gap = reading.used_bytes - known
    listed = len(reading.processes or ())
    return gap if gap > (_NOISE_BYTES * listed if known else 0) else 0


def _gap_words(gpu: Gpu, found: Families) -> str:
    table = found.table
    dead = sorted(table.dead.get(gpu.info.key, {}))
    keepers = [
        table.by_pid[pid]
        for pid in sorted(found.protected)
        if gpu.info.key in table.gpu_handles(table.by_pid[pid])
        and not table.memory_of(pid).get(gpu.info.key)
    ]
    if dead and keepers:
        who = f"{printable(keepers[0].comm)} (pid {keepers[0].pid})"
        return f"pid {dead[0]} is dead; {who}, which is protected, has this GPU open"
    if dead:
        return f"pid {dead[0]} is dead, and nobody visible has its handle"
    if table.scan.unreadable:
        return "held by a process that can't be looked at from here"
    if not table.scan.is_initial_namespace:
        return "held outside of what is visible here"
    return "no process accounts for it"


# -- endings -----------------------------------------------------------------------------------


def endings_of(
    host: Host,
    scope: tuple[Gpu, ...],
    families: tuple[FamilyPlan, ...],
    kept_bytes: dict[str, int],
    unseen: tuple[Unseen, ...],
    baselines: Baselines = NO_BASELINES,
) -> tuple[Ending, ...]:
    """Return how each GPU in scope ends if nothing is signalled."""
    if host.link is not Link.LIVE or not host.samples:
        reason = judge_host(host).reason
        return tuple(_ending(gpu, Outcome.UNKNOWN, reason) for gpu in scope)
    driver = host.facts.driver if host.facts else None
    return tuple(
        _judged(
            judge_gpu(
                gpu,
                baselines.accepted_bytes(gpu.info.uuid, driver),
                is_strict=baselines.is_strict,
            ),
            families,
            kept_bytes,
            unseen,
        )
        for gpu in scope
    )


def _ending(gpu: Gpu, outcome: Outcome, reason: str) -> Ending:
    return Ending(gpu=gpu.info.key, index=gpu.info.index, outcome=outcome, reason=reason)


def _judged(
    verdict: GpuVerdict,
    families: tuple[FamilyPlan, ...],
    kept_bytes: dict[str, int],
    unseen: tuple[Unseen, ...],
) -> Ending:
    gpu = verdict.gpu
    if verdict.exit_code is ExitCode.OK:
        is_idle = verdict.verdict is Verdict.BASELINE
        return _ending(gpu, Outcome.CLEANED, "at its accepted baseline" if is_idle else "")
    if verdict.exit_code is ExitCode.STUCK:
        return _ending(gpu, Outcome.RESET_REQUIRED, verdict.reason)
    if verdict.verdict is Verdict.UNKNOWN:
        return _ending(gpu, Outcome.UNKNOWN, verdict.reason)
    claims = _claims(gpu, families, kept_bytes, unseen)
    outcome = joint(outcome for outcome, _ in claims)
    return _ending(gpu, outcome, next(reason for one, reason in claims if one is outcome))


def _claims(
    gpu: Gpu,
    families: tuple[FamilyPlan, ...],
    kept_bytes: dict[str, int],
    unseen: tuple[Unseen, ...],
) -> list[tuple[Outcome, str]]:
    key = gpu.info.key
    claims: list[tuple[Outcome, str]] = []
    for family in families:
        used = [share.used_bytes for share in family.shares if share.gpu == key]
        if used and (used[0] is None or used[0] > 0):
            claims.append((outcome_if_left(family), f"{family.label} (pid {family.id[0]})"))
    if kept := kept_bytes.get(key, 0):
        claims.append((Outcome.PROTECTED, f"protected processes hold {format_memory(kept)}"))
    for row in unseen:
        if row.gpu == key:
            outcome = Outcome.FOREIGN if row.is_foreign else Outcome.UNATTRIBUTED
            claims.append((outcome, row.words))
    return claims or [(Outcome.UNATTRIBUTED, "no process accounts for it")]


def outcome_if_left(family: FamilyPlan) -> Outcome:
    """Return what a GPU is called where this family is left alone."""
    if family.manager is not None and not family.manager.is_gone:
        return Outcome.MANAGED
    return Outcome.FOREIGN if Consent.NAME in family.needs else Outcome.HELD
