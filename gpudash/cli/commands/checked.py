"""Arguments of `check`, what is expected, and how the verdict is printed."""

from __future__ import annotations

import argparse
import contextlib
import re
from dataclasses import dataclass

from gpudash.cli import arguments, diagnostics, output
from gpudash.cli.commands import documents
from gpudash.cli.commands.holders import joint_reach, reach_document
from gpudash.cli.commands.verdict_table import verdict_table
from gpudash.cli.ways import ways_of
from gpudash.config.baselines import load_baselines
from gpudash.core.errors import ExitCode, UsageError
from gpudash.core.model import Fleet
from gpudash.core.scope import Scope, parse_scope
from gpudash.core.units import plural
from gpudash.core.verify import FleetVerdict, GpuVerdict, Verdict, judge_fleet

FORMATS = (*output.FORMATS, "smi")
SCHEMA = "gpudash.check/1"
_BASES = {Verdict.ZERO: "zero", Verdict.BASELINE: "baseline"}


TYPE_CHECKING = False  # as in sources/oneshot.py
if TYPE_CHECKING:
    from gpudash.core.proof import Proof


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """What `--expect` asks for."""

    text: str
    free: int | None = None
    """How many GPUs must be at zero; None for the other two."""

    @property
    def is_healthy(self) -> bool:
        """Tell whether busy GPUs are fine."""
        return self.text == "healthy"


def parse(words: list[str]) -> argparse.Namespace:
    """Parse the words. Raises UsageError."""
    parser = arguments.Parser(
        prog="gpudash check",
        description="One reading, one verdict. Exit code: 0 zero, 1 held, 3 unreachable, "
        "4 unknown, 6 needs a reset; the worst counts, in the order 3, 4, 6, 1, 0.",
    )
    parser.add_argument("hosts", nargs="*", metavar="HOST", help=arguments.HOST_HELP)
    parser.add_argument(
        "--gpu", action="append", metavar="0-3|UUID|BUS-ID,…", help="judge only these GPUs"
    )
    parser.add_argument(
        "--expect",
        default="zero",
        metavar="WHAT",
        help="zero (default); healthy: busy is fine; free:N: at least N GPUs at zero",
    )
    parser.add_argument("--hold", metavar="D", help="prove it over so long, 10s for example")
    parser.add_argument("--strict", action="store_true", help="an accepted baseline counts as held")
    parser.add_argument("--format", default="table", metavar="F", help=" | ".join(FORMATS))
    plan = parser.parse_words(words)
    plan.format = arguments.choose(plan.format, FORMATS, "format")
    plan.ways = ways_of(plan.hosts)
    if plan.format == "smi" and len(plan.ways) > 1:
        raise UsageError(
            "--format smi is for one host: its lines carry no name",
            hint="For several: --format csv, or jsonl",
        )
    plan.expect = parse_expectation(plan.expect)
    # Said twice it means both: the last one alone would leave out a GPU that was asked for.
    plan.gpu = None if plan.gpu is None else ",".join(plan.gpu)
    plan.scope = None if plan.gpu is None else parse_scope(plan.gpu)
    plan.hold_s = _hold(plan)
    plan.baselines = load_baselines(is_strict=plan.strict)
    return plan


def _hold(plan: argparse.Namespace) -> float | None:
    if plan.hold is None:
        return None
    if plan.expect.text != "zero":
        raise UsageError(
            "--hold proves zero, and nothing else can be expected of it",
            hint="For some GPUs of this machine: gpudash wait --gpus N",
        )
    return arguments.hold(plan.hold)


def parse_expectation(text: str) -> Expectation:
    """Read what follows `--expect`. Raises UsageError naming the nearest valid word."""
    if match := re.fullmatch(r"free:(\d{1,4})", text):
        if int(match[1]) == 0:
            raise UsageError("--expect free:0 is always true", hint="Ask for at least one GPU.")
        return Expectation(text=text, free=int(match[1]))
    if text.startswith("free"):
        raise UsageError(f"--expect {text}: how many?", hint="Example: --expect free:2")
    return Expectation(text=arguments.choose(text, ("zero", "healthy", "free:N"), "expectation"))


def exit_code(verdict: FleetVerdict, expect: Expectation) -> ExitCode:
    """Return what the command exits with (design §6)."""
    if expect.free is not None:
        return _free_code(verdict, expect.free)
    if expect.is_healthy and verdict.exit_code is ExitCode.HELD:
        return ExitCode.OK
    return verdict.exit_code


