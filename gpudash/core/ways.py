"""How one host is reached, all said: ssh, a command, or not at all, for it is here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """How one host is reached."""

    name: str
    """As typed; unique."""
    address: str = ""
    """What ssh is given; empty for this machine and for a command."""
    options: tuple[str, ...] = ()
    """ssh's options before it, such as `-p 2222`."""
    configuration: tuple[str, ...] = ()
    """`-F FILE`; empty for the user's own configuration."""
    transport: str = ""
    """`openssh`, `asyncssh`, or empty for whichever fits."""
    command: tuple[str, ...] = ()
    """Words that run a program there instead of ssh: `kubectl exec -i POD -- sh`."""
    python: str = ""
    """Tried before the usual ones."""
    has_sudo: bool = False
    """The sampler starts by `sudo -n`; no hand does but by `has_hand_sudo`."""
    has_hand_sudo: bool = False
    """The hand starts by `sudo -n`: asked for in this run, for a cleanup."""
    sudo_said: str = ""
    """Where the configuration says that nothing is cleaned by sudo there; else empty."""
    has_smi: bool = True
    """nvidia-smi may stand in where the probe can't read the driver."""

    gpus: int | None = None
    """How many GPUs the configuration says there are; None where it says nothing."""
    is_readonly: bool = False
    """The configuration says to look at it and never to act on it."""
    judged_as: str | None = None
    """The HostName for which the configuration's rules were read; None where it has none."""

    @property
    def is_local(self) -> bool:
        """Tell whether it is this machine."""
        return not self.address and not self.command
