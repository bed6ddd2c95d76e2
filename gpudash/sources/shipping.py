"""What travels to a host: the probe's modules and the part of pynvml that they use.

nvidia-ml-py's pynvml.py is 330 KB; the sampler uses about a dozen functions. `cut_binding` keeps
those and all that they need, by walking the file's syntax tree, so that a host parses 20 KB.
A cut is kept in the cache folder under the file's hash; when cutting fails, the whole file goes.
"""

from __future__ import annotations

import os
import sys
import zlib
from importlib.machinery import PathFinder

from gpudash.config.folders import cache_folder, is_ours

SAMPLER_MODULES = (
    "gpudash.probe.line",
    "gpudash.probe.backlog",
    "gpudash.probe.nvml",
    "gpudash.probe.absent",
    "gpudash.probe.sampler",
)
WHO_MODULES = ("gpudash.probe.processes",)
"""What answers who a pid is; a one-shot sampler gets it along, unread."""
DETAIL_MODULES = ("gpudash.probe.detail",)
"""What asks a GPU for its details; a sampler that stays gets it along, unread."""
HAND_MODULES = (
    "gpudash.probe.line",
    "gpudash.probe.processes",
    "gpudash.probe.devices",
    "gpudash.probe.handles",
    "gpudash.probe.details",
    "gpudash.probe.connections",
    "gpudash.probe.activity",
    "gpudash.probe.scan",
    "gpudash.probe.hand",
)
TAIL_MODULES = (
    "gpudash.probe.logstart",
    "gpudash.probe.logfile",
    "gpudash.probe.lineage",
    "gpudash.probe.loglines",
    "gpudash.probe.logchild",
    "gpudash.probe.logpane",
    "gpudash.probe.logsource",
    "gpudash.probe.tailing",
    "gpudash.probe.asked_url",
)
"""What follows logs; it goes along unread, as what carries orders does."""
ORDER_MODULES = (
    "gpudash.probe.asking",
    "gpudash.probe.target",
    "gpudash.probe.kin",
    "gpudash.probe.saving",
    "gpudash.probe.course",
    "gpudash.probe.managed",
    "gpudash.probe.stuck",
    "gpudash.probe.orders",
    "gpudash.probe.carrier",
    "gpudash.probe.relay",
    "gpudash.probe.sharing",
    "gpudash.probe.leavings",
    "gpudash.probe.ports",
    "gpudash.probe.surroundings",
    "gpudash.probe.preflight",
    "gpudash.probe.launch",
    *TAIL_MODULES,
    "gpudash.probe.masking",
    "gpudash.probe.kindred",
)
"""What carries orders, looks for what is left and launches; it goes along with the hand, unread
until the first need."""

COMMAND = (
    "import sys,zlib;sys.version_info<(3,6)and sys.exit(96);"
    "i=sys.stdin.buffer;n=i.read(8);n or sys.exit(98);"
    "exec(zlib.decompress(i.read(int(n))))"
)
"""What `python3 -ISBc` runs on a host; free of quotes, so that any shell passes it on."""

_START = (
    "import json\n"
    "d=json.loads(%r)\n"
    "b={'__name__':'gpudash.probe.bootstrap'}\n"
    "exec(d['bootstrap'],b)\n"
    "b['start'](d)\n"
)

BINDING_FUNCTIONS = (
    "_nvmlGetFunctionPointer",
    "nvmlDeviceGetClockInfo",
    "nvmlDeviceGetComputeInstanceId",
    "nvmlDeviceGetComputeRunningProcesses_v2",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetCount",
    "nvmlDeviceGetCurrentClocksEventReasons",
    "nvmlDeviceGetCurrentClocksThrottleReasons",
    "nvmlDeviceGetEnforcedPowerLimit",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetGpuInstanceId",
    "nvmlDeviceGetGraphicsRunningProcesses_v2",
    "nvmlDeviceGetGraphicsRunningProcesses_v3",
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetMPSComputeRunningProcesses_v2",
    "nvmlDeviceGetMPSComputeRunningProcesses_v3",
    "nvmlDeviceGetMaxMigDeviceCount",
    "nvmlDeviceGetMemoryInfo",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetName",
    "nvmlDeviceGetPciInfo",
    "nvmlDeviceGetPerformanceState",
    "nvmlDeviceGetPowerUsage",
    "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetTemperature",
    "nvmlDeviceGetUUID",
    "nvmlDeviceGetUtilizationRates",
    "nvmlInit",
    "nvmlMemory_v2",
    "nvmlShutdown",
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetNVMLVersion",
)
"""What probe/nvml.py and probe/sampler.py use of pynvml; a test compares them."""


def source_of(module: str) -> str:
    """Return the text of one of our modules."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parts = module.split(".")[1:]
    with open(os.path.join(root, *parts) + ".py", encoding="utf-8") as file:
        return file.read()


def binding_path() -> str:
    """Return where nvidia-ml-py's pynvml.py is. Raises FileNotFoundError."""
    # `python -m` puts the current folder first; what lies there is nobody's installed package.
    paths = [path for path in sys.path if path and path != os.getcwd()]
    spec = PathFinder.find_spec("pynvml", paths)
    if spec is None or spec.origin is None:
        raise FileNotFoundError("pynvml.py (package nvidia-ml-py) is not installed")
    if spec.submodule_search_locations is not None:
        raise FileNotFoundError(f"another package named pynvml hides nvidia-ml-py: {spec.origin}")
    return spec.origin


