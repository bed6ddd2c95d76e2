"""Turn shipped text into modules of the same names and start one of them.

The command line on a host is a few words long; it reads a length and a compressed JSON document
from stdin, and hands the document to `start` here. A module must stand in sys.modules before
its text runs, or its own imports don't find it.
"""

import sys
import traceback


def _package(name):
    """Return a package of that name that finds nothing on disk."""
    module = sys.modules.get(name)
    if module is None:
        module = type(sys)(name)
        module.__path__ = []
        sys.modules[name] = module
        _hang_on_parent(name, module)
    return module


def _hang_on_parent(name, module):
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(_package(parent), child, module)


def load(pairs):
    """Run (name, source) pairs as modules, in their order."""
    for name, source in pairs:
        module = type(sys)(name)
        module.__file__ = "<gpudash " + name + ">"
        sys.modules[name] = module
        _hang_on_parent(name, module)
        exec(compile(source, module.__file__, "exec"), module.__dict__)


def start(document):
    """Load the document's modules and run the main one; exit 99 with a traceback on stderr."""
    try:
        load(document["modules"])
        options = document["options"]
        options["load_spare"] = lambda: load(document["spare"])
        sys.modules[document["main"]].main(options)
    except Exception:
        traceback.print_exc()
        sys.stderr.flush()
        sys.exit(99)
