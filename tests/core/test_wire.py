"""The wire: any chunking, any bytes; nothing raises, nothing grows, nothing is guessed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gpudash.core.events import Ack, Bye, Fault, Garbled, Hello, ProbeEvent, Sample
from gpudash.core.model import GpuReading, Kind
from gpudash.core.wire import (
    MAX_LINE_BYTES,
    MAX_NOISE_BYTES,
    MAX_PARTS,
    PART_CHARS,
    READING_FIELDS,
    LineDecoder,
    encode_command,
    ending,
)
from tests.core.making import IDLE, TOKEN, gpu_fields, hello_fields, line, sample_fields

U64 = (1 << 64) - 1


def opened() -> LineDecoder:
    decoder = LineDecoder(TOKEN)
    assert decoder.feed(f"{TOKEN}\n".encode()) == []
    return decoder


def decoded(**fields: object) -> ProbeEvent:
    (event,) = opened().feed(line(**fields))
    return event


def reading_of(*values: object) -> GpuReading:
    event = decoded(**sample_fields(list(values)))
    assert isinstance(event, Sample), event
    return event.readings[0]


def with_item(place: int, value: object) -> list[object]:
    values: list[object] = list(IDLE)
    values[place] = value
    return values


# -- what is allowed ---------------------------------------------------------------------------


def test_hello() -> None:
    event = decoded(**hello_fields())
    assert isinstance(event, Hello)
    assert event.facts.uid == 0
    assert event.facts.boot_id == "b"
    assert not event.facts.is_simulated
    assert event.roster[0].uuid == "GPU-0"
    assert event.roster[0].power_limit_mw == 700000


def test_sample_in_the_order_of_its_fields() -> None:
    got = reading_of(*range(1, 9), [[41, 5, "CG"], [40, None, "M"]])
    assert (got.used_bytes, got.utilisation_pct, got.power_mw, got.temperature_c) == (1, 2, 3, 4)
    assert (got.sm_clock_mhz, got.throttle_bits, got.pstate, got.recovery_action) == (5, 6, 7, 8)
    assert got.processes is not None
    assert [(p.pid, p.used_bytes) for p in got.processes] == [(40, None), (41, 5)]
    assert got.processes[1].kinds == {Kind.COMPUTE, Kind.GRAPHICS}


@pytest.mark.parametrize("place", range(len(READING_FIELDS)))
def test_a_code_stands_in_place_of_a_value(place: int) -> None:
    got = reading_of(*with_item(place, {"e": 17}))
    assert got.codes == {17}
    assert (got.memory_code == 17) is (place == 0)
    assert (got.processes_code == 17) is (place == 8)
    if place == 0:
        assert got.used_bytes is None
    if place == 8:
        assert got.processes is None


def test_a_whole_reading_may_be_a_code() -> None:
    event = decoded(**sample_fields({"e": 15}))
    assert isinstance(event, Sample)
    got = event.readings[0]
    assert (got.used_bytes, got.processes, got.memory_code, got.codes) == (None, None, 15, {15})


def test_a_list_that_was_not_asked_for_is_unknown() -> None:
    assert reading_of(*with_item(8, None)).processes is None
    assert reading_of(*with_item(8, [])).processes == ()


def test_mig() -> None:
    slice_ = {"gi": 2, "ci": 0, "uuid": "MIG-1", "profile": "3g.71gb", "used": 5, "total": 9}
    got = reading_of(*IDLE, [slice_ | {"procs": [[7, 5, "C"]]}, slice_ | {"used": {"e": 4}}])
    assert got.mig[0].used_bytes == 5
    assert got.mig[0].processes is not None
    assert got.mig[1].used_bytes is None
    assert got.mig[1].fault_code == 4
    assert got.mig[1].processes is None


def test_ack_fault_bye() -> None:
    row = {"pid": 7, "start": 70, "uid": 0, "user": "root", "comm": "python", "argv": ["python"]}
    row |= {"state": "S", "age": 1.25, "up": [[5, 50, 0, "torchrun", ["torchrun", "x.py"]]]}
    event = decoded(t="ack", id=3, ok=True, processes=[row], gone=[8], more=True)
    assert isinstance(event, Ack)
    assert event.processes[0].ancestors[0].comm == "torchrun"
    assert event.gone == {8}
    assert not event.is_last
    assert decoded(t="ack", id=3, ok=False, error="no") == Ack(id=3, is_ok=False, error="no")
    assert decoded(t="bye", reason="done") == Bye(reason="done")
    fault = decoded(t="fault", call="nvmlInit", hung=3.0, gpu=None)
    assert fault == Fault(call="nvmlInit", code=None, hung_s=3.0)
    assert decoded(t="fault", call="c", code=9, fatal=True) == Fault(
        call="c", code=9, is_fatal=True
    )


# -- unknown is never zero ---------------------------------------------------------------------


@pytest.mark.parametrize("place", range(8))
def test_the_u64_sentinel_is_unknown(place: int) -> None:
    names = [field.name for field in dataclasses.fields(GpuReading)]
    assert getattr(reading_of(*with_item(place, U64)), names[place]) is None


def test_the_u64_sentinel_of_processes_and_totals_is_unknown() -> None:
    got = reading_of(*with_item(8, [[7, U64, "C"]]))
    assert got.processes is not None
    assert got.processes[0].used_bytes is None
    event = decoded(**hello_fields(roster=[gpu_fields(total=U64, reserved=U64, limit=U64)]))
    assert isinstance(event, Hello)
    info = event.roster[0]
    assert (info.total_bytes, info.reserved_bytes, info.power_limit_mw) == (None, None, None)


def test_impossible_utilisation_is_unknown() -> None:
    assert reading_of(*with_item(1, 101)).utilisation_pct is None


@pytest.mark.parametrize(
    "bad",
    [True, False, -1, 1.0, "0", None, [], 1 << 64, 10**30, {"e": 0}, {"e": True}, {"x": 1}, {}],
    ids=repr,
)
@pytest.mark.parametrize("place", range(8))
def test_a_wrong_type_garbles_the_line(place: int, bad: object) -> None:
    assert isinstance(decoded(**sample_fields(with_item(place, bad))), Garbled)


@pytest.mark.parametrize(
    "processes",
    [
        {},
        "x",
        [1],
        [[1, 2]],
        [[1, 2, ""]],
        [[1, 2, "X"]],
        [[True, 2, "C"]],
        [[1, True, "C"]],
        [[1, {"x": 1}, "C"]],
        [["1", 2, "C"]],
        [[1, 2, ["C"]]],
    ],
    ids=repr,
)
def test_a_wrong_process_list_garbles_the_line(processes: object) -> None:
    assert isinstance(decoded(**sample_fields(with_item(8, processes))), Garbled)


@pytest.mark.parametrize(
    "text",
    [
        '{"t":"sample","seq":1,"mono":NaN,"gpus":[]}',
        '{"t":"sample","seq":1,"mono":Infinity,"gpus":[]}',
        '{"t":"sample","seq":1,"mono":-1,"gpus":[]}',
        '{"t":"sample","seq":true,"mono":1,"gpus":[]}',
        '{"t":"sample","seq":1,"mono":true,"gpus":[]}',
        '{"t":"sample","seq":1,"mono":1}',
        '{"t":"sample","seq":1,"mono":1,"gpus":[[0,0,0]]}',
        '{"t":"sample","seq":1,"mono":1,"gpus":[NaN]}',
        '{"t":"sampl',
        '{"t":"nothing"}',
        '{"t":["a"]}',
        "[]",
        "0",
        "null",
        "",
        "\xff\xfe",
        "1" * 5000,
        "[" * 60000,
        '{"t":' * 10000,
    ],
    ids=lambda text: text[:24],
)
def test_what_is_no_line_is_garbled(text: str) -> None:
    (event,) = opened().feed(text.encode("latin-1") + b"\n")
    assert isinstance(event, Garbled)
    assert event.reason


@pytest.mark.parametrize(
    "changes",
    [
        {"v": 2},
        {"v": True},
        {"roster": {}},
        {"roster": [gpu_fields(index=True)]},
        {"roster": [gpu_fields(uuid=5)]},
        {"roster": [gpu_fields(total=1.5)]},
        {"interval": "1"},
        {"interval": 1e9},
        {"uid": -1},
        {"unsupported": [1]},
        {"source": None},
    ],
    ids=repr,
)
def test_a_wrong_hello_is_garbled(changes: dict[str, object]) -> None:
    assert isinstance(decoded(**hello_fields(**changes)), Garbled)


def test_no_text_of_a_line_steers_a_terminal() -> None:
    trick = "a\x1b[2J\u202eb\u200b\tc"
    lines = [
        line(t="bye", reason=trick),
        line(t="fault", call=trick, code=9, text=trick),
        line(**hello_fields(roster=[gpu_fields(name=trick, bus=trick, uuid=trick)], driver=trick)),
    ]
    bye, fault, hello = opened().feed(b"".join(lines))
    assert isinstance(bye, Bye)
    assert isinstance(fault, Fault)
    assert isinstance(hello, Hello)
    info = hello.roster[0]
    said = (bye.reason, fault.call, fault.text, info.name, info.bus_id, info.uuid)
    assert {*said, hello.facts.driver} == {"a[2Jb c"}


def test_lone_surrogates_never_come_in() -> None:
    (event,) = opened().feed(b'{"t":"bye","reason":"a\\ud800b"}\n')
    assert isinstance(event, Bye)
    assert event.reason == "a?b"


# -- noise, tokens, long lines -----------------------------------------------------------------


@pytest.mark.parametrize(
    "before",
    [b"", b"Welcome!\n\n", b"\x00\xff\n", b"user@host:~$ ", b"\r\n", b"x" * 200_000],
    ids=lambda noise: repr(noise[:12]),
)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("step", [1 << 30, 7, 4096])
def test_noise_before_the_token(before: bytes, newline: bytes, step: int) -> None:
    decoder = LineDecoder(TOKEN)
    stream = before + TOKEN.encode() + newline + line(t="bye", reason="done")
    got = [
        event
        for at in range(0, len(stream), step)
        for event in decoder.feed(stream[at : at + step])
    ]
    assert got == [Bye(reason="done")]


def test_lines_before_the_token_are_never_events() -> None:
    decoder = LineDecoder(TOKEN)
    assert decoder.feed(line(**sample_fields(IDLE))) == []
    assert not decoder.is_open


def test_endless_noise_is_hopeless() -> None:
    decoder = LineDecoder(TOKEN)
    for _ in range(20):
        decoder.feed(b"y" * 65536)
    assert decoder.is_hopeless
    quiet = LineDecoder(TOKEN)
    quiet.feed(b"y\n" * 100)
    assert not quiet.is_hopeless
    chatty = LineDecoder(TOKEN)
    for _ in range(MAX_NOISE_BYTES // 1000 + 1):
        chatty.feed(b"y" * 1000 + b"\n")
    assert chatty.is_hopeless


@pytest.mark.parametrize("step", [1 << 30, 65536, 1000])
def test_a_line_that_is_too_long_is_one_event_and_costs_nothing_else(step: int) -> None:
    decoder = opened()
    good = line(t="bye", reason="done")
    stream = good + b"[" + b"1," * 100_000 + b"1]\n" + good
    got = []
    for at in range(0, len(stream), step):
        got += decoder.feed(stream[at : at + step])
        assert len(decoder._rest) <= MAX_LINE_BYTES
    assert [type(event) for event in got] == [Bye, Garbled, Bye]


def test_the_longest_line_passes() -> None:
    pad = MAX_LINE_BYTES - len(line(t="bye", reason="")) + 1
    event = decoded(t="bye", reason="x" * pad)
    assert isinstance(event, Bye)
    assert isinstance(decoded(t="bye", reason="x" * (pad + 1)), Garbled)


# -- properties --------------------------------------------------------------------------------

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from([U64, {"e": 15}, "sample", "CG"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def mutated(fields: dict[str, object]) -> st.SearchStrategy[bytes]:
    """Lines like `fields` with one member replaced by anything."""
    return st.builds(
        lambda key, value: json.dumps(fields | {key: value}).encode(),
        st.sampled_from(sorted(fields)),
        json_values,
    )


slices = st.fixed_dictionaries(
    {"gi": json_values, "ci": st.just(0), "used": json_values, "total": json_values}
)
wire_lines = st.one_of(
    st.binary(max_size=60),
    st.builds(lambda value: json.dumps(value).encode(), json_values),
    mutated(hello_fields()),
    mutated(sample_fields(IDLE)),
    mutated({"t": "ack", "id": 1, "ok": True, "processes": [], "gone": []}),
    mutated({"t": "fault", "call": "c", "code": 9, "gpu": 1, "hung": None, "text": ""}),
    st.builds(
        lambda place, value: json.dumps(sample_fields(with_item(place, value))).encode(),
        st.integers(0, 8),
        json_values,
    ),
    st.builds(lambda slice_: json.dumps(sample_fields([*IDLE, [slice_]])).encode(), slices),
)
streams = st.lists(wire_lines, max_size=8).map(b"\n".join)
cuts = st.lists(st.integers(0, 500), max_size=12)


@given(streams, cuts)
@example(b'{"t":"bye","reason":"a"}\n', [1, 2, 3])
def test_chunking_does_not_matter(stream: bytes, cuts: list[int]) -> None:
    noisy = b"banner\n" + TOKEN.encode() + b"\n" + stream + b"\n"
    whole = LineDecoder(TOKEN).feed(noisy)
    decoder = LineDecoder(TOKEN)
    pieces = []
    ends = [*sorted(min(cut, len(noisy)) for cut in cuts), len(noisy)]
    start = 0
    for end in ends:
        pieces += decoder.feed(noisy[start:end])
        start = end
    assert pieces == whole


@given(st.lists(st.binary(max_size=300), max_size=20), st.booleans())
def test_any_bytes_are_survived(chunks: list[bytes], is_open: bool) -> None:
    decoder = opened() if is_open else LineDecoder(TOKEN)
    for chunk in chunks:
        for event in decoder.feed(chunk):
            check_types(event)
        assert len(decoder._rest) <= MAX_LINE_BYTES


@given(wire_lines)
@example(json.dumps(sample_fields(IDLE)).encode())
@example(json.dumps(hello_fields()).encode())
def test_what_comes_through_has_the_right_types(text: bytes) -> None:
    for event in opened().feed(text + b"\n"):
        check_types(event)


def check_types(event: ProbeEvent) -> None:
    """Every number in an event is what its field says: no bool, no float, no sentinel."""
    for text in texts(event):
        text.encode()
    if isinstance(event, Sample):
        for got in event.readings:
            check_reading(got)
    elif isinstance(event, Hello):
        for entry in event.roster:
            assert is_amount(entry.total_bytes)
            assert type(entry.index) is int
    elif isinstance(event, Ack):
        assert all(type(pid) is int and pid >= 0 for pid in event.gone)


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from texts(item)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from texts(getattr(value, field.name))


def check_reading(got: GpuReading) -> None:
    for field in dataclasses.fields(GpuReading):
        value = getattr(got, field.name)
        if field.name in ("processes", "mig", "codes", "doubt"):
            continue
        assert is_amount(value), field.name
    for processes in (got.processes, *(slice_.processes for slice_ in got.mig)):
        for row in processes or ():
            assert type(row.pid) is int
            assert is_amount(row.used_bytes)
            assert row.kinds <= set(Kind)
            assert row.kinds
    assert all(is_amount(slice_.used_bytes) for slice_ in got.mig)
    if got.used_bytes is not None:
        assert got.memory_code is None


def is_amount(value: object) -> bool:
    return value is None or (type(value) is int and 0 <= value < U64)


# -- the other direction, and how it ends ------------------------------------------------------


def test_a_command_is_one_line() -> None:
    text = encode_command(7, "process", pids=[1, 2])
    assert text.endswith(b"\n")
    assert text.count(b"\n") == 1
    assert json.loads(text) == {"id": 7, "do": "process", "pids": [1, 2]}


@pytest.mark.parametrize(
    ("status", "title"),
    [
        (97, "no python3"),
        (98, "probe cut off"),
        (99, "probe failed"),
        (126, "python3 can't run"),
        (127, "no python3"),
        (137, "probe killed"),
        (-9, "probe killed"),
        (-15, "probe ended"),
        (255, "link failed"),
        (3, "probe ended"),
        (0, "probe ended"),
    ],
)
def test_endings(status: int, title: str) -> None:
    assert ending(status)[0] == title


# -- long commands -----------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 1000, 20_000, 120_000])
def test_a_long_command_goes_in_parts_that_each_fit(count: int) -> None:
    numbers = list(range(10_000_000, 10_000_000 + count))
    text = 'a "quoted" \\ line\n' * 3
    data = encode_command(7, "leavings", pids=numbers, text=text)
    lines = data.splitlines(keepends=True)
    assert all(len(line) <= MAX_LINE_BYTES for line in lines)
    values = [json.loads(line) for line in lines]
    if len(values) > 1:
        assert [(one["do"], one["n"], one["of"]) for one in values] == [
            ("part", number, len(values)) for number in range(len(values))
        ]
        values = [json.loads("".join(one["text"] for one in values))]
    assert values == [{"id": 7, "do": "leavings", "pids": numbers, "text": text}]


def test_a_command_that_is_too_long_is_none() -> None:
    with pytest.raises(ValueError, match="no command"):
        encode_command(7, "leavings", text="x" * (MAX_PARTS * PART_CHARS + 1))
