"""HOST words: one host, ranges, groups, exclusions; and no word that crashes."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpudash.core.errors import UsageError
from gpudash.core.hostnames import expand_hosts, group_members, parse_host
from gpudash.core.hostranges import MAX_HOSTS, expand_range, fold
from gpudash.core.hostspec import HostSpec

GROUPS = {
    "lab": ["gpu-a", "root@node[01-03]:2222"],
    "all": ["@lab", "rack[1-2]-n[0-4/2]", "!gpu-a"],
    "loop": ["@pool"],
    "pool": ["@loop"],
    "bad": ["a b"],
    "outer": ["@bad"],
    "empty": [],
}


def names(*words: str) -> list[str]:
    return [spec.name for spec in expand_hosts(words, GROUPS)]


@pytest.mark.parametrize(
    ("word", "address", "user", "port"),
    [
        ("local", "local", None, None),
        ("gpu-a", "gpu-a", None, None),
        ("gpu-a.example.com.", "gpu-a.example.com.", None, None),
        ("root@gpu-a", "gpu-a", "root", None),
        ("ana@example.com@gpu-a:2222", "gpu-a", "ana@example.com", 2222),
        ("192.0.2.7:22", "192.0.2.7", None, 22),
        ("2001:db8::7", "2001:db8::7", None, None),
        ("[2001:db8::7]", "2001:db8::7", None, None),
        ("root@[2001:db8::7]:2222", "2001:db8::7", "root", 2222),
        ("fe80::1%eth0", "fe80::1%eth0", None, None),
        ("ssh://root@gpu-a:2222/", "gpu-a", "root", 2222),
        ("SSH://[2001:db8::7]:22", "2001:db8::7", None, 22),
        ("ssh", "ssh", None, None),
    ],
)
def test_one_host(word: str, address: str, user: str | None, port: int | None) -> None:
    spec = parse_host(word)
    assert (spec.address, spec.user, spec.port) == (address, user, port)
    assert spec.name == word.removeprefix("ssh://").removeprefix("SSH://").removesuffix("/")
    assert expand_hosts([word]) == (spec,)


def test_only_the_word_local_is_this_machine() -> None:
    assert parse_host("local").is_local
    for word in ("root@local", "local:22", "ssh://local", "ssh -v local", "LOCAL", "localhost"):
        assert not parse_host(word).is_local, word


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("", "host '': a name is missing"),
        ("-x", "host -x: a name can't begin with -"),
        ("a b", "host a b: a name can't contain a blank"),
        ("a;b", "host a;b: a name can't contain ;"),
        ("$(x)", "host $(x): a name can't contain $"),
        ("{red}", "host {red}: a name can't contain {"),
        ("gpu-*", "host gpu-*: a name can't contain *"),
        ("a\x07b", "host ab: a name can't contain the invisible character U+0007"),
        ("a\u202eb", "host ab: a name can't contain the invisible character U+202E"),
        ("...", "host ...: a name needs a letter or a digit"),
        ("x" * 300, f"host {'x' * 80}…: a name has at most 253 characters"),
        ("@", "unknown group @"),
        ("u@", "host u@: a name is missing"),
        ("-u@a", "host -u@a: a user name can't begin with -"),
        ("@lab@x", "unknown group @lab@x"),
        (":22", "host :22: a name is missing"),
        ("a:", "host a:: the port is missing"),
        ("a:0", "host a:0: the port is 0"),
        ("a:65536", "host a:65536: the port is 65536"),
        ("a:²", "host a:²: the port is ²"),
        ("::1-3", "host ::1-3: ::1-3 is no IPv6 address"),
        ("[::1", "host [::1: the bracket is not closed"),
        ("[::1]x", "host [::1]x: unexpected x after the address"),
        ("fe80::1%", "host fe80::1%: nothing is no IPv6 zone"),
        ("node[1-", "host node[1-: a bracket is not closed, or closed twice"),
        ("node]", "host node]: a bracket is not closed, or closed twice"),
        ("node[[1]]", "host node[[1]]: a bracket is not closed, or closed twice"),
        ("node[]", "host node[]: a bracket has an empty part"),
        ("node[1,]", "host node[1,]: a bracket has an empty part"),
        ("node[a-c]", "host node[a-c]: a-c is no range"),
        ("node[-5]", "host node[-5]: -5 is no range"),
        ("node[3/2]", "host node[3/2]: 3/2 is no range"),
        ("node[3-1]", "host node[3-1]: the range 3-1 runs backwards"),
        ("node[1-3/0]", "host node[1-3/0]: the step of 1-3/0 is zero"),
        ("node[1-010]", "host node[1-010]: 1-010 has zeros on one side only"),
        ("node[0-00]", "host node[0-00]: 0-00 has zeros on one side only"),
        ("a,,b", "host a,,b: a name is missing beside , or !"),
        ("a,", "host a,: a name is missing beside , or !"),
        ("!", "host !: a name is missing beside , or !"),
        ("a,!b", "host a,!b: a name is missing beside , or !"),
        ("a!b", "host !b: excludes nothing that is named before it"),
        ("a!a", "a!a names no host at all"),
        ("@empty", "@empty names no host at all"),
        ("@lba", "unknown group @lba"),
        ("@loop", "group @loop contains itself: @loop → @pool → @loop"),
        ("@outer", "group @bad: host a b: a name can't contain a blank"),
        ("node[0-999999999]", "node[0-999999999] names 1 000 000 000 hosts; at most 4 096 are"),
        ("n[1-99][1-99]", "n[1-99][1-99] names 9 801 hosts; at most 4 096 are watched"),
    ],
)
def test_what_is_no_host(word: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        expand_hosts([word], GROUPS)
    assert caught.value.message.replace("\u2009", " ").replace("\u202f", " ").startswith(message)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["node[01-03,40]"], ["node01", "node02", "node03", "node40"]),
        (["node[40,1-2,40]"], ["node40", "node1", "node2"]),
        (["n[0-10/5]"], ["n0", "n5", "n10"]),
        (["n[098-101]x"], ["n098x", "n099x", "n100x", "n101x"]),
        (["r[1-2]n[1-2]"], ["r1n1", "r1n2", "r2n1", "r2n2"]),
        (["[1-2]"], ["1", "2"]),
        (["root@n[1-2]:2222"], ["root@n1:2222", "root@n2:2222"]),
        (["192.0.2.[7-8]"], ["192.0.2.7", "192.0.2.8"]),
        (["a", "b", "a"], ["a", "b"]),
        (["a,n[1,2],b"], ["a", "n1", "n2", "b"]),
        (["@lab!node02"], ["gpu-a", "root@node01:2222", "root@node03:2222"]),
        (["@lab", "!node[01-09]"], ["gpu-a"]),
        (["@lab!ana@node02"], None),
        (
            ["@all"],
            [f"root@node0{n}:2222" for n in (1, 2, 3)]
            + [f"rack{r}-n{n}" for r in (1, 2) for n in (0, 2, 4)],
        ),
        ([], []),
    ],
)
def test_expansion(words: list[str], expected: list[str] | None) -> None:
    if expected is None:
        with pytest.raises(UsageError, match="excludes nothing"):
            names(*words)
    else:
        assert names(*words) == expected


def test_a_word_may_name_the_most_hosts_and_no_more() -> None:
    assert len(names(f"n[1-{MAX_HOSTS}]")) == MAX_HOSTS
    with pytest.raises(UsageError, match="at most"):
        names(f"n[1-{MAX_HOSTS}]", "one-more")


def test_groups_of_groups_are_read_once_each() -> None:
    groups = {f"g{n}": [f"@g{n + 1}", f"@g{n + 1}"] for n in range(30)} | {"g30": ["a"]}
    assert [spec.name for spec in expand_hosts(["@g0"], groups)] == ["a"]
    deep = {f"g{n}": [f"@g{n + 1}"] for n in range(2000)} | {"g2000": ["a"]}
    with pytest.raises(UsageError, match="deep at most"):
        expand_hosts(["@g0"], deep)


def test_an_empty_group_has_no_members() -> None:
    assert group_members("empty", GROUPS) == ()
    assert len(group_members("lab", GROUPS)) == 4


def test_two_ssh_lines_to_one_host_must_agree() -> None:
    assert names("ssh -v gpu-a", "gpu-a") == ["gpu-a"]
    with pytest.raises(UsageError, match="named twice"):
        names("ssh -i ~/.ssh/lab gpu-a", "gpu-a")


def tried(word: str) -> tuple[tuple[HostSpec, ...], str]:
    try:
        return expand_hosts([word], GROUPS), ""
    except UsageError as error:
        return (), error.message


WORDS = st.one_of(
    st.text(max_size=40),
    st.text(alphabet="ab01-[]/,!@:.% ~'\"\\\n", max_size=30),
    st.text(alphabet="pilJoFNfLRD -=ab@:'\\", max_size=30).map("ssh ".__add__),
)


@given(WORDS)
@example("[:")
@example("ssh -")
@example("ssh '")
@example("\ud800")
def test_any_word_is_hosts_or_a_usage_error(word: str) -> None:
    found, message = tried(word)
    assert found or message
    assert message.isprintable()
    assert len(message) < 400
    for spec in found:
        assert isinstance(spec, HostSpec)
        assert spec.name.isprintable()
        assert not spec.address.startswith("-")
        assert not set(spec.name) & set(" \t;&|`$(){}<>*?!#~'\"\\,=/") or spec.name[:6] == "ssh://"


NUMBERS = st.integers(0, 200).flatmap(
    lambda number: st.integers(1, 4).map(lambda width: str(number).zfill(width))
)
NAMES = st.tuples(
    st.sampled_from(["node", "gpu-", "root@n", "r1-n", "192.0.2."]),
    NUMBERS,
    st.sampled_from(["", "-ib", ".example.com", ":2222"]),
).map("".join)


@given(st.lists(NAMES | st.sampled_from(["gpu-a", "2001:db8::7", "[2001:db8::7]:22"]), max_size=30))
def test_expanding_what_was_folded_gives_the_same_names(listed: list[str]) -> None:
    folded = fold(listed)
    specs = expand_hosts([folded]) if folded else ()
    assert {spec.name for spec in specs} == set(listed)


def test_folding() -> None:
    listed = ["gpu-a", "node01", "node02", "node10", "n1:2222", "n2:2222", "solo7"]
    assert fold(listed) == "gpu-a,node[01-02,10],n[1-2]:2222,solo7"
    assert fold([]) == ""
    assert expand_range("gpu-a") == ("gpu-a",)


def test_the_library_is_imported_only_for_a_bracket() -> None:
    code = (
        "import sys\n"
        "from gpudash.core.hostnames import expand_hosts\n"
        "expand_hosts(['local', 'root@gpu-a', '@lab'], {'lab': ['b']})\n"
        "print('ClusterShell' in sys.modules)\n"
        "expand_hosts(['n[1-2]'])\n"
        "print(*sorted(name for name in sys.modules if name.startswith(('ClusterS', 'yaml'))))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["False", "ClusterShell ClusterShell.RangeSet"]
