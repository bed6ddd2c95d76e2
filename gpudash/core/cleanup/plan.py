"""The plan: what a cleanup would do to whom on one host, and why. Nothing is signalled before it.

A frozen value. It is bound to identities when it is made, and nothing in it re-sorts. What may be
done with it is decided elsewhere: `consent` says which families a person agreed to, `orders` makes
of those what the hand is sent.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from enum import Enum

from gpudash.core.cleanup.belonging import Belongs, Origin
from gpudash.core.cleanup.leftovers import Life
from gpudash.core.cleanup.managing import Manager
from gpudash.core.cleanup.outcomes import Ending
from gpudash.core.errors import ExitCode
from gpudash.core.holding import Identity
from gpudash.core.units import known_sum

MAX_AGE_S = 30.0
"""An older plan is made anew before it is carried out."""


class Action(Enum):
    """What `c` would do to it; the words of the screen (mockups spec §9)."""

    STOP = "stop"
    ASK = "ask"
    LEAVE = "leave"
    NEVER = "never"
    WATCHING = "watching"


class Consent(Enum):
    """What somebody must agree to beyond confirming the plan, before a family is touched."""

    KEY = "key"
    """Alive, suspended or traced: one more key on the screen; `--yes` covers it."""
    COLLATERAL = "collateral"
    """It works on GPUs outside the scope as well: one more key, or `--pid`."""
    SESSION = "session"
    """Of another login of the same user: one more key; elsewhere `--pid` or `--user`."""
    NAME = "name"
    """Another user's: `--pid`, `--user` or `--all-users`, never a key."""
    MANAGED = "managed"
    """Stopped by its manager's command: one more key, or `--managed`."""
    PRINTED = "printed"
    """Its manager's command is for the user to run: nothing allows it here."""
    SCOPE = "scope"
    """On other GPUs than those in scope: untouched."""


class Condition(Enum):
    """How a family is, at its worst."""

    ACTIVE = "active"
    IDLE = "idle"
    ORPHAN = "orphan"
    SUSPENDED = "suspended"
    ZOMBIE_LEADER = "zombie leader"
    BLOCKED = "D"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What a family holds on one GPU."""

    gpu: str
    """Key of the GPU: its UUID."""
    index: int
    used_bytes: int | None
    """None where the driver doesn't say whose it is."""
    is_in_scope: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One process of a family."""

    identity: Identity
    label: str
    state: str
    """As in /proc/PID/stat."""
    is_root: bool
    gpus: tuple[str, ...]
    """Keys of GPUs that it has open; () for a helper without any."""
    is_helper: bool = False
    wave: int = 0
    """In which round it is asked to end, where a framework has an order."""

    @property
    def pid(self) -> int:
        """Return its pid in the hand's namespace."""
        return self.identity.pid


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """By what a family is known again when it comes back under other pids."""

    exe: tuple[int, int] | None
    command: str
    """Command line or title of its first root."""
    cwd: str | None
    parent: int
    parent_name: str
    """Empty where the parent is init or can't be seen."""
    is_below_script: bool = False
    """The parent is a shell that runs a script or a loop: it may start it again."""


