"""Settings where OpenSSH is not installed: asyncssh's own parser, with its gaps named.

It reads ~/.ssh/config alone and knows nothing of StrictHostKeyChecking and ControlMaster
(reference: asyncssh 2.24), so keys are asked about and connections are its own.
"""

from __future__ import annotations

import getpass
from pathlib import Path

from asyncssh.config import ConfigParseError, SSHClientConfig

from gpudash.core.errors import ExitCode
from gpudash.core.model import Problem
from gpudash.core.ssh_settings import SshSettings
from gpudash.sources.base import SourceError
from gpudash.sources.ssh.resolve import Destination

_KEYS = ("id_ed25519", "id_ecdsa", "id_rsa")
_KNOWN = ("~/.ssh/known_hosts", "~/.ssh/known_hosts2")
_GLOBAL_KNOWN = ("/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")


def settings_without_openssh(to: Destination) -> SshSettings:
    """Return what the user's configuration says of a host. Raises SourceError."""
    flags = dict(zip(to.options[::2], to.options[1::2], strict=False))
    path = Path(to.configuration[-1] if to.configuration else "~/.ssh/config").expanduser()
    me = getpass.getuser()
    try:
        found = SSHClientConfig.load(
            None,
            [str(path)] if path.is_file() else [],
            False,
            False,
            False,
            me,
            flags.get("-l", ()),
            to.address,
            int(flags["-p"]) if "-p" in flags else (),
        )
    except (ConfigParseError, OSError, ValueError) as error:
        raise SourceError(_unreadable(error)) from error

    def text(key: str) -> str:
        value = found.get(key, "")
        return "" if value in (None, "none") else str(value)

    def texts(key: str) -> tuple[str, ...]:
        value = found.get(key, ())
        return tuple(map(str, value)) if isinstance(value, list | tuple) else ()

    return SshSettings(
        hostname=text("Hostname") or to.address,
        port=int(flags.get("-p", 0)) or int(text("Port") or 22),
        user=flags.get("-l", "") or text("User") or me,
        identity_files=texts("IdentityFile") or tuple(f"~/.ssh/{name}" for name in _KEYS),
        certificate_files=texts("CertificateFile"),
        identities_only=bool(found.get("IdentitiesOnly", False)),
        identity_agent=text("IdentityAgent"),
        proxy_jump=flags.get("-J", "") or text("ProxyJump"),
        proxy_command=text("ProxyCommand"),
        user_known_hosts=texts("UserKnownHostsFile") or _KNOWN,
        global_known_hosts=texts("GlobalKnownHostsFile") or _GLOBAL_KNOWN,
        host_key_alias=text("HostKeyAlias"),
    )


def _unreadable(error: Exception) -> Problem:
    return Problem(
        title="ssh configuration",
        sentence="~/.ssh/config can't be read without OpenSSH.",
        advice="Install the OpenSSH client on this machine: it reads it as you mean it.",
        detail=str(error)[:2000],
        exit_code=ExitCode.UNREACHABLE,
        needs_person=True,
    )
