"""What is copied and kept: only what is shown, as it stands, and marked where it is made up."""

from __future__ import annotations

import json
from dataclasses import replace

from gpudash.core.families import holders
from gpudash.core.model import Fleet
from gpudash.core.telling import HEAD, SIMULATED, Told, document, told_table
from gpudash.core.verify import judge_host
from tests.ui import fleets


def told(fleet: Fleet) -> Told:
    return Told(fleet, judge_host, lambda host: holders(host, fleet.letters), fleets.NOW)


def test_one_gpu_is_a_line() -> None:
    text = told_table(told(fleets.busy()), [("root@gpu-a", 5)])
    assert "\n" not in text
    assert text.startswith("root@gpu-a  5  74.6 GiB  95.6 GiB  ")
    assert "sglang" in text
    assert "notebook ipykernel, pid 5050, ana, 3.4 GiB, since 4h 56m" in text


def test_several_are_a_table_with_a_head() -> None:
    lines = told_table(told(fleets.three_hosts()), [("root@gpu-a", 0), ("root@gpu-c", 5)]).split(
        "\n"
    )
    assert lines[0].split() == list(HEAD)
    assert len(lines) == 3
    assert lines[2].startswith("root@gpu-c  5    ?")
    assert "UNKNOWN" in lines[2]
    assert "lost" in lines[2]
    assert lines[0].index("verdict") == lines[1].index("HELD") == lines[2].index("UNKNOWN")


def test_old_values_say_so() -> None:
    text = told_table(told(fleets.three_hosts()), [("root@gpu-b", 0)])
    assert "UNKNOWN (old values)" in text


def test_nothing_is_nothing() -> None:
    assert told_table(told(fleets.busy()), []) == ""


def test_what_is_made_up_says_so() -> None:
    (host,) = fleets.busy().hosts
    made_up = replace(host, is_invented=True)
    fleet = Fleet(hosts=(made_up,))
    assert told_table(told(fleet), [(host.name, 0)]).split("\n")[0] == SIMULATED
    both = Fleet(hosts=(made_up, replace(host, name="gpu-z")))
    assert told_table(told(both), [("gpu-z", 0)]).split("\n")[0] == "SIMULATED: root@gpu-a"
    assert document(told(both), [("gpu-z", None)], recorded_at="")["simulated"] is True


def test_names_steer_no_terminal() -> None:
    (host,) = fleets.busy().hosts
    bad = replace(host, name="a\x1b]52;c;x\x07\u202eb\nc")
    text = told_table(told(Fleet(hosts=(bad,))), [(bad.name, 0)])
    assert text.isprintable()


def test_the_document_has_what_is_shown_and_no_more() -> None:
    fleet = fleets.three_hosts()
    found = document(
        told(fleet),
        [("root@gpu-c", (0, 5)), ("root@gpu-b", None)],
        recorded_at="2026-01-01T00:00:00Z",
        chosen="vllm",
        sort="by name",
    )
    found = json.loads(json.dumps(found))
    assert found["schema"] == "gpudash.screen/1"
    assert (found["filter"], found["sort"], found["hosts_watched"]) == ("vllm", "by name", 3)
    first, second = found["hosts"]
    assert (first["name"], first["verdict"], first["gpus_listed"]) == ("root@gpu-c", "UNKNOWN", 8)
    assert [gpu["index"] for gpu in first["gpus"]] == [0, 5]
    assert first["gpus"][1]["used_bytes"] is None
    assert first["gpus"][1]["state"] == "lost"
    assert (second["link"], second["verdict"]) == ("stale", "UNKNOWN")
    assert len(second["gpus"]) == 8
    assert second["holders"][0]["gpus"][0]["used_bytes"] > 0
