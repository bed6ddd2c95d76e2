"""Private keys, certificates and the agent, as the user's configuration names them.

A key file is read once. One that is encrypted is offered last, and only where somebody is there
to type its passphrase, or did before.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import asyncssh

from gpudash.core.ssh_settings import SshSettings


@dataclass(slots=True)
class KeyRing:
    """Every key file that was read in this run."""

    _pairs: dict[str, tuple[asyncssh.SSHKeyPair, ...]] = field(default_factory=dict)
    _locked: set[str] = field(default_factory=set)
    lacks_bcrypt: bool = False
    """A key could not be decrypted because the package bcrypt is not installed."""

    def pairs(self, settings: SshSettings) -> list[asyncssh.SSHKeyPair]:
        """Return the keys of a host that can be used now, with their certificates."""
        certificates = existing(settings.certificate_files)
        found: list[asyncssh.SSHKeyPair] = []
        for path in existing(settings.identity_files):
            found += self._read(path, certificates)
        return found

    def locked(self, settings: SshSettings) -> list[str]:
        """Return the key files of a host that wait for a passphrase."""
        return [path for path in existing(settings.identity_files) if path in self._locked]

    def unlock(self, path: str, passphrase: str) -> tuple[asyncssh.SSHKeyPair, ...]:
        """Decrypt a key file for the rest of the run; nothing where the passphrase is wrong."""
        try:
            key = asyncssh.read_private_key(path, passphrase)
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError, OSError) as error:
            self.lacks_bcrypt |= "bcrypt" in str(error)
            return ()
        self._locked.discard(path)
        self._pairs[path] = tuple(asyncssh.load_keypairs([key]))
        return self._pairs[path]

    def _read(self, path: str, certificates: list[str]) -> tuple[asyncssh.SSHKeyPair, ...]:
        if path in self._pairs:
            return self._pairs[path]
        try:
            pairs = tuple(asyncssh.load_keypairs([path], certlist=certificates))
        except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError) as error:
            # What is no private key may still name one that the agent holds.
            if "assphrase" in str(error):
                self._locked.add(path)
            pairs = ()
        except (OSError, ValueError):
            pairs = ()
        self._pairs[path] = pairs
        return pairs


def existing(names: tuple[str, ...]) -> list[str]:
    """Return the paths that are files; one that is not there is no error, as with ssh."""
    paths = [Path(name).expanduser() for name in names]
    return [str(path) for path in paths if path.is_file()]


def agent_of(settings: SshSettings) -> tuple[str, list[bytes] | None]:
    """Return the agent's socket, empty for none, and which of its keys may be used; None is all."""
    path = settings.identity_agent
    if path.lower() == "none":
        return "", None
    if path.startswith("$"):
        path = os.environ.get(path[1:].strip("{}"), "")
    elif not path or path == "SSH_AUTH_SOCK":
        path = os.environ.get("SSH_AUTH_SOCK", "")
    if not settings.identities_only:
        return path, None
    public = [key for name in settings.identity_files if (key := _public_half(name))]
    return (path if public else ""), [key.public_data for key in public]


def _public_half(name: str) -> asyncssh.SSHKey | None:
    path = Path(name).expanduser()
    for candidate in (path.with_name(path.name + ".pub"), path):
        try:
            return asyncssh.read_public_key(candidate)
        except (OSError, asyncssh.KeyImportError):
            continue
    return None
