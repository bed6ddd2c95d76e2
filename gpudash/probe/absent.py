"""GPUs that the kernel module knows and the library does not list.

One that fell off the bus before the sampler began is not counted by NVML at all: without a second
opinion seven of eight would read as all. The module keeps a folder for each that it was given; in
a container the runtime shows only those of the container.
"""

import os

GPUS = "/proc/driver/nvidia/gpus"
GPU_IS_LOST = 15


class Absent(object):
    """A place in the roster for one that does not answer."""

    handle = None
    slices = ()

    def __init__(self, index, bus):
        self.index = index
        # Written as the library writes it: by its place it is the one that was known before.
        domain, _, rest = bus.partition(":")
        bus = "%s:%s" % (domain.rjust(8, "0"), rest)
        self.facts = {"index": index, "uuid": None, "bus": bus.upper(), "name": None}

    def refresh(self):
        """Say that nothing changed: nothing can be read."""
        return False

    def tell(self):
        """Return what is known of it: where it is."""
        return self.facts

    def read(self):
        """Return the code of a lost GPU in place of a reading."""
        return {"e": GPU_IS_LOST}


def plain_bus(text):
    """Return a PCI address with a four-digit domain, in lower case."""
    domain, _, rest = (text or "").lower().partition(":")
    return "%s:%s" % (domain.lstrip("0").rjust(4, "0"), rest) if rest else ""


def find_absent(gpus, folder=GPUS):
    """Return a place for each GPU of the kernel's that is not among these.

    One whose address the library can't tell may be any of them, so only as many are added as the
    kernel knows more.
    """
    try:
        known = sorted(plain_bus(name) for name in os.listdir(folder))
    except OSError:
        return []
    listed = {plain_bus(gpu.facts["bus"]) for gpu in gpus}
    missing = [bus for bus in known if bus not in listed]
    more = max(0, len(known) - len(gpus))
    return [Absent(len(gpus) + place, bus) for place, bus in enumerate(missing[:more])]
