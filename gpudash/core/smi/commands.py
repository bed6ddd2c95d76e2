"""What to ask nvidia-smi: argument lists, without running them.

Memory is never the last field and the name never beside it, so that a cut line or a comma in a
name can't make another number of it. One unknown field voids a whole query, therefore what old
drivers may not know is asked apart and can be left out.
"""

from __future__ import annotations

PROGRAM = "nvidia-smi"
ELSEWHERE = ("/usr/lib/wsl/lib",)
"""Where the program is when PATH doesn't have it: WSL keeps it apart."""

CORE_FIELDS = ("uuid", "index", "pci.bus_id", "memory.used", "memory.total", "pstate")
"""Known to all drivers met; without one of these there is no reading."""
LIVE_FIELDS = (
    "utilization.gpu",
    "temperature.gpu",
    "power.draw",
    "clocks.sm",
    "clocks_throttle_reasons.active",
)
"""Asked in every tick; one that the driver does not know is left out."""
HEALTH_FIELDS = ("gpu_recovery_action", "mig.mode.current", "memory.reserved", "power.limit")
"""Asked every few seconds; one that the driver does not know is left out."""
PROCESS_QUERY = ("gpu_uuid", "pid", "process_name", "used_memory")

LEAST_INTERVAL_S = 0.1


def live_query(left_out: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the fields of the memory query."""
    return (*CORE_FIELDS, *(field for field in LIVE_FIELDS if field not in left_out))


def health_query(left_out: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the fields of the health query; only `uuid` when the driver knows none of them."""
    return ("uuid", *(field for field in HEALTH_FIELDS if field not in left_out))


NAME_QUERY = ("uuid", "driver_version", "name")


def query_arguments(fields: tuple[str, ...], every_s: float | None = None) -> tuple[str, ...]:
    """Return the arguments of a GPU query, as a loop where an interval is given."""
    arguments = (f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits")
    if every_s is None:
        return arguments
    return (*arguments, "-lms", str(max(round(every_s * 1000), round(LEAST_INTERVAL_S * 1000))))


def process_arguments() -> tuple[str, ...]:
    """Return the arguments of the process query."""
    return (f"--query-compute-apps={','.join(PROCESS_QUERY)}", "--format=csv,noheader,nounits")


def document_arguments() -> tuple[str, ...]:
    """Return the arguments of the full XML document."""
    return ("-q", "-x")
