"""Arguments of `wait`, and what it prints."""

from __future__ import annotations

import argparse
import contextlib

from gpudash.cli import arguments, output
from gpudash.cli.settings import configured
from gpudash.cli.ways import LOCAL, ways_of
from gpudash.config.baselines import load_baselines
from gpudash.core.choosing import Wish
from gpudash.core.errors import UsageError
from gpudash.core.model import Gpu
from gpudash.core.proof import Policy, Proof
from gpudash.core.prooflines import proof_document
from gpudash.core.scope import parse_scope
from gpudash.core.units import parse_duration, parse_size
from gpudash.core.waiting import Ending

SCHEMA = "gpudash.wait/1"
HEADER = ("host", "index", "uuid", "state", "basis", "held_s", "first_bytes", "last_bytes")


def parse(words: list[str]) -> argparse.Namespace:
    """Parse the words; what follows `--` is CMD. Raises UsageError."""
    own, command = _split(words)
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
    parser.add_argument("--zero", action="store_true", help="all GPUs in scope at 0 bytes")
    parser.add_argument(
        "--gpus", type=int, metavar="N", help="N GPUs of this machine, claimed for CMD's life"
    )
    parser.add_argument("--free", metavar="SIZE", help="so much free on each is enough: 40GiB")
    parser.add_argument("--gpu", action="append", metavar="0-3|UUID|BUS-ID,…", help="only these")
    parser.add_argument("--hold", default="10s", metavar="D", help="for how long (default 10s)")
    parser.add_argument("--timeout", default="5m", metavar="D", help="give up after (default 5m)")
    parser.add_argument("--strict", action="store_true", help="an accepted baseline counts as held")
    parser.add_argument(
        "--as",
        dest="named_as",
        default="index",
        metavar="HOW",
        help="how CUDA_VISIBLE_DEVICES names GPUs: index (default) or uuid",
    )
    parser.add_argument("--format", metavar="F", help=" | ".join(output.FORMATS))
    plan = parser.parse_words(own)
    plan.command = command
    _check(plan, parser)
    plan.interval = None
    config = configured(plan)
    plan.ways = ways_of(plan.hosts, config)
    if plan.gpus is not None and any(not way.is_local or way.name != LOCAL for way in plan.ways):
        raise UsageError(
            "--gpus chooses and claims GPUs of this machine alone, for a command that runs here",
            hint="There: ssh HOST gpudash wait --gpus N -- CMD",
        )
    plan.policy = Policy(
        hold_s=arguments.hold(plan.hold),
        scope=parse_scope(",".join(plan.gpu)) if plan.gpu else None,
        baselines=load_baselines(is_strict=plan.strict),
        free_bytes=plan.wish.free_bytes if plan.wish else None,
        restarts=True,
    )
    plan.timeout_s = parse_duration(plan.timeout, flag="--timeout")
    return plan


def _split(words: list[str]) -> tuple[list[str], tuple[str, ...] | None]:
    if "--" not in words:
        return words, None
    at = words.index("--")
    command = tuple(words[at + 1 :])
    if not command:
        raise UsageError("no command follows --", hint="Example: gpudash wait --zero -- make train")
    if not command[0]:
        raise UsageError("the command after -- is an empty word", hint="Is a variable unset?")
    return words[:at], command


def _check(plan: argparse.Namespace, parser: arguments.Parser) -> None:
    if plan.zero == (plan.gpus is not None):
        raise UsageError("wait for what?", hint="One of: --zero, --gpus N")
    if plan.free is not None and plan.gpus is None:
        parser.error("--free belongs to --gpus")
    if plan.gpus is not None and plan.gpus < 1:
        parser.error(f"--gpus {plan.gpus}: must be at least 1")
    plan.named_as = arguments.choose(plan.named_as, ("index", "uuid"), "way to name GPUs")
    if plan.command is not None and plan.format is not None:
        raise UsageError(
            "--format is for wait without a command: stdout belongs to CMD",
            hint="Afterwards: gpudash explain --format json",
        )
    plan.format = arguments.choose(plan.format or "table", output.FORMATS, "format")
    plan.wish = None
    if plan.gpus is not None:
        free = None if plan.free is None else parse_size(plan.free, flag="--free")
        plan.wish = Wish(count=plan.gpus, free_bytes=free)


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
