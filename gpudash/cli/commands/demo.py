"""`gpudash demo [SCENARIO]`: a simulated fleet in the dashboard, no GPU needed."""

from __future__ import annotations


def run(words: list[str]) -> int:
    """Show a scenario; it is marked SIMULATED everywhere."""
    from gpudash.cli import arguments
    from gpudash.sources.demo import DEFAULT, NAMES, parse_scenario

    parser = arguments.Parser(prog="gpudash demo", description="A simulated fleet.")
    parser.add_argument(
        "scenario",
        nargs="?",
        default=DEFAULT,
        help=f"{', '.join(NAMES)} (default {DEFAULT}); fleet:HxG for H hosts of G GPUs",
    )
    parser.add_argument("--interval", default="1s", metavar="D", help="100ms to 1h (default 1s)")
    parser.add_argument("--seed", type=int, default=1, help="another past and other noise")
    parser.add_argument("--theme", metavar="NAME", help="a theme's name; default gpudash-dark")
    parser.add_argument("--ascii", action="store_true", help="draw with ASCII only")
    plan = parser.parse_words(words)
    scenario = parse_scenario(plan.scenario)
    interval_s = arguments.interval(plan.interval)

    from gpudash.ui.start import show_demo

    return show_demo(scenario, plan.seed, interval_s, theme=plan.theme, is_ascii=plan.ascii)
