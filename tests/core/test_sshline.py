"""Pasted ssh lines: what is taken, what is ignored and named, what is refused by name."""

from __future__ import annotations

import pytest

from gpudash.core.errors import UsageError
from gpudash.core.hostnames import parse_host
from gpudash.core.hostspec import SshOptions


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("ssh gpu-a", "gpu-a"),
        ("  ssh   root@gpu-a  ", "root@gpu-a"),
        ("ssh -p 2222 root@gpu-a", "root@gpu-a:2222"),
        ("ssh -p2222 root@gpu-a", "root@gpu-a:2222"),
        ("ssh root@gpu-a -p 2222", "root@gpu-a:2222"),
        ("ssh -Nfp2222 gpu-a", "gpu-a:2222"),
        ("ssh -l ana gpu-a", "ana@gpu-a"),
        ("ssh -l ana root@gpu-a", "ana@gpu-a"),
        ("ssh root@gpu-a -l ana", "root@gpu-a"),
        ("ssh -p 22 -p 2222 gpu-a", "gpu-a:22"),
        ("ssh ssh://root@gpu-a:2222", "root@gpu-a:2222"),
        ("ssh -p 2222 2001:db8::7", "[2001:db8::7]:2222"),
        ("ssh -- gpu-a", "gpu-a"),
        ("ssh \\\n  -p 2222 \\\n  root@gpu-a\n", "root@gpu-a:2222"),
    ],
)
def test_destination(line: str, name: str) -> None:
    spec = parse_host(line)
    assert spec.name == name
    assert not spec.options


def test_everything_that_is_taken() -> None:
    spec = parse_host(
        "ssh -i ~/.ssh/lab -i 'my keys/b' -J ana@jump:22,second -F lab.conf -o ConnectTimeout=5 "
        "-oIdentitiesOnly=yes -o 'ProxyCommand nc %h %p' root@gpu-a"
    )
    assert spec.options == SshOptions(
        identity_files=("~/.ssh/lab", "my keys/b"),
        jump=("ana@jump:22", "second"),
        config_file="lab.conf",
        settings=(
            ("ConnectTimeout", "5"),
            ("IdentitiesOnly", "yes"),
            ("ProxyCommand", "nc %h %p"),
        ),
    )
    assert spec.notes == ()


def test_what_is_ignored_is_named() -> None:
    spec = parse_host(
        "ssh -tt -fN -A -X -vqC4 -L 8080:localhost:80 -R9:localhost:9 -D 1080 "
        "-o RemoteCommand=htop -o RequestTTY=yes gpu-a"
    )
    assert not spec.options
    assert spec.notes == (
        "ignored of the ssh line: -t, -f, -N, -A, -X, -v, -q, -C, -4, -L 8080:localhost:80, "
        "-R 9:localhost:9, -D 1080, -o RemoteCommand=htop, -o RequestTTY=yes",
    )


@pytest.mark.parametrize(
    "setting",
    [
        "StrictHostKeyChecking=no",
        "stricthostkeychecking accept-new",
        "UserKnownHostsFile=/dev/null",
    ],
)
def test_a_line_turns_no_host_key_check_off(setting: str) -> None:
    spec = parse_host(f"ssh -o '{setting}' gpu-a")
    assert spec.options.settings == ()
    assert "host keys are checked" in spec.notes[0]


def test_a_stricter_check_is_taken() -> None:
    spec = parse_host("ssh -o StrictHostKeyChecking=yes -o UserKnownHostsFile=lab_hosts gpu-a")
    assert len(spec.options.settings) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ssh gpu-a nvidia-smi", "the line runs a command there: nvidia-smi"),
        ("ssh -W h:22 gpu-a", "ssh's -W can't be taken over"),
        ("ssh -NM gpu-a", "ssh's -M can't be taken over"),
        ("ssh --port 22 gpu-a", "ssh has no long options"),
        ("ssh -§ gpu-a", "-§ is no option of ssh"),
        ("ssh -p", "-p needs a value"),
        ("ssh -p x gpu-a", "the port is x"),
        ("ssh -p 22", "the line names no host"),
        ("ssh -o nonsense gpu-a", "-o nonsense is no Keyword=value"),
        ("ssh -J a -J b gpu-a", "-J stands twice"),
        ("ssh -J '-oProxyCommand=x' gpu-a", "a name can't begin with -"),
        ("ssh -l -x gpu-a", "a user name can't begin with -"),
        ("ssh 'gpu-a", "a quote is not closed"),
        ("ssh gpu-\x1b[31ma", "the line contains the invisible character U+001B"),
        ("ssh node[1-2]", "a name can't contain ["),
        ("ssh @lab", "a user name is missing"),
    ],
)
def test_what_is_refused(line: str, message: str) -> None:
    with pytest.raises(UsageError, match=r"^host ") as caught:
        parse_host(line)
    assert message in caught.value.message
