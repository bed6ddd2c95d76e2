"""The JSON contract, as a checker: exactly these keys, each with one of these types."""

from __future__ import annotations

from typing import Any

TEXT = (str,)
MAYBE_TEXT = (str, type(None))
NUMBER = (int,)
MAYBE_NUMBER = (int, type(None))
MAYBE_FLOAT = (float, int, type(None))
FLAG = (bool,)

PROCESS: dict[str, Any] = {
    "pid": NUMBER,
    "used_bytes": MAYBE_NUMBER,
    "type": TEXT,
    "name": MAYBE_TEXT,
    "detail": MAYBE_TEXT,
    "user": MAYBE_TEXT,
    "uid": MAYBE_NUMBER,
    "age_s": MAYBE_FLOAT,
    "owner": {"mine", "foreign", "unknown"},
    "root_pid": MAYBE_NUMBER,
    "is_gone": FLAG,
    "state": MAYBE_TEXT,
    "is_hidden": FLAG,
    "kept_by": [NUMBER],
}
MIG: dict[str, Any] = {
    "gpu_instance": NUMBER,
    "compute_instance": NUMBER,
    "uuid": MAYBE_TEXT,
    "profile": MAYBE_TEXT,
    "used_bytes": MAYBE_NUMBER,
    "total_bytes": MAYBE_NUMBER,
    "processes": [PROCESS],
}
INFO: dict[str, Any] = {
    "index": NUMBER,
    "uuid": MAYBE_TEXT,
    "bus_id": MAYBE_TEXT,
    "name": MAYBE_TEXT,
    "total_bytes": MAYBE_NUMBER,
    "reserved_bytes": MAYBE_NUMBER,
    "mig_enabled": FLAG,
}
STATES = {
    "read",
    "lost",
    "needs_reset",
    "needs_attention",
    "no_permission",
    "unified",
    "unreadable",
    "missing",
    "unread",
}
READING: dict[str, Any] = {
    "used_bytes": MAYBE_NUMBER,
    "utilisation_pct": MAYBE_NUMBER,
    "power_mw": MAYBE_NUMBER,
    "temperature_c": MAYBE_NUMBER,
    "sm_clock_mhz": MAYBE_NUMBER,
    "throttle_bits": MAYBE_NUMBER,
    "pstate": MAYBE_NUMBER,
    "recovery_action": MAYBE_NUMBER,
    "nvml_codes": [NUMBER],
    "processes": [PROCESS],
    "hidden_processes": NUMBER,
    "doubt": MAYBE_TEXT,
    "mig": [MIG],
}
VERDICTS = {"ZERO", "BASELINE", "HELD", "UNKNOWN"}
CODES = {0, 1, 3, 4, 6}
GPU: dict[str, Any] = {
    **INFO,
    "state": STATES,
    "verdict": VERDICTS,
    "reason": MAYBE_TEXT,
    "note": MAYBE_TEXT,
    **READING,
}
REACH: dict[str, Any] = {"word": {"full", "partial"}, "why": [TEXT]}
HOLDER: dict[str, Any] = {
    "basis": {
        "listed",
        "inherited",
        "dead",
        "hidden",
        "host pid",
        "unasked",
        "handles",
        "unexplained",
    },
    "pid": MAYBE_NUMBER,
    "name": MAYBE_TEXT,
    "detail": MAYBE_TEXT,
    "user": MAYBE_TEXT,
    "uid": MAYBE_NUMBER,
    "owner": {"mine", "foreign", "unknown"},
    "root_pid": MAYBE_NUMBER,
    "state": MAYBE_TEXT,
    "gpus": [{"index": NUMBER, "uuid": MAYBE_TEXT, "used_bytes": MAYBE_NUMBER}],
    "kept_by": [
        {
            "pid": NUMBER,
            "name": TEXT,
            "detail": MAYBE_TEXT,
            "user": TEXT,
            "uid": NUMBER,
        }
    ],
    "handles": NUMBER,
    "evidence": [TEXT],
    "words": TEXT,
}
HOST: dict[str, Any] = {
    "host": TEXT,
    "simulated": FLAG,
    "verdict": VERDICTS,
    "clear": {"yes", "no", "unknown"},
    "exit_code": CODES,
    "reason": MAYBE_TEXT,
    "source": MAYBE_TEXT,
    "driver": MAYBE_TEXT,
    "boot_id": MAYBE_TEXT,
    "unsupported": [TEXT],
    "transport": MAYBE_TEXT,
    "link_notes": [TEXT],
    "round_trip_ms": MAYBE_FLOAT,
    "clock_offset_s": MAYBE_FLOAT,
    "problem": (
        None,
        {"title": TEXT, "sentence": TEXT, "advice": MAYBE_TEXT, "nvml_code": MAYBE_NUMBER},
    ),
    "gpus": [GPU],
    "reach": REACH,
    "holders": [HOLDER],
}
BASES = {"zero", "baseline", "free"}
EVIDENCE: dict[str, Any] = {
    "basis": BASES,
    "reach": REACH,
    "held_s": (float,),
    "samples": NUMBER,
    "longest_gap_s": (float, int),
    "first_seq": NUMBER,
    "first_host_s": (float,),
    "last_seq": NUMBER,
    "last_host_s": (float,),
    "source": TEXT,
    "simulated": FLAG,
    "driver": MAYBE_TEXT,
    "handles": MAYBE_TEXT,
    "notes": [TEXT],
    "gpus": [
        {
            "index": NUMBER,
            "uuid": MAYBE_TEXT,
            "first_bytes": NUMBER,
            "last_bytes": NUMBER,
            "baseline_bytes": MAYBE_NUMBER,
        }
    ],
}
CLAIMANT: dict[str, Any] = {
    "pid": NUMBER,
    "command": MAYBE_TEXT,
    "user": MAYBE_TEXT,
    "owner": {"mine", "foreign", "unknown"},
    "used_bytes": MAYBE_NUMBER,
    "is_host_pid": FLAG,
    "is_gone": FLAG,
}
BROKEN: dict[str, Any] = {
    "cause": TEXT,
    "sentence": TEXT,
    "clear_s": MAYBE_FLOAT,
    "was_proven": FLAG,
    "gpu_indices": [NUMBER],
    "gpu_uuid": MAYBE_TEXT,
    "delta_bytes": MAYBE_NUMBER,
    "settled": FLAG,
    "claimants": [CLAIMANT],
    "code": CODES,
}
PROOF: dict[str, Any] = {
    "state": {"NONE", "HOLDING", "PROVEN", "BROKEN"},
    "hold_s": (float,),
    "basis": BASES | {None},
    "reach": REACH,
    "simulated": FLAG,
    "hosts": [
        {
            "host": TEXT,
            "state": {"NONE", "HOLDING", "PROVEN", "BROKEN"},
            "exit_code": CODES,
            "delay": MAYBE_TEXT,
            "evidence": (None, EVIDENCE),
            "broken": (None, BROKEN),
        }
    ],
}
WAIT: dict[str, Any] = {
    "schema": {"gpudash.wait/1"},
    "simulated": FLAG,
    "exit_code": {0, 3, 4, 5, 6, 130},
    "outcome": TEXT,
    "record": TEXT,
    "chosen": [{"index": NUMBER, "uuid": TEXT}],
    "proofs": [PROOF],
}
WAIT_LINE: dict[str, Any] = {"schema": {"gpudash.wait/1"}, "record": TEXT, **PROOF}
CHECK: dict[str, Any] = {
    "schema": {"gpudash.check/1"},
    "simulated": FLAG,
    "verdict": VERDICTS,
    "basis": {"zero", "baseline", None},
    "clear": {"yes", "no", "unknown"},
    "expect": TEXT,
    "scope": MAYBE_TEXT,
    "exit_code": CODES,
    "hosts": [HOST],
    "reach": REACH,
    "proof": (None, PROOF),
    "record": MAYBE_TEXT,
}
CHECK_LINE: dict[str, Any] = {"schema": {"gpudash.check/1"}, **HOST}
SAMPLE: dict[str, Any] = {
    "schema": {"gpudash.sample/1"},
    "host": TEXT,
    "simulated": FLAG,
    "at": TEXT,
    "host_monotonic_s": MAYBE_FLOAT,
    "seq": NUMBER,
    "round_trip_ms": MAYBE_FLOAT,
    "clock_offset_s": MAYBE_FLOAT,
    "gpus": [{**INFO, "state": STATES, **READING}],
}
LINK: dict[str, Any] = {
    "schema": {"gpudash.link/1"},
    "host": TEXT,
    "at": TEXT,
    "link": {"live", "stale", "hung", "down"},
    "problem": MAYBE_TEXT,
    "transport": MAYBE_TEXT,
    "link_notes": [TEXT],
}
FINDING: dict[str, Any] = {
    "what": TEXT,
    "state": {"ok", "note", "fail"},
    "found": TEXT,
    "advice": MAYBE_TEXT,
}
DOCTOR: dict[str, Any] = {"schema": {"gpudash.doctor/1"}, "findings": [FINDING]}
DOCTOR_LINE: dict[str, Any] = {"schema": {"gpudash.doctor/1"}, **FINDING}


def check(value: Any, schema: Any, where: str = "$") -> None:
    """Raise AssertionError naming the place where a value is none of its schema."""
    match schema:
        case dict():
            assert isinstance(value, dict), where
            assert list(value) == list(schema), f"{where}: {list(value)}"
            for key, inner in schema.items():
                check(value[key], inner, f"{where}.{key}")
        case list():
            if value is None and where.endswith(".processes"):
                return  # null: the list could not be read
            assert isinstance(value, list), where
            for place, item in enumerate(value):
                check(item, schema[0], f"{where}[{place}]")
        case set():
            assert value in schema, f"{where}: {value!r}"
        case (None, inner):
            if value is not None:
                check(value, inner, where)
        case _:
            assert type(value) in schema, f"{where}: {value!r}"
