"""Arguments of `run`, and what the configuration adds to them."""

from __future__ import annotations

import argparse
import json
import os

from gpudash.cli import arguments
from gpudash.cli.commands.consenting import Terms
from gpudash.cli.commands.wished import add_wish, require_here, split_command, wish_of
from gpudash.cli.settings import configured
from gpudash.cli.ways import ways_of
from gpudash.config.baselines import load_baselines
from gpudash.config.load import Config
from gpudash.core.cleanup.consent import Given
from gpudash.core.cleanup.planner import Request
from gpudash.core.errors import UsageError
from gpudash.core.launch.checks import Check, at_folder
from gpudash.core.launch.engines import checks_of
from gpudash.core.launch.machine import Aim
from gpudash.core.launch.spec import VISIBLE, Spec, parse_env, visible_scope
from gpudash.core.proof import Policy
from gpudash.core.scope import parse_scope
from gpudash.core.startup.following import LogSource
from gpudash.core.units import parse_duration
from gpudash.services.ground import Wish
from gpudash.services.unfinished import unfinished_orders

CLEAN_S = 120.0
HOLD_S = 10.0
EXAMPLE = "gpudash run --clean --zero -- python -m sglang.launch_server …"
FORMATS = ("table", "json", "jsonl", "csv")
NONE = "none"
NO_TERMINAL = (50, 400)
LONGEST = 60 * 1024
"""A command to a host is one line of the wire."""
ALONG = (
    ("yes", "--yes"),
    ("user", "--user"),
    ("all_users", "--all-users"),
    ("pid", "--pid"),
    ("managed", "--managed"),
    ("leftovers", "--leftovers"),
    ("force", "--force"),
)
"""What belongs to --clean."""


def parse(words: list[str]) -> argparse.Namespace:
    """Parse the words; what follows `--` is CMD. Raises UsageError."""
    own, command = split_command(words, EXAMPLE)
    parser = _parser()
    plan = parser.parse_words(own)
    if command is None:
        raise UsageError("run what?", hint=f"CMD stands behind --: {EXAMPLE}")
    plan.interval = None
    config = configured(plan)
    plan.ways = ways_of([plan.host] if plan.host else [], config)
    if len(plan.ways) != 1:
        raise UsageError(
            f"--host {plan.host} names {len(plan.ways)} hosts: a command starts on one"
        )
    _mind_rules(plan, config)
    _check(plan, parser)
    plan.spec = Spec(
        argv=command,
        cwd=plan.cwd,
        env=parse_env(plan.env),
        log=plan.log,
        venv=plan.venv,
        has_login=plan.login,
        terminal=_terminal() if plan.foreground else None,
    )
    if len(json.dumps(plan.spec.arguments({}))) > LONGEST:
        raise UsageError("CMD and its variables are longer than 60 KiB", hint="Put it in a script.")
    plan.aim = Aim(
        cleans=plan.clean,
        proves=plan.zero,
        chooses=plan.wish is not None,
        stays=plan.stay or plan.foreground,
        has_source=plan.source is not None or plan.log is not None,
    )
    _choose_gpus(plan, config)
    plan.checks = _checks(plan, config)
    return plan


def _parser() -> arguments.Parser:
    parser = arguments.Parser(
        prog="gpudash run",
        usage="gpudash run [--host H] [--clean] [--zero | --gpus N [--free SIZE]] [--gpu I,…]\n"
        "                   [--hold 10s] [--wait 5m] [--preflight NAME] [--log F] [--cwd D]\n"
        "                   [--env K=V] [--venv D] [--login] [--url U] [--container C|--unit U]\n"
        "                   [--stay|--foreground] [--timeout D] [--report FILE] [--format F]\n"
        "                   -- CMD …",
        description="Check, clean, prove, check again, start CMD and follow it until it is ready. "
        "CMD outlives gpudash. Exit: 0 READY, 7 failed whatever CMD returned, 2 a check failed or "
        "the plan was refused, 5 timed out, 130 interrupted; with --stay, after READY, CMD's own.",
    )
    add = parser.add_argument
    add("--host", metavar="H", help="where it starts (default: this machine)")
    add_wish(parser)
    add("--hold", metavar="D", help="how long zero must hold (default 10s; after --clean auto)")
    add("--wait", default="5m", metavar="D", help="wait so long for GPUs (default 5m)")
    add("--clean", action="store_true", help="end who holds them first, by a plan")
    add("--yes", action="store_true", help="agree to the plan; needed without a terminal")
    add("--user", action="append", default=[], metavar="NAME", help="only this user's; repeatable")
    add("--all-users", action="store_true", help="other users' too")
    add("--leftovers", action="store_true", help="only what its own root left behind")
    add("--pid", action="append", type=int, default=[], metavar="N", help="only its family")
    add("--managed", action="store_true", help="let managers stop what they run")
    add("--force", action="store_true", help="force at once, without asking first")
    add(
        "--preflight",
        action="append",
        default=[],
        metavar="NAME",
        help="a check of the configuration; repeatable. none: leave out what CMD itself names",
    )
    add("--log", metavar="F", help="where its output goes (default: a new file in its folder)")
    add("--cwd", metavar="D", help="its folder")
    add("--env", action="append", default=[], metavar="K=V", help="a variable; repeatable")
    add("--venv", metavar="D", help="a virtual environment")
    add("--login", action="store_true", help="with the environment of a login shell")
    add("--url", metavar="U", help="health URL as the host sees it; READY needs its 200")
    add("--container", metavar="C", help="follow this container, which CMD starts")
    add("--unit", metavar="U", help="follow this systemd unit, which CMD starts")
    add("--stay", action="store_true", help="go on after READY, until it ends")
    add(
        "--foreground",
        action="store_true",
        help="show its output, from a terminal of its own; it ends with gpudash",
    )
    add("--timeout", metavar="D", help="give up waiting for READY (default: never); it runs on")
    add("--report", metavar="FILE", help="write as JSON how it ended, and who spoke")
    add("--format", default="table", metavar="F", help=" | ".join(FORMATS))
    return parser


