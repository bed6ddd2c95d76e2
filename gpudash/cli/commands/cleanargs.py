"""Arguments of `clean`, and what the configuration adds to them."""

from __future__ import annotations

import argparse
from dataclasses import replace

from gpudash.cli import arguments
from gpudash.cli.commands.cleaned import FORMATS
from gpudash.cli.settings import configured
from gpudash.cli.ways import ways_of
from gpudash.config.baselines import load_baselines
from gpudash.config.load import Config
from gpudash.core.cleanup.consent import Given
from gpudash.core.cleanup.planner import Request
from gpudash.core.cleanup.protection import BUILT_IN
from gpudash.core.errors import UsageError
from gpudash.core.scope import parse_scope
from gpudash.core.units import parse_duration
from gpudash.services.ground import Wish
from gpudash.services.record_files import find_run, records_folder
from gpudash.services.unfinished import unfinished_orders

AUTO = "auto"
PICKUP_S = 2.0
"""So long an order of an earlier run that is still carried out is waited for."""


def parse(words: list[str]) -> argparse.Namespace:
    """Parse the words. Raises UsageError."""
    parser = _parser()
    plan = parser.parse_words(words)
    plan.format = arguments.choose(plan.format, FORMATS, "format")
    _check(plan, parser)
    plan.interval = None
    config = configured(plan)
    _find_unfinished(plan)
    plan.ways = ways_of(plan.hosts, config)
    if plan.format == "sh" and len(plan.ways) != 1:
        raise UsageError("--format sh is the plan of one host", hint="Name one HOST.")
    if plan.pid and len(plan.ways) != 1:
        raise UsageError("--pid names a process of one host", hint="Name that HOST alone.")
    _mind_rules(plan, config)
    plan.hold_s = None if plan.hold == AUTO else arguments.hold(plan.hold)
    plan.timeout_s = parse_duration(plan.timeout, flag="--timeout")
    plan.baselines = load_baselines()
    plan.given = Given(
        is_confirmed=plan.resume is None,
        covers_alive=True,
        is_leftovers_only=plan.leftovers,
        manages=plan.managed,
        users=frozenset(plan.user),
        has_all_users=plan.all_users,
        pids=frozenset(plan.pid),
    )
    plan.wish = Wish(
        scope=parse_scope(",".join(plan.gpu)) if plan.gpu else None,
        request=Request(
            rules=config.protect,
            baselines=plan.baselines,
            allowed=frozenset(plan.allow_protected),
            grace_s=None if plan.grace is None else parse_duration(plan.grace, flag="--grace"),
        ),
        hold_s=plan.hold_s,
        is_forced=plan.force,
        unfinished=plan.unfinished,
        pickup_s=plan.timeout_s if plan.resume else PICKUP_S,
    )
    return plan


def _parser() -> arguments.Parser:
    parser = arguments.Parser(
        prog="gpudash clean",
        usage="gpudash clean [HOST …] [--dry-run] [--yes] [--gpu 0-3|UUID|BUS-ID,…]\n"
        "                     [--user NAME|--all-users] [--leftovers] [--pid N] [--managed]\n"
        "                     [--sudo] [--shm] [--grace 5s] [--force] [--hold auto|10s]\n"
        "                     [--timeout 2m] [--format F]",
        description="End who holds GPUs, by a plan, and prove that they are free. Exit: 0 cleaned "
        "and proven, 1 held (by others, protected, managed, started again), 2 refused or usage, "
        "3 unreachable, 4 unknown, 5 timed out, 6 stuck or needs a reset, 130 interrupted.",
    )
    add = parser.add_argument
    add("hosts", nargs="*", metavar="HOST", help=arguments.HOST_HELP)
    add("--dry-run", action="store_true", help="print the plan; exit as if nobody was signalled")
    add("--yes", action="store_true", help="agree to the plan; needed without a terminal")
    add("--gpu", action="append", metavar="0-3|UUID|BUS-ID,…", help="only these")
    add("--user", action="append", default=[], metavar="NAME", help="only this user's; repeatable")
    add("--all-users", action="store_true", help="other users' too")
    add("--leftovers", action="store_true", help="only what its own root left behind")
    add("--pid", action="append", type=int, default=[], metavar="N", help="only its family")
    add("--managed", action="store_true", help="let managers stop what they run")
    add("--sudo", action="store_true", help="look and signal by sudo -n")
    add("--shm", action="store_true", help="remove shared memory that nobody maps any more")
    add("--grace", metavar="D", help="from asking to forcing, instead of each family's own")
    add(
        "--allow-protected",
        action="append",
        default=[],
        metavar="NAME",
        help="leave this protecting entry out for this run; repeatable",
    )
    add("--force", action="store_true", help="force at once, without asking first")
    add(
        "--hold",
        default=AUTO,
        metavar="D",
        help="how long zero must hold (default auto: 2s or 10s)",
    )
    add("--timeout", default="2m", metavar="D", help="give up after (default 2m)")
    add(
        "--resume",
        metavar="RUN",
        help="fetch what an order of an earlier run came to and prove it; signals nobody",
    )
    add("--format", default="table", metavar="F", help=" | ".join(FORMATS))
    return parser


def _find_unfinished(plan: argparse.Namespace) -> None:
    """Find orders without an end; with --resume only those of that run, which signals nobody."""
    plan.unfinished = unfinished_orders()
    if plan.resume is None:
        return
    run = find_run(records_folder(), plan.resume)
    plan.unfinished = tuple(one for one in plan.unfinished if one.run == run)
    if not plan.unfinished:
        raise UsageError(
            f"{run} has no order that is unaccounted for", hint=f"See: gpudash explain {run}"
        )
    plan.hosts = plan.hosts or list(dict.fromkeys(one.host for one in plan.unfinished))


def _mind_rules(plan: argparse.Namespace, config: Config) -> None:
    """Raise UsageError for what the configuration forbids; the site's entries bind everybody."""
    locked = [way.name for way in plan.ways if way.is_readonly]
    everywhere = config.top("readonly")
    if everywhere.value:
        locked = [way.name for way in plan.ways]
    if locked and not (plan.dry_run or plan.resume):
        raise UsageError(
            f"{locked[0]} is read-only here: the configuration says so",
            hint="To see the plan: gpudash clean --dry-run",
        )
    for way in plan.ways if plan.sudo else ():
        if way.sudo_said.startswith(f"{config.site.path}:"):
            raise UsageError(f"--sudo: {way.sudo_said} forbids it for {way.name}")
    plan.ways = tuple(replace(way, has_hand_sudo=plan.sudo) for way in plan.ways)
    bound = {rule.name for rule in config.site.protect}
    known = [rule.name for rule in (*config.protect, *BUILT_IN)]
    for name in plan.allow_protected:
        arguments.choose(name, known, "protecting entry")
        if name in bound:
            raise UsageError(f"--allow-protected {name}: {config.site.path} protects it for all")


def _check(plan: argparse.Namespace, parser: arguments.Parser) -> None:
    if plan.dry_run and plan.yes:
        parser.error("--dry-run signals nobody: --yes has nothing to agree to")
    if plan.resume and plan.yes:
        parser.error("--resume signals nobody: --yes has nothing to agree to")
    if plan.user and plan.all_users:
        parser.error("--user and --all-users exclude each other")
    if not all(name.strip() for name in plan.user):
        raise UsageError("--user is empty", hint="Is a variable unset?")
    if plan.format == "sh" and not plan.dry_run:
        raise UsageError("--format sh is for --dry-run: it is the plan to carry out by hand")
    if any(pid < 2 for pid in plan.pid):
        parser.error("--pid: pid 1 and below are nobody's")
