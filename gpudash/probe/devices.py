"""Which device numbers are a GPU's, and whether this is a stand-in.

A handle is known by the device number of what is open, never by a path: a container may have a
node of its own, anywhere. `/proc/devices` names the majors; a stand-in map from the other side
takes its place in tests, and then nothing here is about real GPUs.
"""

import os

from gpudash.probe.line import pid_namespace, read_file

INITIAL_PID_NAMESPACE = 4026531836  # PROC_PID_INIT_INO in the kernel
FRONT_NAMES = ("nvidia", "nvidia-frontend", "nvidiactl", "nvidia-modeset")
CONTROL_MINOR = 255
MODESET_MINOR = 254
UVM_MINOR = 0  # 1 is nvidia-uvm-tools
GPUS = "/proc/driver/nvidia/gpus"
CAPABILITIES = "/proc/driver/nvidia/capabilities"


class Devices(object):
    """Device numbers to (kind, GPU): `gpu`, `control`, `uvm`, `modeset`, `other`."""

    def __init__(self, options):
        told = options.get("devices")
        self.is_standin = told is not None
        self.notes = []
        self._known = {}
        self._majors = {}
        self._buses = {}
        if self.is_standin:
            for major, minor, kind, index in told:
                gpu = "index-%d" % index if kind == "gpu" else None
                self._known[os.makedev(major, minor)] = (kind, gpu)
        else:
            self._majors = _majors()
            self._buses = _buses()
            if "gpu" in self._majors.values() and not self._buses:
                self.notes.append("GPU numbers taken from device minors")
            self._know_capabilities()

    def of(self, number):
        """Return (kind, GPU or None) of a device number; None for one that is not ours."""
        found = self._known.get(number)
        if found is None and not self.is_standin:
            kind = self._majors.get(os.major(number))
            found = self._of_minor(kind, os.minor(number)) if kind else None
        return found

    def _of_minor(self, kind, minor):
        if kind == "gpu":
            if minor == CONTROL_MINOR:
                return "control", None
            if minor == MODESET_MINOR:
                return "modeset", None
            return "gpu", self._buses.get(minor, "index-%d" % minor)
        if kind == "uvm":
            return ("uvm" if minor == UVM_MINOR else "other"), None
        return "other", None

    def _know_capabilities(self):
        """Know which GPU a MIG capability is of: its file tells the minor of nvidia-caps."""
        majors = [major for major, kind in self._majors.items() if kind == "caps"]
        if not majors:
            return
        for folder in _names(CAPABILITIES):
            if not folder.startswith("gpu") or not folder[3:].isdigit():
                continue
            gpu = self._buses.get(int(folder[3:]), "index-" + folder[3:])
            for place, _, files in os.walk("%s/%s" % (CAPABILITIES, folder)):
                minor = _number_after(b"DeviceFileMinor:", place + "/access", files)
                if minor is not None:
                    self._known[os.makedev(majors[0], minor)] = ("other", gpu)


def _names(folder):
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _majors():
    """Return what each of the driver's majors is for."""
    majors = {}
    for line in (read_file("/proc/devices") or b"").decode("ascii", "replace").splitlines():
        words = line.split()
        if line.startswith("Block devices"):
            break
        if len(words) != 2 or not words[0].isdigit():
            continue
        name = words[1]
        if name in FRONT_NAMES:
            majors[int(words[0])] = "gpu"
        elif name == "nvidia-uvm":
            majors[int(words[0])] = "uvm"
        elif name == "nvidia-caps":
            majors[int(words[0])] = "caps"
        elif name.startswith("nvidia"):
            majors[int(words[0])] = "other"
    return majors


def _buses():
    """Return each GPU's bus id, in NVML's form, by its device minor."""
    buses = {}
    for folder in _names(GPUS):
        minor = _number_after(b"Device Minor:", "%s/%s/information" % (GPUS, folder))
        domain, _, rest = folder.upper().partition(":")
        if minor is not None and rest:
            buses[minor] = "%s:%s" % (domain.rjust(8, "0"), rest)
    return buses


def _number_after(word, path, files=None):
    """Return the number behind a word at the start of a line of a file."""
    if files is not None and os.path.basename(path) not in files:
        return None
    for line in (read_file(path) or b"").splitlines():
        if line.startswith(word):
            value = line[len(word) :].strip()
            return int(value) if value.isdigit() else None
    return None


def lists_own_pids(options):
    """Tell whether the driver's pids are those of our /proc.

    In a pid namespace that is not the host's NVML lists host pids; beside a stand-in map they
    count as ours unless it says otherwise.
    """
    if options.get("devices") is not None:
        return options.get("pids") != "host"
    return pid_namespace() in (None, INITIAL_PID_NAMESPACE)


def why_no_signal(options):
    """Return why nothing may be signalled from here, as a sentence; empty where it may.

    Stand-in devices are held by everyday programs. In a pid namespace of its own a test can
    only hurt itself; in the host's own it could end anybody.
    """
    if options.get("devices") is None:
        return ""
    if pid_namespace() in (None, INITIAL_PID_NAMESPACE):
        return "stand-in devices are mapped and this is the host's own pid namespace"
    return ""
