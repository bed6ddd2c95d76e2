"""The store of baselines: written whole or not at all, damaged is no empty one."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from gpudash.config import baselines as store
from gpudash.config.baselines import change, load_baselines, read_entries
from gpudash.core.acceptance import joined
from gpudash.core.baselines import NO_BASELINES, Baseline
from gpudash.core.errors import ConfigError


def entry(uuid: str = "GPU-1", driver: str = "580.1", used: int = 5) -> Baseline:
    return Baseline(
        uuid=uuid, driver=driver, used_bytes=used, accepted_at="2026-11-29T12:00:00Z", host="a"
    )


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "baselines.json")


def test_what_was_accepted_counts_from_then_on(path: str) -> None:
    assert load_baselines(path) == NO_BASELINES
    written = change(path, lambda known: joined(known, (entry(), entry("GPU-2"))))
    assert read_entries(path) == written == (entry(), entry("GPU-2"))
    found = load_baselines(path)
    assert found.accepted_bytes("GPU-1", "580.1") == 5
    assert found.accepted_bytes("GPU-1", "580.2") is None
    assert found.accepted_bytes("GPU-3", "580.1") is None
    assert load_baselines(path, is_strict=True).is_strict
    assert Path(path).stat().st_mode & 0o777 == 0o600
    assert Path(path).parent.stat().st_mode & 0o777 == 0o700
    assert {item.name for item in Path(path).parent.iterdir()} == {
        "baselines.json",
        "baselines.json.lock",
    }


def test_a_new_reading_replaces_the_old_of_the_same_driver(path: str) -> None:
    change(path, lambda known: joined(known, (entry(used=5), entry(driver="570.1"))))
    change(path, lambda known: joined(known, (entry(used=7),)))
    assert read_entries(path) == (entry(driver="570.1"), entry(used=7))


def test_the_configuration_may_forbid_them(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change(path, lambda known: (entry(),))
    monkeypatch.setenv("GPUDASH_BASELINES", "false")
    assert load_baselines(path) == NO_BASELINES
    assert read_entries(path) == (entry(),)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"schema":"gpudash.baselines/2","baselines":[]}',
        '{"schema":"gpudash.baselines/1"}',
        '{"schema":"gpudash.baselines/1","baselines":[{}]}',
        *(
            json.dumps(
                {
                    "schema": "gpudash.baselines/1",
                    "baselines": [
                        {
                            "uuid": "GPU-1",
                            "driver": "580.1",
                            "used_bytes": 5,
                            "accepted_at": "",
                            "host": "a",
                        }
                        | wrong
                    ],
                }
            )
            for wrong in (
                {"used_bytes": 0},
                {"used_bytes": -1},
                {"used_bytes": True},
                {"used_bytes": 1.5},
                {"uuid": None},
                {"host": "\x1b[31m"},
            )
        ),
    ],
)
def test_what_is_damaged_is_no_empty_store(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True)
    Path(path).write_text(text)
    with pytest.raises(ConfigError, match="can't be read as accepted baselines"):
        load_baselines(path)
    with pytest.raises(ConfigError):
        change(path, lambda known: (entry(),))
    assert Path(path).read_text() == text


def test_a_step_that_fails_leaves_the_file(path: str) -> None:
    change(path, lambda known: (entry(),))
    before = Path(path).read_bytes()
    with pytest.raises(ZeroDivisionError):
        change(path, lambda known: (entry(used=1 // 0),))
    assert Path(path).read_bytes() == before


def test_two_at_once_lose_nothing(path: str) -> None:
    def accept(number: int) -> None:
        change(path, lambda known: joined(known, (entry(f"GPU-{number}"),)))

    threads = [threading.Thread(target=accept, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {one.uuid for one in read_entries(path)} == {f"GPU-{number}" for number in range(8)}


def test_a_lock_that_is_held_is_said(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "LOCK_S", 0.0)

    def inside(known: tuple[Baseline, ...]) -> tuple[Baseline, ...]:
        with pytest.raises(ConfigError, match="another gpudash"):
            change(path, lambda other: (entry("GPU-9"),))
        return (entry(),)

    assert change(path, inside) == (entry(),)
