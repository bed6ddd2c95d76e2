"""How a launch ended, as one JSON document: who spoke, and everything that it stands on."""

from __future__ import annotations

from gpudash.core.launch.checks import Result
from gpudash.core.launch.machine import State, exit_code_of, shell_code
from gpudash.core.launch.records import check_rows, spec_document
from gpudash.core.launch.spec import Spec
from gpudash.core.startup import report
from gpudash.core.startup.following import Followed

SCHEMA = "gpudash.run/1"
GPUDASH, COMMAND = "gpudash", "command"


def document(
    state: State,
    spec: Spec,
    host: str,
    results: tuple[Result, ...],
    followed: Followed | None,
    record: str,
) -> dict[str, object]:
    """Return the document; `spoke` says whose exit code it is."""
    code = state.command_code
    return {
        "schema": SCHEMA,
        "simulated": followed is not None and followed.is_simulated,
        "exit_code": exit_code_of(state),
        "spoke": COMMAND if state.exit_code is None else GPUDASH,
        "outcome": state.says,
        "command_code": None if code is None else shell_code(code),
        "command_signal": -code if code is not None and code < 0 else None,
        "ready": state.is_ready,
        "host": host,
        "pid": state.pid,
        "runs": state.runs,
        "cleaned": state.cleaned or None,
        **spec_document(spec),
        "log": state.log or spec.log,
        "preflights": check_rows(results),
        "startup": None if followed is None else report.document(followed.startup),
        "record": record,
    }
