"""`gpudash baseline`: accept idle readings above 0 bytes, list them, forget them.

Accepting is explicit: somebody looks at the readings and says yes, at a terminal or by `--yes`.
"""

from __future__ import annotations

import argparse
import sys

from gpudash.cli import arguments, diagnostics, output
from gpudash.cli.ways import ways_of
from gpudash.config.baselines import baselines_file, change, load_baselines, read_entries
from gpudash.core.acceptance import Acceptance, Offer, Refusal, is_meant, joined, weigh
from gpudash.core.baselines import Baseline
from gpudash.core.errors import ExitCode, UsageError, worst
from gpudash.core.names import clean_text
from gpudash.core.scope import parse_scope
from gpudash.core.units import format_memory, plural
from gpudash.core.verify import judge_fleet

SCHEMA = "gpudash.baseline/1"
ACTIONS = ("accept", "list", "forget")
HEADER = ("uuid", "driver", "used_bytes", "accepted_at", "host")


def run(words: list[str]) -> int:
    """Accept, list or forget."""
    plan = _parse(words)
    match plan.action:
        case "accept":
            return _accept(plan)
        case "forget":
            return _forget(plan)
        case _:
            _write(read_entries(baselines_file()), plan.format, "listed")
            return int(ExitCode.OK)


def _parse(words: list[str]) -> argparse.Namespace:
    parser = arguments.Parser(
        prog="gpudash baseline",
        description="accept: take one reading and remember what idle GPUs hold, by UUID and driver "
        "version; from then on so much passes as `baseline`, never as zero. list: show what was "
        "accepted. forget: take it back, by host or UUID.",
    )
    parser.add_argument("action", metavar="ACTION", help=", ".join(ACTIONS))
    parser.add_argument(
        "names",
        nargs="*",
        default=(),
        metavar="HOST",
        help=f"{arguments.HOST_HELP}; forget: or a UUID",
    )
    parser.add_argument("--gpu", action="append", metavar="0-3|UUID|BUS-ID,…", help="only these")
    parser.add_argument("--yes", action="store_true", help="accept without being asked")
    parser.add_argument("--all", action="store_true", help="forget everything")
    parser.add_argument("--format", default="table", metavar="F", help=" | ".join(output.FORMATS))
    plan = parser.parse_words(words)
    plan.action = arguments.choose(plan.action, ACTIONS, "action")
    plan.format = arguments.choose(plan.format, output.FORMATS, "format")
    if (plan.gpu or plan.yes) and plan.action != "accept":
        parser.error("--gpu and --yes belong to accept")
    if plan.all and plan.action != "forget":
        parser.error("--all belongs to forget")
    if plan.names and plan.action == "list":
        parser.error("list takes no HOST")
    return plan


# -- accept ------------------------------------------------------------------------------------


def _accept(plan: argparse.Namespace) -> int:
    from gpudash.cli.commands.reading import read
    from gpudash.services.recorder import utc_now

    scope = parse_scope(",".join(plan.gpu)) if plan.gpu else None
    fleet = read(ways_of(plan.names))
    found = weigh(judge_fleet(fleet, scope, load_baselines()), utc_now())
    if found.refusals:
        for refusal in found.refusals:
            diagnostics.say(f"gpudash: {_place(refusal)}: {refusal.why}")
        diagnostics.say("gpudash: nothing was accepted; --gpu chooses the GPUs that are idle")
        return int(worst(refusal.exit_code for refusal in found.refusals))
    if not found.offers:
        diagnostics.say(f"gpudash: {plural(found.zeros, 'GPU')} at 0 MiB: zero needs no baseline")
        return int(ExitCode.OK)
    _consent(found, is_given=plan.yes)
    new = tuple(offer.baseline for offer in found.offers)
    change(baselines_file(), lambda known: joined(known, new))
    _write(new, plan.format, "accepted")
    return int(ExitCode.OK)


def _place(refusal: Refusal) -> str:
    return refusal.host if refusal.gpu is None else f"{refusal.host}: GPU {refusal.gpu.index}"


def _consent(found: Acceptance, *, is_given: bool) -> None:
    """Show what is offered and ask. Raises UsageError where nobody says yes."""
    for offer in found.offers:
        diagnostics.say(f"gpudash: {_offered(offer)}")
    if is_given:
        return
    streams = (sys.stdin, sys.stderr)
    if not all(stream is not None and stream.isatty() for stream in streams):
        raise UsageError(
            "nothing was accepted: nobody is here to say yes",
            hint="Look at the readings above, then say --yes.",
        )
    diagnostics.say("Accept as idle? Whoever holds this memory now passes from here on. [y/N]")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UsageError("nothing was accepted")


def _offered(offer: Offer) -> str:
    driver = clean_text(offer.baseline.driver, 32)
    return f"{offer.host}: GPU {offer.gpu.index}: {offer.words}, nobody listed, driver {driver}"


# -- forget and list ---------------------------------------------------------------------------


def _forget(plan: argparse.Namespace) -> int:
    if not plan.names and not plan.all:
        raise UsageError("forget what?", hint="Name hosts or UUIDs as listed, or say --all.")
    path = baselines_file()
    known = read_entries(path)
    for word in plan.names:
        if not any(is_meant(entry, word) for entry in known):
            raise UsageError(
                f"no baseline of {word} was accepted", hint="See: gpudash baseline list"
            )
    gone: list[Baseline] = []

    def without(entries: tuple[Baseline, ...]) -> tuple[Baseline, ...]:
        gone.extend(
            one for one in entries if plan.all or any(is_meant(one, word) for word in plan.names)
        )
        return tuple(one for one in entries if one not in gone)

    if known:
        change(path, without)
    _write(tuple(gone), plan.format, "forgotten")
    return int(ExitCode.OK)


def _write(entries: tuple[Baseline, ...], wanted: str, what: str) -> None:
    rows = [{name: getattr(entry, name) for name in HEADER} for entry in entries]
    match wanted:
        case "json":
            output.write_json({"schema": SCHEMA, what: rows})
        case "jsonl":
            for row in rows:
                output.write_line({"schema": SCHEMA, **row})
        case "csv":
            output.write_csv(HEADER, [list(row.values()) for row in rows])
        case _ if rows:
            shown = [
                [one.host, one.uuid, one.driver, format_memory(one.used_bytes), one.accepted_at]
                for one in entries
            ]
            header = ["HOST", "UUID", "DRIVER", "BASELINE", "ACCEPTED"]
            output.write(output.table([header, *shown], right=frozenset({3})))
        case _:
            output.write(f"No baseline {'was ' if what == 'forgotten' else ''}{what}\n")