def _free_code(verdict: FleetVerdict, wanted: int) -> ExitCode:
    """Zero GPUs count; those that might be zero make it unknown, not held."""
    gpus = [gpu for host in verdict.hosts for gpu in host.gpus]
    free = sum(gpu.verdict is Verdict.ZERO for gpu in gpus)
    if free >= wanted:
        return ExitCode.OK
    if not gpus or any(host.reason for host in verdict.hosts):
        return verdict.exit_code
    unknown = sum(gpu.verdict is Verdict.UNKNOWN for gpu in gpus)
    return verdict.exit_code if free + unknown >= wanted else ExitCode.HELD


def report(
    fleet: Fleet, plan: argparse.Namespace, proof: Proof | None = None, run: str | None = None
) -> int:
    """Print the verdict in the wanted format; return the exit code, also where nobody reads it.

    `proof` is what was held, and `run` its record.
    """
    scope: Scope | None = plan.scope
    verdict = judge_fleet(fleet, scope, plan.baselines)
    code = exit_code(verdict, plan.expect) if proof is None else proof.exit_code
    with contextlib.suppress(output.Closed):
        _print(verdict, plan, code, proof, run)
    _narrate(verdict)
    if code is not ExitCode.OK and plan.expect.free is not None:
        diagnostics.say(f"gpudash: {_free_words(verdict, plan.expect.free)}")
    if proof is not None:
        from gpudash.core.prooflines import proof_sentences

        for sentence in proof_sentences(proof):
            diagnostics.say(f"gpudash: {sentence}")
    return int(code)


def _print(
    verdict: FleetVerdict,
    plan: argparse.Namespace,
    code: ExitCode,
    proof: Proof | None,
    run: str | None,
) -> None:
    match plan.format:
        case "json":
            output.write_json(_document(verdict, plan, code, proof, run))
        case "jsonl":
            for host in verdict.hosts:
                output.write_line({"schema": SCHEMA, **documents.host_document(host)})
        case "csv":
            output.write_csv(documents.CSV_HEADER, documents.csv_rows(verdict))
        case "smi":
            from gpudash.core.smi.table import smi_format

            for host in verdict.hosts:
                driver = host.host.facts.driver if host.host.facts else None
                output.write(smi_format((gpu.gpu for gpu in host.gpus), driver))
        case _:
            output.write(verdict_table(verdict, code, proof))


def _document(
    verdict: FleetVerdict,
    plan: argparse.Namespace,
    code: ExitCode,
    proof: Proof | None,
    run: str | None,
) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "simulated": any(host.host.is_simulated for host in verdict.hosts),
        "verdict": verdict.verdict.value,
        "basis": _BASES.get(verdict.verdict),
        "clear": verdict.clear.value,
        "expect": plan.expect.text,
        "scope": plan.gpu,
        "exit_code": int(code),
        "hosts": [documents.host_document(host) for host in verdict.hosts],
        **_proven(verdict, proof, run),
    }


def _proven(verdict: FleetVerdict, proof: Proof | None, run: str | None) -> dict[str, object]:
    """Return how far it sees, and what only a proof has."""
    if proof is None:
        reach = joint_reach([reach_document(host.host) for host in verdict.hosts])
        return {"reach": reach, "proof": None, "record": None}
    from gpudash.core.prooflines import proof_document, reach_document_of

    return {
        "reach": reach_document_of(proof.reach),
        "proof": proof_document(proof),
        "record": run,
    }


def _narrate(verdict: FleetVerdict) -> None:
    """Say on stderr what stands in the way, and what to do about it."""
    for host in verdict.hosts:
        problem = host.host.problem
        if problem is not None:
            diagnostics.say(f"gpudash: {host.host.name}: {problem.sentence}")
            if problem.advice:
                diagnostics.say(f"         {problem.advice}")
        for gpu in host.gpus if problem is None else ():
            advice = documents.gpu_advice(gpu)
            if advice:
                diagnostics.say(f"gpudash: {host.host.name}: {_name(gpu)} {advice}")


def _free_words(verdict: FleetVerdict, wanted: int) -> str:
    """Return `9 GPUs at zero are wanted: 2 of 2 are`."""
    gpus = [gpu for host in verdict.hosts for gpu in host.gpus]
    free = sum(gpu.verdict is Verdict.ZERO for gpu in gpus)
    verb = "is" if wanted == 1 else "are"
    return f"{plural(wanted, 'GPU')} at zero {verb} wanted: {free} of {len(gpus)}"


def _name(gpu: GpuVerdict) -> str:
    return f"GPU {gpu.gpu.info.index}:"
