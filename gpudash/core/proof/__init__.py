"""The proof: a verdict that was held over time, with the readings that carry it (design §7).

    proof = begin(fleet, Policy(hold_s=10.0), at_s)
    proof, effects = step(proof, Observed(event=event, host=host), at_s)

Theory of operation. Each host is proven on its own clock. An event of a host is read as a sign
(`signs`), and the table in `phases` says where a sign leads. A hold is a chain of samples: each
the very next of the same probe and boot, clear for every GPU in scope, with no gap over three
intervals on the host's clock. A stalled link suspends it; it goes on only if every missing
sample then arrives. Nothing is ever filled in: what breaks the chain begins a new one. After
PROVEN the chain goes on at the usual rate until something breaks it, and the break is named.

Effects ask for the faster rate and for scans, and tell what happened. The caller carries them
out; a scan's answer comes back as `Scanned`. Input that can't be raises `IllegalEvent` and
changes nothing.
"""

from __future__ import annotations

from gpudash.core.proof.breaks import ALARMS as ALARMS
from gpudash.core.proof.breaks import CLAIMS as CLAIMS
from gpudash.core.proof.breaks import Break as Break
from gpudash.core.proof.breaks import BreakKind as BreakKind
from gpudash.core.proof.breaks import Claimant as Claimant
from gpudash.core.proof.breaks import break_sentence as break_sentence
from gpudash.core.proof.evidence import Basis as Basis
from gpudash.core.proof.evidence import Evidence as Evidence
from gpudash.core.proof.evidence import GpuEvidence as GpuEvidence
from gpudash.core.proof.evidence import Tick as Tick
from gpudash.core.proof.machine import IllegalEvent as IllegalEvent
from gpudash.core.proof.machine import begin as begin
from gpudash.core.proof.machine import step as step
from gpudash.core.proof.phases import Phase as Phase
from gpudash.core.proof.phases import State as State
from gpudash.core.proof.talk import Effect as Effect
from gpudash.core.proof.talk import Input as Input
from gpudash.core.proof.talk import Moment as Moment
from gpudash.core.proof.talk import Observed as Observed
from gpudash.core.proof.talk import RequestScan as RequestScan
from gpudash.core.proof.talk import Restart as Restart
from gpudash.core.proof.talk import Scanned as Scanned
from gpudash.core.proof.talk import SetRate as SetRate
from gpudash.core.proof.talk import Settle as Settle
from gpudash.core.proof.talk import Stop as Stop
from gpudash.core.proof.talk import Tell as Tell
from gpudash.core.proof.values import HostProof as HostProof
from gpudash.core.proof.values import Policy as Policy
from gpudash.core.proof.values import Proof as Proof
