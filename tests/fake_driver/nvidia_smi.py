"""A fake nvidia-smi over the fake library: lists, CSV queries, loops and a small XML.

It prints what the real one prints for the same NVML codes, oddities included: errors on standard
output, a whole query refused for one unknown field, one write per tick, a row of tokens for a lost
GPU. A script, run by its path: it must start fast and see nothing but the standard library.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from smi_fields import (
    ALIASES,
    GPU_FIELDS,
    NOT_AVAILABLE,
    Exit,
    Gpu,
    Nvml,
    NvmlError,
    time_stamp,
    token,
)
from smi_xml import document

APP_FIELDS = {
    **dict.fromkeys(("timestamp", "gpu_uuid", "gpu_name", "gpu_bus_id", "pid", "process_name"), ""),
    "used_gpu_memory": "MiB",
}
APP_ALIASES = {"name": "process_name", "used_memory": "used_gpu_memory"}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="nvidia-smi", allow_abbrev=False)
    parser.add_argument("-L", "--list-gpus", dest="list", action="store_true")
    parser.add_argument("-q", "--query", action="store_true")
    parser.add_argument("-x", "--xml-format", dest="xml", action="store_true")
    parser.add_argument("--query-gpu")
    parser.add_argument("--query-compute-apps", dest="query_apps")
    parser.add_argument("--format", default="")
    parser.add_argument("-i", "--id")
    parser.add_argument("-l", "--loop", type=float, nargs="?", const=5.0)
    parser.add_argument("-lms", "--loop-ms", type=float, nargs="?", const=5000.0)
    return parser.parse_args()


# Which GPUs.


def gpus(nvml: Nvml, wanted: str | None) -> Iterator[Gpu | str]:
    """Yield each GPU asked for, or the line that says why it cannot be reached."""
    names = None if wanted is None else {name.strip().lower() for name in wanted.split(",")}
    found = False
    for index in range(nvml.number("nvmlDeviceGetCount_v2")):
        try:
            gpu = Gpu(nvml, index, nvml.handle_at(index))
        except NvmlError as error:
            if names is None or str(index) in names:
                found = True
                yield f"Unable to determine the device handle for GPU{index}: {error_text(error)}"
            continue
        if names is None or names & identities(gpu):
            found = True
            yield gpu
    if not found:
        raise Exit(6, "No devices were found\n")


def error_text(error: NvmlError) -> str:
    return token(error).strip("[]")


def identities(gpu: Gpu) -> set[str]:
    readers: tuple[Callable[[], str], ...] = (
        lambda: gpu.text("UUID"),
        lambda: gpu.nvml.bus(gpu.handle),
    )
    found = {str(gpu.index)}
    for reader in readers:
        try:
            found.add(reader().lower())
        except NvmlError:
            continue
    return found


# CSV.


class Query:
    """A CSV query: canonical names with units, and the format's options."""

    def __init__(self, text: str, known: dict[str, str], aliases: dict[str, str], form: str):
        self.columns: list[tuple[str, str]] = []
        for name in filter(None, (part.strip() for part in text.split(","))):
            canonical = aliases.get(name, name)
            if canonical not in known:
                raise Exit(2, f'Field "{name}" is not a valid field to query.\n\n')
            self.columns.append((canonical, known[canonical]))
        options = {option.strip() for option in form.split(",")}
        if "csv" not in options:
            raise Exit(2, '"--format=" switch is missing. Please run with --help.\n')
        self.header = "noheader" not in options
        self.units = "nounits" not in options

    def head(self) -> str:
        names = (f"{name} [{unit}]" if unit else name for name, unit in self.columns)
        return ", ".join(names) + "\n" if self.header else ""

    def row(self, read: Callable[[str], Any]) -> str:
        return ", ".join(self._cell(read, name, unit) for name, unit in self.columns) + "\n"

    def _cell(self, read: Callable[[str], Any], name: str, unit: str) -> str:
        try:
            value = str(read(name))
        except NvmlError as error:
            return token(error)
        return f"{value} {unit}" if unit and self.units and value[:1] != "[" else value