def _check(plan: argparse.Namespace, parser: arguments.Parser) -> None:
    plan.format = arguments.choose(plan.format, FORMATS, "format")
    plan.wish = wish_of(plan, parser)
    require_here(plan.wish, plan.ways, "run")
    plan.hold_s = None if plan.hold is None else arguments.hold(plan.hold)
    plan.wait_s = parse_duration(plan.wait, flag="--wait")
    plan.timeout_s = (
        None if plan.timeout is None else parse_duration(plan.timeout, flag="--timeout")
    )
    if plan.container and plan.unit:
        parser.error("--container and --unit: one source at a time")
    if plan.url is not None and not plan.url.startswith(("http://", "https://")):
        raise UsageError(f"--url {plan.url}: begins with http:// or https://")
    if plan.foreground and (plan.container or plan.unit):
        parser.error("--foreground shows CMD's own output: --container and --unit are others'")
    for name, flag in ALONG:
        if getattr(plan, name) and not plan.clean:
            parser.error(f"{flag} belongs to --clean")
    if plan.user and plan.all_users:
        parser.error("--user and --all-users exclude each other")
    if not all(name.strip() for name in plan.user):
        raise UsageError("--user is empty", hint="Is a variable unset?")
    for flag in ("log", "cwd", "venv", "container", "unit", "report"):
        if getattr(plan, flag) == "":
            raise UsageError(f"--{flag} is empty", hint="Is a variable unset?")
    plan.source = None
    if plan.container:
        plan.source = LogSource(kind="container", value=plan.container)
    elif plan.unit:
        plan.source = LogSource(kind="unit", value=plan.unit)


def _terminal() -> tuple[int, int]:
    """Return rows and columns of the terminal that it is shown on; wide where there is none."""
    try:
        size = os.get_terminal_size(1)
    except (OSError, AttributeError):
        return NO_TERMINAL
    return (size.lines or NO_TERMINAL[0], size.columns or NO_TERMINAL[1])


def _mind_rules(plan: argparse.Namespace, config: Config) -> None:
    """Raise UsageError where the configuration forbids to act on the host."""
    if plan.ways[0].is_readonly or config.top("readonly").value:
        raise UsageError(f"{plan.ways[0].name} is read-only here: the configuration says so")


def _choose_gpus(plan: argparse.Namespace, config: Config) -> None:
    """Settle which GPUs it is about: --gpu, else what CUDA_VISIBLE_DEVICES leaves to CMD."""
    scope, plan.scope_words = None, ""
    if plan.gpu:
        scope, plan.scope_words = parse_scope(",".join(plan.gpu)), "--gpu"
    else:
        ours = os.environ.get(VISIBLE) if plan.ways[0].is_local else None
        scope, plan.scope_words = visible_scope(plan.spec, ours)
    baselines = load_baselines(is_strict=plan.strict)
    plan.policy = Policy(
        hold_s=HOLD_S if plan.hold_s is None else plan.hold_s,
        scope=scope,
        baselines=baselines,
        free_bytes=plan.wish.free_bytes if plan.wish else None,
        restarts=True,
    )
    plan.clean_wish = Wish(
        scope=scope,
        request=Request(rules=config.protect, baselines=baselines),
        hold_s=plan.hold_s,
        is_forced=plan.force,
        unfinished=unfinished_orders() if plan.clean else (),
    )
    plan.terms = Terms(
        given=Given(
            is_confirmed=True,
            covers_alive=True,
            is_leftovers_only=plan.leftovers,
            manages=plan.managed,
            users=frozenset(plan.user),
            has_all_users=plan.all_users,
            pids=frozenset(plan.pid),
        ),
        yes=plan.yes,
        timeout_s=CLEAN_S,
        names_gpus=scope is not None,
    )


def _checks(plan: argparse.Namespace, config: Config) -> tuple[Check, ...]:
    """Return what CMD itself names, and what was asked for by name."""
    names = list(dict.fromkeys(plan.preflight))
    known = config.preflights
    own = () if NONE in names else checks_of(plan.spec.argv, cwd=plan.cwd)
    for name in names:
        arguments.choose(name, (NONE, *known), "preflight")
    named = (known[name] for name in names if name != NONE)
    return (plan.spec.check, *own, *(at_folder(one, plan.cwd) for one in named))
