"""Orders: what a confirmed plan tells the hand to do on its host, complete in themselves.

The protocol, for both sides (design §4). Numbers are seconds; `at`, `by` are the host's clock that
counts sleep, the one of the wire's `mono`.

    {"id": 7, "do": "order", "order": ORDER}

    ORDER  = {"v": 1, "run": TEXT, "boot": TEXT|null, "uid": N, "pidns": N|null,
              "by": SECONDS, "since": SECONDS, "simulated": BOOL,
              "families": [FAMILY, …]}
    FAMILY = {"f": N, "members": [[pid, start, uid, [dev, ino]|null], …], "gpus": [NAME, …],
              "steps": [STEP, …], "save_s": SECONDS}
           | {"f": N, "run": [[WORD, …], …], "for": SECONDS}
    STEP   = {"send": "TERM"|"KILL", "to": "roots"|"rest"|"all"|[i, …], "roots": K,
              "wait": SECONDS, "settle": SECONDS, "after": "always"|"gone", "rounds": N}

**Taking.** The hand takes the lock of its pid namespace; where another has it, the ack is an error
`locked by pid N` and nothing else happens. `boot` or `pidns` that are not its own, or `simulated`
in the initial pid namespace, are errors too. Then it detaches, binds every member (pidfd, else it
says that it polls), and reports `begun`. An order with the `run` of one that it carries replaces
its steps if all of its members are in that one; what was sent once as TERM is not sent again.

**Identity.** Right before each signal the hand reads pid, start, uid and, where both sides have
it, the executable again (a zombie leader: the first three, and a device handle of a living
thread). Who differs or is gone is `refused` with a reason and never signalled again. Pid 1 and
below, itself, its ancestors, and kernel threads are refused, whatever an order says. Signals go to
single processes, never to a group, a session or a pattern.

**Heirs.** A process that is no member and was born after `since`, whose parent is (or was when it
was first seen) a member or an heir, or whose session or group a member leads, which has the
family's uid and one of `gpus` open, joins: it is reported `joined`, then is one of `rest` and
`all`. No `gpus`: nobody joins.

**Steps**, one after the other, all families side by side. A step whose targets are gone is
skipped. `to`: `roots` are the first `roots` members; `rest` whoever this order has not asked yet;
`all` everybody; a list names members. `after` `gone`: only if the targets of the step before are
gone in its time; `settle`: wait so long first, and leave out who ends meanwhile. TERM is sent once
to a process, ever; to one in state T CONT follows at once. Then the hand waits on pidfds for the
targets until `wait` is over. `wait` of a TERM is longer, by at most `save_s`, while a checkpoint
that a member has open for writing grows. `rounds`: how often a KILL looks for heirs and survivors
again, 0.1 s apart; roots are killed first.

**Commands.** `run`: words are executed one command after the other without a shell, each until it
ends, together within `for`; a command that fails ends the list.

**Watching.** While something is waited for, twice a second: `waiting`. After a KILL it carries for
each survivor its state, where it sleeps, its CPU ticks and memory, and whether SIGKILL is pending;
the near side judges from these what is stuck. `by` ends everything; so does `abort`, after which no
further step begins. Then `done`.

**Reports.** `{"t": "order", "run": TEXT, "n": N, "at": SECONDS, "what": WORD, …}`; `n` counts from
0 without gaps, so that a near side which lost the link asks `report` from the number it needs.
Kept until `{"do": "report", "run": TEXT, "from": N, "drop": true}` acknowledges them, at most ten
minutes beyond `by`. `core.cleanup.reports` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from gpudash.core.cleanup.plan import Consent, FamilyId, FamilyPlan, Member, Plan
from gpudash.core.holding import Identity

REST_GRACE_S = 2.0
HELPERS_GRACE_S = 1.0
SETTLE_S = 0.25
"""After its root is gone, so that members which the root has just ended are left out."""
KILL_ROUNDS = 3
SAVE_S = 60.0
"""So much longer a checkpoint in progress may take."""
DRAIN_S = 10.0
DRAIN_S_PER_GB = 0.15
"""Measured: 0.107 s for each GB of pinned memory (sglang PR#32829), 0.13 on an H200."""
MAX_DRAIN_S = 180.0
MARGIN_S = 10.0
_GB = 1_000_000_000


class Targets(Enum):
    """Whom a step is for."""

    ROOTS = "roots"
    REST = "rest"
    ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One signal to some of a family, and the wait that follows."""

    signal: str
    """`TERM` or `KILL`."""
    to: Targets | tuple[int, ...]
    wait_s: float
    settle_s: float = 0.0
    is_after_gone: bool = False
    """Only if the targets of the step before ended in its time."""
    rounds: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyOrder:
    """What is done to one family: signals in steps, or its manager's command."""

    number: int
    family: FamilyId
    members: tuple[Identity, ...] = ()
    """The roots first; empty for a managed family."""
    roots: int = 0
    gpus: tuple[str, ...] = ()
    """Names of GPUs (bus ids) by which newborn descendants are taken in."""
    steps: tuple[Step, ...] = ()
    save_s: float = 0.0
    commands: tuple[tuple[str, ...], ...] = ()
    commands_s: float = 0.0

    @property
    def longest_s(self) -> float:
        """Return how long it may take at most."""
        waits = sum(step.settle_s + step.wait_s for step in self.steps)
        return waits + self.save_s + self.commands_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """All that is to be done on one host."""

    run: str
    boot_id: str | None
    uid: int
    pid_namespace: int | None
    deadline_s: float
    """By the host's clock: nothing happens after it."""
    since_s: float
    """By the host's clock, when the plan's processes were looked at: heirs are born after it."""
    is_simulated: bool
    families: tuple[FamilyOrder, ...]


def order_of(
    plan: Plan,
    chosen: frozenset[FamilyId],
    *,
    run: str,
    host_now_s: float,
    gpu_names: dict[str, str],
    is_forced: bool = False,
) -> Order:
    """Return the order for the chosen families of a confirmed plan.

    `host_now_s` is the host's clock now; `gpu_names` maps keys of GPUs to the names that the hand
    knows them by. Raises ValueError for a choice that the plan does not have, that is empty, or
    that holds a family which nothing allows to be touched: our bug, never the user's.
    """
    if not chosen or plan.uid is None:
        raise ValueError("an order needs somebody to end, and a uid to do it as")
    families = tuple(
        _family_order(number, plan.family(id_), gpu_names, is_forced=is_forced)
        for number, id_ in enumerate(sorted(chosen))
    )
    longest_s = max(family.longest_s for family in families)
    return Order(
        run=run,
        boot_id=plan.boot_id,
        uid=plan.uid if plan.hand_uid is None else plan.hand_uid,
        pid_namespace=plan.pid_namespace,
        deadline_s=host_now_s + longest_s + MARGIN_S,
        since_s=plan.host_monotonic_s,
        is_simulated=plan.is_simulated,
        families=families,
    )


def forced(order: Order, *, host_now_s: float) -> Order:
    """Return the order that replaces one under way and kills at once.

    Managed families and those that are never forced are left as they are.
    """
    families = tuple(
        replace(family, steps=family.steps[-1:]) if family.steps[-1:] and _kills(family) else family
        for family in order.families
    )
    longest_s = max(family.longest_s for family in families)
    return replace(order, families=families, deadline_s=host_now_s + longest_s + MARGIN_S)


def drain_s(family: FamilyPlan) -> float:
    """Return how long the memory of a killed family may take to come back."""
    return min(MAX_DRAIN_S, DRAIN_S + DRAIN_S_PER_GB * family.host_bytes / _GB)


def _kills(family: FamilyOrder) -> bool:
    return family.steps[-1].signal == "KILL"


def _family_order(
    number: int, family: FamilyPlan, gpu_names: dict[str, str], *, is_forced: bool
) -> FamilyOrder:
    if {Consent.PRINTED, Consent.SCOPE} & set(family.needs):
        raise ValueError(f"{family.label} is not to be touched")
    if Consent.MANAGED in family.needs and family.manager is not None:
        return FamilyOrder(
            number=number,
            family=family.id,
            commands=family.manager.commands,
            commands_s=family.manager.timeout_s,
        )
    members = sorted(family.members, key=lambda member: not member.is_root)
    if any(member.pid <= 1 for member in members):
        raise ValueError("pid 1 is nobody's family")
    return FamilyOrder(
        number=number,
        family=family.id,
        members=tuple(member.identity for member in members),
        roots=sum(member.is_root for member in members),
        gpus=tuple(sorted(gpu_names[share.gpu] for share in family.shares)),
        steps=_steps(family, members, is_forced=is_forced),
        save_s=0.0 if is_forced else SAVE_S,
    )


def _steps(family: FamilyPlan, members: list[Member], *, is_forced: bool) -> tuple[Step, ...]:
    kill = Step(signal="KILL", to=Targets.ALL, wait_s=drain_s(family), rounds=KILL_ROUNDS)
    asks = _asking(family, members)
    if family.is_never_forced:
        return asks or (Step(signal="TERM", to=Targets.ROOTS, wait_s=REST_GRACE_S),)
    if is_forced or not family.grace_s:
        return (kill,)
    return (*asks, kill)


def _asking(family: FamilyPlan, members: list[Member]) -> tuple[Step, ...]:
    """Return the steps that ask: the roots, then who outlives them; or a framework's own order."""
    waves = sorted({member.wave for member in members})
    if len(waves) > 1:
        return tuple(
            Step(
                signal="TERM",
                to=tuple(place for place, one in enumerate(members) if one.wave == wave),
                wait_s=family.grace_s,
            )
            for wave in waves
        )
    steps = [Step(signal="TERM", to=Targets.ROOTS, wait_s=family.grace_s)]
    # Newborn children may be there where the plan has none.
    are_helpers = all(member.is_helper for member in members if not member.is_root)
    steps.append(
        Step(
            signal="TERM",
            to=Targets.REST,
            wait_s=HELPERS_GRACE_S if are_helpers else REST_GRACE_S,
            settle_s=SETTLE_S,
            is_after_gone=True,
        )
    )
    return tuple(steps)
