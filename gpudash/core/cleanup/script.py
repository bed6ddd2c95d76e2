"""A plan as a shell script, for somebody who may not signal from here but by hand elsewhere.

Each command looks again whether the pid is still the process of the plan (start time in
/proc/PID/stat) before it signals. Plain POSIX sh, nothing to install; what a manager runs is left
to its own command, and nothing of it is carried out here.
"""

from __future__ import annotations

import shlex

from gpudash.core.cleanup.orders import FamilyOrder, Order, Step, Targets
from gpudash.core.cleanup.plan import FamilyPlan, Plan
from gpudash.core.holding import Identity
from gpudash.core.names import printable

_HEAD = """\
# Is pid $1 still the process that started at tick $2, with a living thread?
same() {
  set -- "$2" $(sed -n '$s/.*) //p' "/proc/$1/stat" 2>/dev/null)
  [ "${21}" = "$1" ] && { [ "$2" != Z ] || [ "${19}" -gt 1 ]; }
}
# Send signal $1 to pid $2 if it is.
tell() {
  if same "$2" "$3"; then kill -s "$1" "$2"; else echo "pid $2: gone or another process"; fi
}
# Wait up to $1 seconds for the rest, given as pid start pairs.
await() {
  left=$1; shift
  while [ "$left" -gt 0 ]; do
    alive=0; pairs="$*"
    while [ $# -gt 1 ]; do same "$1" "$2" && alive=1; shift 2; done
    set -- $pairs
    [ "$alive" = 1 ] || return 0
    sleep 1; left=$((left - 1))
  done
}"""


def script_of(plan: Plan, order: Order) -> str:
    """Return the script for an order of a plan."""
    lines = [
        "#!/bin/sh",
        f"# gpudash: plan for {_remark(plan.host)}, {_remark(plan.digest[:12])}",
        f'[ "$(cat /proc/sys/kernel/random/boot_id)" = {shlex.quote(plan.boot_id or "")} ] || {{',
        '  echo "the host was started anew since the plan" >&2; exit 2; }',
        _HEAD,
    ]
    for family in order.families:
        lines += _family(family, plan.family(family.family))
    return "\n".join(lines) + "\n"


def _remark(text: str) -> str:
    """Return outside text as what may stand in a remark: one line."""
    return printable(text)[:120]


def _family(order: FamilyOrder, family: FamilyPlan) -> list[str]:
    lines = ["", f"# {_remark(family.label)}, {_remark(family.user)}"]
    if order.commands:
        return lines + [shlex.join(command) for command in order.commands]
    for step in order.steps:
        members = _members(order, step)
        lines += [f"tell {step.signal} {one.pid} {one.start_ticks}" for one in members]
        if step.signal == "TERM":
            pairs = " ".join(f"{one.pid} {one.start_ticks}" for one in members)
            lines.append(f"await {max(1, round(step.wait_s))} {pairs}")
    return lines


def _members(order: FamilyOrder, step: Step) -> tuple[Identity, ...]:
    match step.to:
        case Targets.ROOTS:
            return order.members[: order.roots]
        case Targets.REST:
            return order.members[order.roots :]
        case Targets.ALL:
            return order.members
        case places:
            return tuple(order.members[place] for place in places)
