"""Which simulated fleet was asked for."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass

from gpudash.core.errors import UsageError

DEFAULT = "busy"
NAMES = ("busy", "fleet", "idle", "leftovers", "startup", "tour", "training", "trouble")
MOST_HOSTS, MOST_GPUS = 128, 16
ACTS_BY_WORD = {"ready": "serve", "failed": "oom", "training": "train"}
_SIZE = re.compile(r"([1-9][0-9]{0,3})[x×]([1-9][0-9]{0,3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A scenario by name; the sizes count for `fleet` only."""

    name: str
    hosts: int = 32
    gpus: int = 8
    act: str = ""
    """For `startup`: the job that the scene begins with, at once; nothing begins with leftovers."""

    @property
    def is_tour(self) -> bool:
        """Tell whether each step has a sentence: the whole job, for a newcomer."""
        return self.name == "tour"


def parse_scenario(text: str) -> Scenario:
    """Return the scenario that a word names: a name, or `fleet:HxG`; nothing is `busy`.

    Raises UsageError, with the nearest valid name.
    """
    word = text.strip().lower()
    name, has_size, size = word.partition(":")
    if not word:
        return Scenario(name=DEFAULT)
    if name not in NAMES:
        raise _unknown(text, name)
    if not has_size:
        return Scenario(name=name)
    if name == "startup":
        return _begun(text, size)
    if name != "fleet":
        raise UsageError(
            f"The scenario {name} takes no size: {text!r}.",
            hint=f"Use {name} alone, or fleet:HxG for a fleet of any size.",
        )
    return _sized(text, size)


def _begun(text: str, act: str) -> Scenario:
    if act not in ACTS_BY_WORD:
        raise UsageError(
            f"Not a part of the scene: {text!r}.",
            hint=f"startup plays the whole job; startup:{'|'.join(ACTS_BY_WORD)} begins there.",
        )
    return Scenario(name="startup", act=ACTS_BY_WORD[act])


def _sized(text: str, size: str) -> Scenario:
    match = _SIZE.fullmatch(size)
    hosts, gpus = (int(match[1]), int(match[2])) if match else (0, 0)
    if not (1 <= hosts <= MOST_HOSTS and 1 <= gpus <= MOST_GPUS):
        raise UsageError(
            f"Not a fleet's size: {text!r}.",
            hint=f"fleet:HxG has 1 to {MOST_HOSTS} hosts of 1 to {MOST_GPUS} GPUs: fleet:32x8.",
        )
    return Scenario(name="fleet", hosts=hosts, gpus=gpus)


def _unknown(text: str, name: str) -> UsageError:
    near = difflib.get_close_matches(name, NAMES, n=1, cutoff=0.0)
    return UsageError(
        f"No scenario is called {text!r}.",
        hint=f"Did you mean {near[0]}? Scenarios: {', '.join(NAMES)} (or fleet:HxG).",
    )
