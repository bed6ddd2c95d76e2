"""The record of proofs that run on and on: begun with their first word, ended with the last.

Whoever shows proofs and has no record of its own keeps one of these. Nothing that is made up is
recorded.
"""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Sequence

from gpudash import __version__
from gpudash.core.masking import masked_argv
from gpudash.core.proof import Moment, Proof, Tell
from gpudash.core.prooflines import line_of
from gpudash.core.record import Line, begun, ended
from gpudash.services.recorder import Recorder, Run

DURABLE = frozenset({Moment.PROVEN, Moment.BROKE})
"""What ends a phase: it is synced."""


def first_line(command: Sequence[str], hosts: tuple[str, ...], **details: object) -> Line:
    """Return the first line of a record of this process."""
    return begun(
        masked_argv(command),
        version=__version__,
        user=_user(),
        machine=socket.gethostname(),
        hosts=hosts,
        is_simulated=False,
        pid=os.getpid(),
        **details,
    )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid()) if hasattr(os, "geteuid") else "?"


def write_told(run: Run, tell: Tell, proof: Proof) -> None:
    """Write down what a proof tells; what ends a phase is synced, and nobody waits for that."""
    line = line_of(tell, proof.host(tell.host), proof.policy.hold_s)
    if tell.moment in DURABLE:
        run.begin_durably(line)
    else:
        run.write(line)


class ProofRecord:
    """The record of one proof after the other."""

    def __init__(self, recorder: Recorder | None, command: Sequence[str]) -> None:
        """Keep nothing yet; without a recorder nothing is ever kept."""
        self._recorder = recorder
        self._command = tuple(command)
        self._said = ""
        self._run: Run | None = None
        self._proof: Proof | None = None

    def told(self, tell: Tell, proof: Proof) -> None:
        """Write down what a proof tells; its first word begins the record."""
        if self._recorder is None or proof.is_simulated:
            return
        if self._run is None:
            self._run = self._recorder.begin("proof")
            names = tuple(host.name for host in proof.hosts)
            self._run.begin_durably(first_line(self._command, names))
        self._proof = proof
        write_told(self._run, tell, proof)

    def news(self) -> str:
        """Return why nothing can be written, where that was not told yet; else nothing."""
        problem = self._recorder.problem if self._recorder is not None else ""
        is_new = problem not in ("", self._said)
        self._said = problem or self._said
        return problem if is_new else ""

    def end(self, says: str) -> None:
        """End the record where one was begun; the next word begins another one."""
        run, self._run = self._run, None
        if run is not None and self._proof is not None:
            run.end(ended(int(self._proof.exit_code), f"{self._proof.state.value}: {says}"))
