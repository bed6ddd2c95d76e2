"""What travels, and the cache of it: never trusted unless nobody else can have written it."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path

import pytest

from gpudash.config.folders import cache_folder
from gpudash.sources import shipping
from gpudash.sources.oneshot import ended_problem
from tests.fake_driver import FakeDriver
from tests.probe.running import Program


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "gpudash"


def kept(cache: Path) -> Path:
    (file,) = cache.iterdir()
    return file


def test_a_payload_is_kept_and_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = shipping.sampler_payload()
    assert kept(cache).stat().st_mode & 0o777 == 0o600
    assert cache.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(shipping, "cut_or_whole", lambda text: pytest.fail("cut again"))
    assert shipping.sampler_payload() == first
    document = json.loads(first)
    assert [name for name, _ in document["modules"]] == ["pynvml", *shipping.SAMPLER_MODULES]


def test_a_change_of_ours_makes_another(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = shipping.sampler_payload()
    real = shipping.source_of
    monkeypatch.setattr(shipping, "source_of", lambda name: real(name) + "\n# changed\n")
    assert shipping.sampler_payload() != first
    assert len(list(cache.iterdir())) == 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: b"",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace(b"nvmlInit", b"evilInit"),
        lambda text: b"00000000\n" + text[9:],
        lambda text: text + b" ",
    ],
)
def test_a_damaged_cache_is_made_anew(cache: Path, damage: object) -> None:
    first = shipping.sampler_payload()
    file = kept(cache)
    file.write_bytes(damage(file.read_bytes()))  # type: ignore[operator]
    assert shipping.sampler_payload() == first
    assert shipping._unsealed(file.read_bytes()) == first


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_cache_that_others_can_write_is_not_used(cache: Path, mode: int) -> None:
    shipping.sampler_payload()
    file = kept(cache)
    file.chmod(mode)
    assert shipping.read_private(str(file)) is None


def test_a_cache_of_somebody_else_is_not_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shipping.sampler_payload()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert shipping.read_private(str(kept(cache))) is None


def test_nothing_is_written_into_a_folder_of_somebody_else(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert shipping.sampler_payload()
    assert list(cache.iterdir()) == []


def test_a_link_is_not_followed(cache: Path, tmp_path: Path) -> None:
    first = shipping.sampler_payload()
    file = kept(cache)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(shipping._sealed(b'{"evil":1}'))
    file.unlink()
    file.symlink_to(elsewhere)
    assert shipping.sampler_payload() == first
    assert not file.is_symlink()


def test_a_cache_that_can_not_be_written_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert shipping.sampler_payload()


def test_a_full_disk_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(old: str, new: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", replace)
    assert shipping.sampler_payload()
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_cache_variable_is_none(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", value)
    monkeypatch.setenv("HOME", "/home/user")
    assert cache_folder() == "/home/user/.cache/gpudash"


def test_the_cache_folder_is_that_of_platformdirs(monkeypatch: pytest.MonkeyPatch) -> None:
    from platformdirs import user_cache_dir

    for value in ("/somewhere", ""):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_folder() == user_cache_dir("gpudash", appauthor=False)


def test_no_binding_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipping.PathFinder, "find_spec", lambda *words: None)
    with pytest.raises(FileNotFoundError, match="nvidia-ml-py"):
        shipping.binding_path()


def test_what_goes_down_stdin() -> None:
    packed = shipping.with_options(b'{"a":1}', b'{"token":"t"}')
    assert int(packed[:8]) == len(packed) - 8
    program = zlib.decompress(
        shipping.with_options(
            b'{"a":1,"bootstrap":"def start(document): global seen; seen = document"}',
            b'{"token":"t"}',
        )[8:]
    )
    names: dict[str, object] = {}
    exec(program, names)
    bootstrap = names["b"]
    assert isinstance(bootstrap, dict)
    assert bootstrap["seen"]["a"] == 1
    assert bootstrap["seen"]["options"] == {"token": "t"}


def test_all_of_it_fits_into_an_empty_pipe() -> None:
    """A host that does not read yet keeps nobody waiting."""
    for document in (shipping.sampler_payload(), shipping.hand_payload()):
        assert len(shipping.with_options(document, b"{}")) < 65536 * 3 / 4


def test_the_shipped_payload_runs(fake_driver: FakeDriver, cache: Path) -> None:
    for _ in range(2):
        document = shipping.sampler_payload()
        with Program(document, fake_driver.env(), once=True) as program:
            assert [line["t"] for line in program.to_end()] == ["hello", "sample", "bye"]


def test_the_hand_does_not_travel_with_the_sampler() -> None:
    sampler = {name for name, _ in json.loads(shipping.sampler_payload())["modules"]}
    hand = {name for name, _ in json.loads(shipping.hand_payload())["modules"]}
    assert sampler & hand == {"gpudash.probe.line"}


def test_last_words_of_a_probe_steer_no_terminal() -> None:
    problem = ended_problem(99, "one \x1b[2Jline\r\n\n\u202eand another\n")
    assert problem.detail == "one [2Jline\nand another"