def gpu_query(nvml: Nvml, arguments: argparse.Namespace) -> tuple[str, Callable[[], str]]:
    known = {name: unit for name, (unit, since, _) in GPU_FIELDS.items() if nvml.major >= since}
    query = Query(arguments.query_gpu, known, ALIASES, arguments.format)

    def tick() -> str:
        return "".join(
            gpu + "\n" if isinstance(gpu, str) else query.row(gpu_reader(gpu))
            for gpu in gpus(nvml, arguments.id)
        )

    return query.head(), tick


def gpu_reader(gpu: Gpu) -> Callable[[str], Any]:
    return lambda name: GPU_FIELDS[name][2](gpu)


def app_query(nvml: Nvml, arguments: argparse.Namespace) -> tuple[str, Callable[[], str]]:
    query = Query(arguments.query_apps, APP_FIELDS, APP_ALIASES, arguments.format)

    def tick() -> str:
        reachable = [gpu for gpu in gpus(nvml, arguments.id) if isinstance(gpu, Gpu)]
        return "".join(row for gpu in reachable for row in app_rows(gpu, query))

    return query.head(), tick


def app_rows(gpu: Gpu, query: Query) -> Iterator[str]:
    try:
        rows = gpu.nvml.processes(gpu.handle, "Compute")
    except NvmlError as error:
        if error.code == 4:
            yield query.row(app_reader(gpu, None, error))
        return
    for row in rows:
        yield query.row(app_reader(gpu, row, None))


def app_reader(gpu: Gpu, row: Any, error: NvmlError | None) -> Callable[[str], Any]:
    def read(name: str) -> Any:
        match name:
            case "timestamp":
                return time_stamp(gpu)
            case "gpu_uuid":
                return gpu.text("UUID")
            case "gpu_name":
                return gpu.text("Name")
            case "gpu_bus_id":
                return gpu.nvml.bus(gpu.handle)
        if error is not None:
            raise error
        if name == "pid":
            return row.pid
        if name == "process_name":
            return gpu.nvml.process_name(row.pid)
        return "[N/A]" if row.used == NOT_AVAILABLE else gpu.nvml.mib(row.used)

    return read


# The list.


def listing(nvml: Nvml, arguments: argparse.Namespace) -> str:
    lines = []
    for gpu in gpus(nvml, arguments.id):
        try:
            lines += [gpu] if isinstance(gpu, str) else listed(gpu)
        except NvmlError as error:
            lines.append(f"Unable to determine the device handle for gpu: {error_text(error)}")
    return "\n".join(lines) + "\n"


def listed(gpu: Gpu) -> list[str]:
    lines = [f"GPU {gpu.index}: {gpu.text('Name')} (UUID: {gpu.text('UUID')})"]
    for number, mig in enumerate(gpu.instances()):
        profile = mig.text("Name").rpartition(" ")[2]
        lines.append(f"  MIG {profile:<12} Device {number:>2}: (UUID: {mig.text('UUID')})")
    return lines


# Running it.


def plan(nvml: Nvml, arguments: argparse.Namespace) -> tuple[str, Callable[[], str]]:
    """Return what is printed once and what is printed every tick."""
    if arguments.query_gpu:
        return gpu_query(nvml, arguments)
    if arguments.query_apps:
        return app_query(nvml, arguments)
    if arguments.list:
        return "", lambda: listing(nvml, arguments)
    if arguments.query and arguments.xml:
        reachable = lambda: [gpu for gpu in gpus(nvml, arguments.id) if isinstance(gpu, Gpu)]  # noqa: E731
        return "", lambda: document(nvml, reachable())
    raise Exit(2, "The fake nvidia-smi knows -L, -q -x, --query-gpu and --query-compute-apps.\n")


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def run(arguments: argparse.Namespace) -> None:
    head, tick = plan(Nvml(), arguments)
    period = arguments.loop
    if arguments.loop_ms is not None:
        period = arguments.loop_ms / 1000
    write(head + tick())
    while period is not None:
        time.sleep(period)
        write(tick())


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        run(parse_arguments())
    except Exit as end:
        write(end.text)
        return end.code
    except NvmlError as error:
        write(f"Unable to query the driver: {token(error).strip('[]')}\n")
        return error.code if error.code < 255 else 255
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 255
    return 0


if __name__ == "__main__":
    sys.exit(main())