def sampler_payload(spare: tuple[str, ...] = DETAIL_MODULES) -> bytes:
    """Return the sampler's document without options, as JSON; from the cache where it is fresh.

    Modules in `spare` travel as text and are run only when the sampler needs them. The cache's
    key is the hash of everything that goes in.
    """
    with open(binding_path(), "rb") as file:
        binding = file.read()
    ours = [(name, source_of(name)) for name in SAMPLER_MODULES]
    more = [(name, source_of(name)) for name in spare]
    texts = [text.encode() for _, text in (*ours, *more)]
    key = _key(binding, *texts, source_of(_BOOTSTRAP).encode(), source_of(_LEANING).encode())
    path = os.path.join(cache_folder(), f"sampler-{key}.json")
    cached = _unsealed(read_private(path))
    if cached is not None:
        return cached
    modules = [("pynvml", cut_or_whole(binding.decode())), *_leaned(ours)]
    document = _document(modules, SAMPLER_MODULES[-1], _leaned(more))
    write_private(path, _sealed(document))
    return document


_BOOTSTRAP = "gpudash.probe.bootstrap"
_LEANING = "gpudash.sources.leaning"


def hand_payload() -> bytes:
    """Return the hand's document without options, as JSON; from the cache where it is fresh."""
    modules = [(name, source_of(name)) for name in HAND_MODULES]
    spare = [(name, source_of(name)) for name in ORDER_MODULES]
    texts = [text.encode() for _, text in (*modules, *spare)]
    key = _key(source_of(_BOOTSTRAP).encode(), source_of(_LEANING).encode(), *texts)
    path = os.path.join(cache_folder(), f"hand-{key}.json")
    cached = _unsealed(read_private(path))
    if cached is not None:
        return cached
    document = _document(_leaned(modules), HAND_MODULES[-1], _leaned(spare))
    write_private(path, _sealed(document))
    return document


def _leaned(modules: list[tuple[str, str]]) -> list[tuple[str, str]]:
    from gpudash.sources.leaning import lean

    return [(name, lean(text)) for name, text in modules]


def _document(
    modules: list[tuple[str, str]], main: str, spare: list[tuple[str, str]] | None = None
) -> bytes:
    import json

    document = {
        "bootstrap": source_of(_BOOTSTRAP),
        "modules": modules,
        "main": main,
        "spare": spare or [],
    }
    return json.dumps(document).encode()


def with_options(document: bytes, options: bytes) -> bytes:
    """Return what goes down stdin: the length in 8 digits, then the compressed document.

    `options` is a JSON object; it joins the document as its last member, with the stand-in
    devices that this side's environment names. Raises UsageError for a map that is none.
    """
    if devices := os.environ.get("GPUDASH_DEVICE_MAP"):
        options = _with_standins(options, devices)
    whole = document[:-1] + b',"options":' + options + b"}"
    packed = zlib.compress((_START % whole.decode()).encode(), 6)
    return b"%08d" % len(packed) + packed


def _with_standins(options: bytes, devices: str) -> bytes:
    import json

    from gpudash.core.standins import standin_options

    return json.dumps({**json.loads(options), **standin_options(devices)}).encode()


def _sealed(document: bytes) -> bytes:
    return b"%08x\n" % zlib.crc32(document) + document


def _unsealed(kept: bytes | None) -> bytes | None:
    """Return the document, or None for one that a full disk or a lost power supply cut off."""
    document = None if kept is None else kept[9:]
    return document if document is not None and _sealed(document) == kept else None


def _key(*parts: bytes) -> str:
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    # crc32 of several hundred KB in 0.1 ms; hashlib alone takes 3 ms to import. The cache is the
    # user's own, so the key guards against change, not against an enemy.
    return f"{checksum:08x}-{sum(map(len, parts)):x}"


def read_private(path: str) -> bytes | None:
    """Return a file that nobody but this user can have written, or None.

    What is read here is run as code: under sudo with the caller's HOME a folder may be another
    user's.
    """
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        status = os.fstat(fd)
        if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or status.st_mode & 0o022):
            return None
        return file.read()


def write_private(path: str, data: bytes) -> None:
    """Keep data for the next time; a cache that can't be written is done without."""
    folder = os.path.dirname(path)
    temporary = f"{path}.{os.getpid()}"
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if not is_ours(folder):
            return
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(fd, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
    except OSError:
        return


def cut_or_whole(binding: str) -> str:
    """Return the cut binding, or the whole text where it can't be cut."""
    from gpudash.sources.cutting import cut_binding

    try:
        return cut_binding(binding, BINDING_FUNCTIONS)
    except (SyntaxError, ValueError, KeyError, RecursionError):
        return binding
