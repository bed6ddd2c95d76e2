"""A launch in its record: what was wanted, what each gate said, the start, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping

from gpudash.core.events import Launched
from gpudash.core.launch.checks import Result, failed
from gpudash.core.launch.spec import Spec
from gpudash.core.masking import masked_argv
from gpudash.core.names import clean_text
from gpudash.core.record import Line
from gpudash.core.units import plural

_SHOWN = frozenset({"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"})
"""Variables whose value is told; of others only the name."""


def intent_line(spec: Spec, host: str, gates: tuple[str, ...], scope: str) -> Line:
    """Return the line of what is wanted, before anything happens."""
    return Line(
        kind="intent",
        says=f"to start {spec.name} on {host}",
        host=host,
        details={**spec_document(spec), "gates": list(gates), "scope": scope},
    )


def spec_document(spec: Spec) -> dict[str, object]:
    """Return what is to be started, without secrets."""
    return {
        "command": list(masked_argv(spec.argv)),
        "cwd": spec.cwd,
        "env": env_words(spec.env),
        "log": spec.log,
        "venv": spec.venv,
        "login": spec.has_login,
    }


def env_words(env: Mapping[str, str]) -> list[str]:
    """Return variables as words; values that may be secrets are left out."""
    return [f"{name}={value if name in _SHOWN else '…'}" for name, value in env.items()]


def checks_line(results: tuple[Result, ...], host: str, *, is_last: bool) -> Line:
    """Return the line of the checks of one stage."""
    bad = len(failed(results))
    when = "right before the start" if is_last else "before anything else"
    count = plural(len(results), "check")
    says = f"{when}: {bad} of {count} failed" if bad else f"{when}: {count} passed"
    return Line(kind="preflight", says=says, host=host, details={"checks": check_rows(results)})


def check_rows(results: tuple[Result, ...]) -> list[dict[str, object]]:
    """Return one object a check."""
    return [
        {
            "check": one.check.name,
            "ok": one.is_ok,
            "said": clean_text(one.said, 400),
            "origin": one.check.origin,
        }
        for one in results
    ]


def launch_line(spec: Spec, host: str, env: Mapping[str, str]) -> Line:
    """Return the line that must be there before the command is sent."""
    return Line(
        kind="launch",
        says=f"starting {spec.masked}",
        host=host,
        details={"sets": env_words({**env, **spec.env})},
    )


def launched_line(told: Launched, host: str) -> Line:
    """Return the line of a command that runs: it and its log are left on the host."""
    return Line(
        kind="launched",
        says=f"pid {told.pid} runs; its log is {clean_text(told.log, 400)}",
        host=host,
        details={
            "pid": told.pid,
            "start_ticks": told.start_ticks,
            "log": told.log,
            "log_inode": told.inode,
            "log_offset_bytes": told.offset,
            "cwd": told.cwd,
        },
    )


def exited_line(code: int | None, host: str) -> Line:
    """Return the line of its end."""
    return Line(kind="exited", says=ended_words(code), host=host, details={"code": code})


def ended_words(code: int | None) -> str:
    """Return `the command ended with 3`."""
    if code is None:
        return "the command ended; nobody was told its exit code"
    if code < 0:
        return f"the command was ended by signal {-code}"
    return f"the command ended with {code}"
