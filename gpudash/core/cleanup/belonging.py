"""Whose a family is, and where it was started from.

Another uid is foreign. Where everybody is uid 0 a uid says nothing: there the tmux server, the
login session, the container and the address of the ssh client tell whose it is, in this order. An
address is of a machine and not of a person: it makes nothing of another living login ours. A family
of several roots is as far from us as the farthest of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gpudash.core.cleanup.families import Family
from gpudash.core.cleanup.managing import CONTAINERS, identified
from gpudash.core.cleanup.table import LOGINS, SHELLS, Table
from gpudash.core.holding import Process
from gpudash.core.units import format_duration

CONNECTIONS = frozenset({"sshd", "sshd-session", "login", "dropbear", "mosh-server"})
"""Somebody is there as long as one of these lives; a terminal multiplexer lives on alone."""
FIRST_HUMAN_UID = 1000
"""Below are the accounts of services (login.defs)."""


class Belongs(Enum):
    """Whose a family is."""

    MINE = "mine"
    OTHER_SESSION = "another session's"
    OTHER_USER = "another user's"


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a family was started from."""

    address: str = ""
    """Of the ssh client of that login; empty where it was none, or is not known."""
    is_below_login: bool = False
    """It still hangs below somebody's living shell, login or terminal multiplexer."""
    is_in_living_login: bool = False
    """Its login session is another one than ours, and somebody is still in it."""
    age_s: float = 0.0

    @property
    def words(self) -> str:
        """Return it as a sentence's part; empty where there is nothing to tell."""
        if not self.address:
            return ""
        return f"started from a session of {self.address}, {format_duration(self.age_s)} ago"


def origin_of(family: Family, table: Table) -> Origin:
    """Return where a family comes from, by its roots and what is above them."""
    farthest = max(family.roots, key=lambda root: _FARNESS.index(_whose(root, table)))
    return Origin(
        address=_address(farthest, table),
        is_below_login=any(_hangs_below_login(root, table) for root in family.roots),
        is_in_living_login=any(_is_in_living_login(root, table) for root in family.roots),
        age_s=max(member.age_s for member in family.members),
    )


def belonging(family: Family, table: Table) -> Belongs:
    """Tell whose a family is."""
    return max((_whose(root, table) for root in family.roots), key=_FARNESS.index)


_FARNESS = (Belongs.MINE, Belongs.OTHER_SESSION, Belongs.OTHER_USER)


def _whose(root: Process, table: Table) -> Belongs:
    if table.uid is None or root.identity.uid != table.uid:
        return Belongs.OTHER_USER
    if table.uid != 0 or table.me is None or _is_my_session(root, table.me, table):
        return Belongs.MINE
    return Belongs.OTHER_SESSION


def _is_my_session(root: Process, me: Process, table: Table) -> bool:
    mine, theirs = _tmux(me, table), _tmux(root, table)
    if mine and mine == theirs:
        return True
    if root.login_session is not None and root.login_session == me.login_session:
        return True
    own_address, address = _address(me, table), _address(root, table)
    if _is_in_living_login(root, table) or _is_below_another_door(root, me, table):
        # In a container nobody need have logged in: its processes have the session of whoever
        # started it. Who came into it by ssh has an address.
        return not address and _are_in_one_container(root, me, table)
    if own_address and address:
        return own_address == address
    return not address


def _is_below_another_door(root: Process, me: Process, table: Table) -> bool:
    """Tell whether it hangs below a login that is not ours, where no session number tells so."""
    if None not in (root.login_session, me.login_session):
        return False
    return any(
        one.comm in CONNECTIONS and one.pid > 1 and one.pid not in table.own
        for one in table.ancestors(root)
    )


def _are_in_one_container(one: Process, other: Process, table: Table) -> bool:
    first, second = identified(one, table), identified(other, table)
    return first == second and first is not None and first[0] in CONTAINERS


def other_logins(table: Table) -> int:
    """Return how many other login sessions have somebody in them."""
    own = table.me.login_session if table.me else None
    return len(
        {
            process.login_session
            for process in table.processes
            if process.login_session not in (None, own) and is_login(process)
        }
    )


def is_login(process: Process) -> bool:
    """Tell whether a process is a shell, a login or a terminal multiplexer."""
    return process.comm.lstrip("-") in SHELLS | LOGINS


def _hangs_below_login(root: Process, table: Table) -> bool:
    return any(
        is_login(process) and (process.pid > 1 or is_interactive(process))
        for process in table.ancestors(root)
    )


def is_interactive(shell: Process) -> bool:
    """Tell whether a shell runs neither a script nor a command: a container's `bash` as pid 1."""
    return all(word.startswith("-") and word != "-c" for word in shell.argv[1:])


def _is_in_living_login(root: Process, table: Table) -> bool:
    session = root.login_session
    if session is None or (table.me is not None and table.me.login_session == session):
        return False
    return any(
        process.login_session == session and is_login(process) for process in table.processes
    )


def _address(process: Process, table: Table) -> str:
    for one in (process, *table.ancestors(process)):
        connection = dict(one.hints).get("SSH_CONNECTION", "")
        if connection.strip():
            return connection.split()[0]
    return ""


def _tmux(process: Process, table: Table) -> str:
    """Return socket and pid of the tmux server that a process was started in; empty for none."""
    for one in (process, *table.ancestors(process)):
        words = dict(one.hints).get("TMUX", "")
        if words.count(",") == 2:
            return words.rpartition(",")[0]
    return ""
