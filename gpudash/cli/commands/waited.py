"""Arguments of `wait`, and what it prints."""

from __future__ import annotations

import argparse
import contextlib

from gpudash.cli import arguments, output
from gpudash.cli.commands.wished import add_wish, require_here, split_command, wish_of
from gpudash.cli.settings import configured
from gpudash.cli.ways import ways_of
from gpudash.config.baselines import load_baselines
from gpudash.core.errors import UsageError
from gpudash.core.model import Gpu
from gpudash.core.proof import Policy, Proof
from gpudash.core.prooflines import proof_document
from gpudash.core.scope import parse_scope
from gpudash.core.units import parse_duration
from gpudash.core.waiting import Ending

SCHEMA = "gpudash.wait/1"
HEADER = ("host", "index", "uuid", "state", "basis", "held_s", "first_bytes", "last_bytes")


def parse(words: list[str]) -> argparse.Namespace:
    """Parse the words; what follows `--` is CMD. Raises UsageError."""
    own, command = split_command(words, "gpudash wait --zero -- make train")
    parser = arguments.Parser(
        prog="gpudash wait",
        usage="gpudash wait [HOST …] (--zero | --gpus N [--free SIZE]) [--gpu 0-3|UUID|BUS-ID,…]\n"
        "                    [--hold 10s] [--timeout 5m] [--strict] [-- CMD …]",
        description="Wait until every GPU in scope held zero, or until N GPUs of this machine did; "
        "then run CMD, whose exit code is passed through (127: not found, 126: can't be run). "
        "Otherwise: 5 timed out, 3 a host never answered, 4 a GPU is lost or there is no driver, "
        "6 a GPU needs a reset, 130 interrupted.",
    )
    parser.add_argument("hosts", nargs="*", metavar="HOST", help=arguments.HOST_HELP)
    add_wish(parser)
    parser.add_argument("--hold", default="10s", metavar="D", help="for how long (default 10s)")
    parser.add_argument("--timeout", default="5m", metavar="D", help="give up after (default 5m)")
    parser.add_argument("--format", metavar="F", help=" | ".join(output.FORMATS))
    plan = parser.parse_words(own)
    plan.command = command
    _check(plan, parser)
    plan.interval = None
    config = configured(plan)
    plan.ways = ways_of(plan.hosts, config)
    require_here(plan.wish, plan.ways, "wait")
    plan.policy = Policy(
        hold_s=arguments.hold(plan.hold),
        scope=parse_scope(",".join(plan.gpu)) if plan.gpu else None,
        baselines=load_baselines(is_strict=plan.strict),
        free_bytes=plan.wish.free_bytes if plan.wish else None,
        restarts=True,
    )
    plan.timeout_s = parse_duration(plan.timeout, flag="--timeout")
    return plan


def _check(plan: argparse.Namespace, parser: arguments.Parser) -> None:
    if plan.zero == (plan.gpus is not None):
        raise UsageError("wait for what?", hint="One of: --zero, --gpus N")
    plan.wish = wish_of(plan, parser)
    if plan.command is not None and plan.format is not None:
        raise UsageError(
            "--format is for wait without a command: stdout belongs to CMD",
            hint="Afterwards: gpudash explain --format json",
        )
    plan.format = arguments.choose(plan.format or "table", output.FORMATS, "format")


# -- what is printed ---------------------------------------------------------------------------


def report(
    ending: Ending, proofs: tuple[Proof, ...], chosen: tuple[Gpu, ...], run: str, wanted: str
) -> None:
    """Print how a wait without a command ended; where nobody reads, the exit code still counts."""
    with contextlib.suppress(output.Closed):
        match wanted:
            case "json":
                output.write_json(_document(ending, proofs, chosen, run))
            case "jsonl":
                for proof in proofs:
                    output.write_line({"schema": SCHEMA, "record": run, **proof_document(proof)})
            case "csv":
                output.write_csv(HEADER, _rows(proofs))
            case _:
                word = "PROVEN" if int(ending.exit_code) == 0 else "NOT PROVEN"
                output.write(f"{word}: {ending.says}  (exit {int(ending.exit_code)})\n")


def _document(
    ending: Ending, proofs: tuple[Proof, ...], chosen: tuple[Gpu, ...], run: str
) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "simulated": any(proof.is_simulated for proof in proofs),
        "exit_code": int(ending.exit_code),
        "outcome": ending.says,
        "record": run,
        "chosen": [{"index": gpu.info.index, "uuid": gpu.info.uuid} for gpu in chosen],
        "proofs": [proof_document(proof) for proof in proofs],
    }


def _rows(proofs: tuple[Proof, ...]) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for host in (host for proof in proofs for host in proof.hosts):
        evidence = host.evidence
        if evidence is None:
            rows.append((host.name, None, None, host.state.value, *(None,) * 4))
            continue
        rows += [
            (
                host.name,
                gpu.info.index,
                gpu.info.uuid,
                host.state.value,
                evidence.basis.value,
                round(evidence.held_s, 3),
                gpu.first_bytes,
                gpu.last_bytes,
            )
            for gpu in evidence.gpus
        ]
    return rows
