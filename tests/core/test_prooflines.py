"""A proof in the record: the readings behind it, and no secret of whoever broke it."""

from __future__ import annotations

import json

from gpudash.core.errors import ExitCode
from gpudash.core.model import Owner
from gpudash.core.proof import Break, BreakKind, Claimant, HostProof, Moment, Phase, Tell
from gpudash.core.prooflines import KINDS, line_of, proof_sentences
from gpudash.core.verify import judge_host
from tests.core.making import GIB, ack, hello, host_of, info, process, reading, roster, sample, told
from tests.proof.driving import BOOT_S, Driver, scan_of

WHO = Claimant(
    pid=7, command="python serve.py --api-key hunter2", user="ana", owner=Owner.MINE, used_bytes=GIB
)
BREAK = Break(
    kind=BreakKind.MINE,
    host="gpu-a",
    at_s=3.0,
    host_s=12.5,
    clear_s=8.0,
    was_proven=False,
    gpus=(1,),
    gpu_uuid="GPU-1",
    delta_bytes=GIB,
    who=WHO,
    suspects=(WHO,),
    exit_code=ExitCode.HELD,
)


def test_a_break_has_its_readings_and_no_secret() -> None:
    fleet = told(hello(*roster(2)), sample(1, reading(0), reading(GIB, process(7))), ack(info(7)))
    judged = judge_host(host_of(fleet))
    proof = HostProof(name="gpu-a", phase=Phase.BROKEN, broken=BREAK, judged=judged)
    tell = Tell(host="gpu-a", moment=Moment.BROKE, broken=BREAK)
    line = line_of(tell, proof, 10.0)
    assert (line.kind, line.host, line.host_monotonic_s, line.boot_id) == (
        "break",
        "gpu-a",
        12.5,
        "boot-1",
    )
    assert line.says == (
        "was clear for 8.0 s; GPU 1: +1.0 GiB, pid 7 python serve.py --api-key … (ana)"
    )
    details = json.dumps(line.details)
    assert "hunter2" not in details + line.says
    readings = line.details["readings"]
    assert isinstance(readings, list)
    assert [one["used_bytes"] for one in readings] == [0, GIB]
    assert readings[1]["processes"] == [
        {"pid": 7, "used_bytes": GIB, "comm": "python", "user": "ana"}
    ]


def test_a_scan_carries_its_own_clock() -> None:
    drive = Driver(hold_s=10.0)
    drive.ticks(3, 0, 0)
    drive.scanned(scan_of(at_s=BOOT_S + 0.6))
    tell = drive.effects[-1]
    assert isinstance(tell, Tell)
    assert tell.moment is Moment.SCANNED
    assert line_of(tell, drive.host, 10.0).host_monotonic_s == BOOT_S + 0.6
    assert drive.host.evidence is not None
    assert drive.host.evidence.last.host_s == BOOT_S + 0.75


def test_why_a_hold_began_anew_is_said() -> None:
    drive = Driver(hold_s=10.0)
    drive.ticks(3, 0, 0)
    drive.tick(0, 0, after_s=0.9)
    tell = drive.effects[-1]
    assert isinstance(tell, Tell)
    says = line_of(tell, drive.host, 10.0).says
    assert says == "the hold begins anew: readings 0.9 s apart; 2 of 2 GPUs at 0 MiB"
    assert proof_sentences(drive.proof) == ("gpu-a: the hold began anew: readings 0.9 s apart",)


def test_every_moment_has_its_kind_and_words() -> None:
    proof = HostProof(name="gpu-a")
    assert set(KINDS) == set(Moment)
    for moment in Moment:
        line = line_of(Tell(host="gpu-a", moment=moment), proof, 10.0)
        assert line.says
