"""What `ssh -G` prints, as a value; which transport fits."""

from __future__ import annotations

import pytest

from gpudash.core.ssh_settings import (
    SshSettings,
    Surroundings,
    expand_tokens,
    needs_openssh,
    parse_settings,
)

TEXT = """\
host gpu-a
user ana
hostname 192.0.2.7
port 2222
identitiesonly true
stricthostkeychecking accept-new
hashknownhosts yes
gssapiauthentication yes
passwordauthentication no
identityfile ~/.ssh/id_a
identityfile ~/.ssh/id_b
certificatefile none
userknownhostsfile /a/known /a/known2
globalknownhostsfile /etc/ssh/ssh_known_hosts
proxyjump ana@jump:22,other
proxycommand none
controlpath none
ciphers aes128-gcm@openssh.com,aes256-ctr
connecttimeout 7
serveraliveinterval 0
serveralivecountmax 3
remotecommand rm -rf /
requesttty force
forwardagent yes
localforward 8080 [127.0.0.1]:80
"""


def test_who_and_where() -> None:
    settings = parse_settings(TEXT)
    assert settings.place == "ana@192.0.2.7:2222"
    assert settings.identity_files == ("~/.ssh/id_a", "~/.ssh/id_b")
    assert settings.certificate_files == ()
    assert settings.user_known_hosts == ("/a/known", "/a/known2")
    assert settings.proxy_jump == "ana@jump:22,other"
    assert (settings.proxy_command, settings.control_path) == ("", "")
    assert settings.ciphers == ("aes128-gcm@openssh.com", "aes256-ctr")
    assert (settings.connect_timeout_s, settings.alive_interval_s) == (7.0, None)
    assert settings.identities_only
    assert settings.hashes_known_hosts
    assert not settings.has_password
    assert settings.has_interactive


def test_what_would_run_or_forward_is_never_taken() -> None:
    said = repr(parse_settings(TEXT))
    for word in ("rm -rf", "force", "8080"):
        assert word not in said


@pytest.mark.parametrize("word", ["yes", "true", "ask", "accept-new", "no", "false", "off"])
def test_host_key_checks(word: str) -> None:
    settings = parse_settings(f"hostname x\nstricthostkeychecking {word}\n")
    assert settings.checks_host_keys is (word not in ("no", "false", "off"))


def test_no_hostname_is_no_answer() -> None:
    with pytest.raises(ValueError, match="hostname"):
        parse_settings("usage: ssh [-46AaCfGgKkMNnqsTtVvXxYy]")


@pytest.mark.parametrize(
    ("settings", "around", "why"),
    [
        ({}, {}, ""),
        ({}, {"has_live_master": True}, "a ControlMaster is open"),
        ({"has_gssapi": True}, {}, ""),
        ({"has_gssapi": True}, {"has_kerberos_ticket": True}, "GSSAPIAuthentication"),
        (
            {"has_gssapi": True},
            {"has_kerberos_ticket": True, "can_use_gssapi": True},
            "",
        ),
        ({"pkcs11_provider": "/lib/p11.so"}, {}, "PKCS11Provider"),
        ({}, {"security_key_files": ("~/.ssh/id_sk",)}, "security key ~/.ssh/id_sk"),
        ({}, {"has_live_master": True, "has_openssh": False}, ""),
    ],
)
def test_when_only_openssh_will_do(
    settings: dict[str, object], around: dict[str, object], why: str
) -> None:
    known = SshSettings(hostname="x", **settings)  # type: ignore[arg-type]
    assert needs_openssh(known, Surroundings(**around)) == why  # type: ignore[arg-type]


def test_tokens_of_a_proxy_command() -> None:
    settings = SshSettings(hostname="192.0.2.7", port=2222, user="ana")
    line = expand_tokens("nc -X %% %h %p %r %n %z %", settings, "gpu-a")
    assert line == "nc -X % 192.0.2.7 2222 ana gpu-a %z %"
