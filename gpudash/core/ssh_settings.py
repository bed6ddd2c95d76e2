"""What `ssh -G HOST` resolved, as a value, and which transport fits it.

Only where and who is taken. What would run something, forward something or open a terminal
(RemoteCommand, RequestTTY, forwards, ForwardAgent, ForwardX11, PermitLocalCommand, Tunnel) never
is. Source of the format: ssh(1), option -G; ssh_config(5).
"""

from __future__ import annotations

from dataclasses import dataclass

_NONE = frozenset({"", "none"})
_YES = frozenset({"yes", "true"})
_NO = frozenset({"no", "false"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SshSettings:
    """Where a host is and who logs in."""

    hostname: str
    port: int = 22
    user: str = ""
    address_family: str = "any"
    """`any`, `inet` or `inet6`."""
    bind_address: str = ""
    identity_files: tuple[str, ...] = ()
    certificate_files: tuple[str, ...] = ()
    identities_only: bool = False
    identity_agent: str = ""
    """A path, `SSH_AUTH_SOCK`, or empty for the default; `none` for no agent."""
    proxy_jump: str = ""
    """As written: `user@jump:port,…`; empty for none."""
    proxy_command: str = ""
    user_known_hosts: tuple[str, ...] = ()
    global_known_hosts: tuple[str, ...] = ()
    host_key_alias: str = ""
    strict_host_keys: str = "ask"
    """`true`, `false`, `ask`, `accept-new`, `no`, `yes` or `off`: versions of ssh differ."""
    ciphers: tuple[str, ...] = ()
    macs: tuple[str, ...] = ()
    key_exchanges: tuple[str, ...] = ()
    host_key_algorithms: tuple[str, ...] = ()
    connect_timeout_s: float | None = None
    alive_interval_s: float | None = None
    alive_count: int | None = None
    control_path: str = ""
    """As ssh expanded it; empty for none."""
    pkcs11_provider: str = ""
    has_gssapi: bool = False
    hashes_known_hosts: bool = False
    preferred_methods: tuple[str, ...] = ()
    """Login methods in the user's order; empty for the usual one."""
    has_public_key: bool = True
    has_password: bool = True
    has_interactive: bool = True

    @property
    def place(self) -> str:
        """Return who logs in where: what prompts and secrets belong to."""
        port = "" if self.port == 22 else f":{self.port}"
        return f"{self.user}@{self.hostname}{port}"

    @property
    def checks_host_keys(self) -> bool:
        """Tell whether the user's own configuration lets host keys be checked."""
        return self.strict_host_keys not in ("no", "off", "false")


def parse_settings(text: str) -> SshSettings:
    """Read what `ssh -G` printed; a line that is not understood is left out.

    Raises ValueError when there is no hostname: that is not the output of `ssh -G`.
    """
    words: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        if key:
            words.setdefault(key.lower(), []).append(value.strip())
    if not words.get("hostname", [""])[0]:
        raise ValueError("ssh -G named no hostname")

    def one(key: str) -> str:
        value = words.get(key, [""])[0]
        return "" if value.lower() in _NONE else value

    def listed(key: str) -> tuple[str, ...]:
        return tuple(part for part in one(key).split(",") if part)

    return SshSettings(
        hostname=one("hostname"),
        port=_whole(one("port")) or 22,
        user=one("user"),
        address_family=one("addressfamily") or "any",
        bind_address=one("bindaddress"),
        identity_files=_present(words.get("identityfile", [])),
        certificate_files=_present(words.get("certificatefile", [])),
        identities_only=one("identitiesonly") in _YES,
        identity_agent=words.get("identityagent", [""])[0],
        proxy_jump=one("proxyjump"),
        proxy_command=one("proxycommand"),
        user_known_hosts=_present(one("userknownhostsfile").split()),
        global_known_hosts=_present(one("globalknownhostsfile").split()),
        host_key_alias=one("hostkeyalias"),
        strict_host_keys=one("stricthostkeychecking") or "ask",
        ciphers=listed("ciphers"),
        macs=listed("macs"),
        key_exchanges=listed("kexalgorithms"),
        host_key_algorithms=listed("hostkeyalgorithms"),
        connect_timeout_s=_seconds(one("connecttimeout")),
        alive_interval_s=_seconds(one("serveraliveinterval")),
        alive_count=_whole(one("serveralivecountmax")),
        control_path=one("controlpath"),
        pkcs11_provider=one("pkcs11provider"),
        has_gssapi=one("gssapiauthentication") in _YES,
        hashes_known_hosts=one("hashknownhosts") in _YES,
        preferred_methods=listed("preferredauthentications"),
        has_public_key=one("pubkeyauthentication") not in _NO,
        has_password=one("passwordauthentication") not in _NO,
        has_interactive=one("kbdinteractiveauthentication") not in _NO,
    )


def _present(values: list[str]) -> tuple[str, ...]:
    return tuple(value for value in values if value.lower() not in _NONE)


def _whole(text: str) -> int | None:
    return int(text) if text.isdigit() else None


def _seconds(text: str) -> float | None:
    """Return a positive number of seconds; 0 and `none` mean that nothing was set."""
    number = _whole(text)
    return float(number) if number else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What only the machine can tell about these settings."""

    has_live_master: bool = False
    """A ControlMaster answers at the control path."""
    has_kerberos_ticket: bool = False
    security_key_files: tuple[str, ...] = ()
    """Identity files that are there and are kept on a FIDO device."""
    can_use_fido: bool = False
    can_use_pkcs11: bool = False
    can_use_gssapi: bool = False
    has_openssh: bool = True


def needs_openssh(settings: SshSettings, around: Surroundings) -> str:
    """Return why only the OpenSSH client can reach this host, or an empty text."""
    if not around.has_openssh:
        return ""
    if around.has_live_master:
        return "a ControlMaster is open"
    return lacking(settings, around)


def lacking(settings: SshSettings, around: Surroundings) -> str:
    """Return the option that asyncssh, as it is installed here, can't obey; else an empty text."""
    if settings.has_gssapi and around.has_kerberos_ticket and not around.can_use_gssapi:
        return "GSSAPIAuthentication"
    if settings.pkcs11_provider and not around.can_use_pkcs11:
        return "PKCS11Provider"
    if around.security_key_files and not around.can_use_fido:
        return f"security key {around.security_key_files[0]}"
    return ""


def expand_tokens(text: str, settings: SshSettings, original: str) -> str:
    """Expand the tokens that `ssh -G` leaves in ProxyCommand: %h %n %p %r %%."""
    known = {
        "%": "%",
        "h": settings.hostname,
        "n": original,
        "p": str(settings.port),
        "r": settings.user,
    }
    result, rest = "", text
    while "%" in rest:
        before, _, after = rest.partition("%")
        result += before + known.get(after[:1], "%" + after[:1])
        rest = after[1:]
    return result + rest