FamilyId = tuple[int, int]
"""Pid and start of the first root."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyPlan:
    """What would be done to one family."""

    letter: str
    label: str
    user: str
    uid: int
    age_s: float
    condition: Condition
    life: Life
    belongs: Belongs
    shares: tuple[Share, ...]
    members: tuple[Member, ...]
    """The roots first."""
    action: Action
    needs: tuple[Consent, ...]
    """All of them; () for what a confirmed plan does without asking again."""
    why: tuple[str, ...]
    """Sentences."""
    grace_s: float
    """From SIGTERM to SIGKILL; 0 where SIGTERM is known to do nothing."""
    ports: tuple[int, ...]
    clients: int
    is_saving: bool
    """A checkpoint is being written."""
    origin: Origin
    manager: Manager | None
    host_bytes: int
    """Memory of its processes on the host: giving it back takes time after a kill."""
    signature: Signature
    dead: tuple[int, ...] = ()
    """Dead pids whose memory it keeps."""
    is_never_forced: bool = False
    """A protecting entry was left out for it: it may be asked to end, never more."""

    @property
    def id(self) -> FamilyId:
        """Return what names it within a plan."""
        return self.members[0].identity.pid, self.members[0].identity.start_ticks

    @property
    def pids(self) -> tuple[int, ...]:
        """Return the pids of all members, the roots first."""
        return tuple(member.pid for member in self.members)

    @property
    def collateral(self) -> tuple[Share, ...]:
        """Return what it holds outside the scope."""
        return tuple(share for share in self.shares if not share.is_in_scope)

    @property
    def used_bytes(self) -> tuple[int, bool]:
        """Return the sum of what is known, and whether that is all."""
        return known_sum(share.used_bytes for share in self.shares)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Processes of one kind that are not touched: protected, watching, or ourselves."""

    name: str
    action: Action
    why: str
    pids: tuple[int, ...]
    used_bytes: int
    """On GPUs in scope."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """Memory on a GPU in scope whose holder can't be had."""

    gpu: str
    index: int
    used_bytes: int | None
    words: str
    """What is known of it: `pid 4711 is hidden from this user`."""
    is_foreign: bool
    """It is a living process of somebody else."""
    is_listed: bool = False
    """The driver lists a pid for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would be done on one host."""

    host: str
    created_s: float
    """Viewer's clock."""
    host_monotonic_s: float
    """The host's clock when its processes were looked at."""
    boot_id: str | None
    uid: int | None
    pid_namespace: int | None
    scope: tuple[tuple[str, int], ...]
    """Key (UUID) and index of each GPU in scope, in roster order."""
    is_whole_host: bool
    """Every GPU of the host is in scope."""
    families: tuple[FamilyPlan, ...]
    """To stop, to ask for, to leave; within that most memory first, then by pid."""
    kept: tuple[Kept, ...]
    unseen: tuple[Unseen, ...]
    unreadable: int
    """Processes whose descriptors could not be read."""
    endings: tuple[Ending, ...]
    """How each GPU in scope would end if nothing was signalled."""
    exit_code: ExitCode
    """Of a dry run: 0 only where all in scope read zero."""
    shows_first: str
    """Why this plan is shown before it runs, whatever is in it; empty for no such reason."""
    notes: tuple[str, ...] = ()
    is_simulated: bool = False
    hand_uid: int | None = None
    """Whom the hand runs as: `uid`, or 0 by sudo; None where the scan does not tell."""

    @property
    def digest(self) -> str:
        """Return a hash over whom it is about and what it would do; the same for the same plan."""
        told = [
            [self.host, self.boot_id, self.uid, self.pid_namespace],
            [key for key, _ in self.scope],
            [_fingerprint(family) for family in sorted(self.families, key=lambda one: one.id)],
        ]
        text = json.dumps(told, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def family(self, wanted: FamilyId) -> FamilyPlan:
        """Return the family of that id. Raises KeyError."""
        for family in self.families:
            if family.id == wanted:
                return family
        raise KeyError(wanted)


def identity_row(identity: Identity) -> list[object]:
    """Return an identity as JSON has it: pid, start, uid, [device, inode] or null."""
    exe = list(identity.exe) if identity.exe else None
    return [identity.pid, identity.start_ticks, identity.uid, exe]


def _fingerprint(family: FamilyPlan) -> list[object]:
    return [
        [identity_row(member.identity) for member in family.members],
        family.action.value,
        [need.value for need in family.needs],
        family.grace_s,
    ]


def asks_again(old: Plan, new: Plan, chosen: frozenset[FamilyId], now_s: float) -> str:
    """Tell why a confirmed plan must be shown again, as a sentence; empty if it needn't be.

    `new` is a plan of the same request from a fresh scan. What went away meanwhile is no reason:
    it can't be hurt. Whoever is new, or is no longer who it was, is one; so is age.
    """
    if now_s - old.created_s > MAX_AGE_S:
        return f"The plan is {now_s - old.created_s:.0f} s old."
    if new.boot_id != old.boot_id:
        return "The host was started anew."
    if new.scope != old.scope:
        return "The GPUs changed."
    before = {member.identity for id_ in chosen for member in old.family(id_).members}
    for family in new.families:
        if family.id in chosen:
            was = old.family(family.id)
            if set(family.needs) - set(was.needs):
                return f"{family.label} now needs more than it did."
            news = [one for one in family.members if one.gpus and one.identity not in before]
        elif before & {member.identity for member in family.members}:
            news = [one for one in family.members if one.is_root]
        else:
            continue
        if news:
            return f"{family.label} has a new process: pid {news[0].pid}."
    return ""
