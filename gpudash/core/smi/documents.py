"""The XML of `nvidia-smi -q -x`: what CSV lacks.

A loop prints whole documents one behind the other. The newest one counts; one that is cut or
not well formed is told apart and makes the older ones old. The text is untrusted: no document
type, no entity, bounded size and depth.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from xml.etree import ElementTree

from gpudash.core.model import GpuInfo, GpuProcess, GpuReading, Kind, MigReading
from gpudash.core.readings import PID_MAX
from gpudash.core.scope import normal_bus_id
from gpudash.core.smi import cells

MAX_DOCUMENT_CHARS = 8 << 20
"""Eight GPUs with all clocks listed take about 0.5 MB."""
_MAX_DEPTH = 32
_END = "</nvidia_smi_log>"
_START = re.compile(r"<\?xml|<!DOCTYPE|<nvidia_smi_log")
_DOCTYPE = re.compile(r'<!DOCTYPE nvidia_smi_log(?: SYSTEM "[\w.-]{0,80}")?\s*>')


class IllFormedError(ValueError):
    """A document ended and is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuDocument:
    """One `<gpu>` element."""

    info: GpuInfo
    reading: GpuReading


@dataclass(frozen=True, slots=True, kw_only=True)
class SmiDocument:
    """One whole document."""

    driver: str | None
    attached_gpus: int | None
    """How many the driver says there are; fewer elements make the document incomplete."""
    gpus: tuple[GpuDocument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Documents:
    """The text of several documents, taken apart."""

    whole: tuple[str, ...]
    is_cut: bool
    """One began behind the last whole one and did not end."""


def split_documents(text: str) -> Documents:
    """Cut a text behind every document's end."""
    *whole, rest = text.split(_END)
    starts = [_START.search(part) for part in whole]
    return Documents(
        whole=tuple(
            part[start.start() if start else 0 :] + _END
            for part, start in zip(whole, starts, strict=True)
        ),
        is_cut=_START.search(rest) is not None,
    )


class _Builder(ElementTree.TreeBuilder):
    """A tree of limited depth."""

    def __init__(self) -> None:
        super().__init__()
        self._depth = 0

    def start(self, tag: str, attrs: dict[str, str]) -> ElementTree.Element:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise IllFormedError("nested too deep")
        return super().start(tag, attrs)

    def end(self, tag: str) -> ElementTree.Element:
        self._depth -= 1
        return super().end(tag)


def parse_document(text: str) -> SmiDocument:
    """Read one document. Raises IllFormedError."""
    if len(text) > MAX_DOCUMENT_CHARS:
        raise IllFormedError("too long")
    text = _DOCTYPE.sub("", text, count=1)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise IllFormedError("declares a document type of its own")
    parser = ElementTree.XMLParser(target=_Builder())
    try:
        parser.feed(text)
        root = parser.close()
    except (ElementTree.ParseError, ValueError) as error:
        raise IllFormedError(str(error)) from error
    elements = root.findall("gpu")
    return SmiDocument(
        driver=cells.name(_text(root, "driver_version")),
        attached_gpus=cells.count(_text(root, "attached_gpus")),
        gpus=tuple(_gpu(element, index) for index, element in enumerate(elements)),
    )


def _text(element: ElementTree.Element, path: str) -> str:
    return (element.findtext(path) or "").strip()


def _gpu(element: ElementTree.Element, index: int) -> GpuDocument:
    mig = tuple(_mig(device) for device in element.findall("mig_devices/mig_device"))
    rows = _process_rows(element)
    used_text = _text(element, "fb_memory_usage/used")
    total = cells.memory_bytes(_text(element, "fb_memory_usage/total"))
    used = cells.memory_bytes(used_text)
    bus = cells.bus_id(element.get("id", ""))
    info = GpuInfo(
        index=index,
        uuid=cells.uuid(_text(element, "uuid")),
        bus_id=normal_bus_id(bus) if bus else None,
        name=cells.name(_text(element, "product_name")),
        total_bytes=total,
        reserved_bytes=cells.memory_bytes(_text(element, "fb_memory_usage/reserved")),
        is_mig=cells.is_enabled(_text(element, "mig_mode/current_mig")) is True,
    )
    reading = GpuReading(
        used_bytes=None if total == 0 else used,
        utilisation_pct=cells.percent(_text(element, "utilization/gpu_util")),
        power_mw=_power_mw(element),
        temperature_c=cells.count(_text(element, "temperature/gpu_temp"), "C"),
        sm_clock_mhz=cells.count(_text(element, "clocks/sm_clock"), "MHz"),
        pstate=cells.pstate(_text(element, "performance_state")),
        recovery_action=cells.recovery_action(_text(element, "gpu_recovery_action")),
        processes=None if rows is None else tuple(row.process for row in rows if row.process),
        hidden_processes=sum(row.process is None for row in rows or ()),
        mig=tuple(_with_processes(device, rows) for device in mig),
        memory_code=cells.code_of(used_text),
        processes_code=cells.code_of(_text(element, "processes")),
        codes=_codes(element),
        doubt="its used memory reads 0 of an unknown total" if used == 0 and total is None else "",
    )
    return GpuDocument(info=info, reading=reading)


def _codes(element: ElementTree.Element) -> frozenset[int]:
    """Return the codes of all tokens of a GPU: a lost one says so wherever it was asked.

    The process list is left out: a token there is about a process.
    """
    found = {
        cells.code_of(leaf.text or "")
        for child in element
        if child.tag != "processes"
        for leaf in child.iter()
    }
    return frozenset(code for code in found if code is not None)


def _power_mw(element: ElementTree.Element) -> int | None:
    """Return the draw; the element has had four places so far (v11 to v13)."""
    for path in (
        "gpu_power_readings/instant_power_draw",
        "gpu_power_readings/power_draw",
        "gpu_power_readings/average_power_draw",
        "power_readings/power_draw",
    ):
        found = cells.milliwatts(_text(element, path))
        if found is not None:
            return found
    return None


def _mig(element: ElementTree.Element) -> MigReading:
    used = _text(element, "fb_memory_usage/used")
    return MigReading(
        gpu_instance=cells.count(_text(element, "gpu_instance_id")) or 0,
        compute_instance=cells.count(_text(element, "compute_instance_id")) or 0,
        uuid=cells.uuid(_text(element, "uuid")),
        profile=None,
        used_bytes=cells.memory_bytes(used),
        total_bytes=cells.memory_bytes(_text(element, "fb_memory_usage/total")),
        fault_code=cells.code_of(used),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ProcessElement:
    process: GpuProcess | None
    """None for a row without a pid."""
    gpu_instance: int | None
    compute_instance: int | None


def _process_rows(element: ElementTree.Element) -> tuple[_ProcessElement, ...] | None:
    """Return the list; None when there is none: no element, or a token in its place."""
    found = element.find("processes")
    if found is None or (len(found) == 0 and (found.text or "").strip()):
        return None
    return tuple(_process(row) for row in found.findall("process_info"))


def _process(row: ElementTree.Element) -> _ProcessElement:
    pid = cells.count(_text(row, "pid"))
    process = None
    if pid is not None and 0 < pid <= PID_MAX:
        process = GpuProcess(
            pid=pid,
            used_bytes=cells.memory_bytes(_text(row, "used_memory")),
            kinds=frozenset(kind for kind in Kind if kind.value in _text(row, "type")),
            name=cells.name(_text(row, "process_name")),
        )
    return _ProcessElement(
        process=process,
        gpu_instance=cells.count(_text(row, "gpu_instance_id")),
        compute_instance=cells.count(_text(row, "compute_instance_id")),
    )


def _with_processes(device: MigReading, rows: tuple[_ProcessElement, ...] | None) -> MigReading:
    if rows is None:
        return device
    inside = tuple(
        row.process
        for row in rows
        if row.process is not None
        and row.gpu_instance == device.gpu_instance
        and row.compute_instance in (None, device.compute_instance)
    )
    return replace(device, processes=inside)
