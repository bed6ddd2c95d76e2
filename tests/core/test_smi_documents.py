"""Documents of `nvidia-smi -q -x`: whole, several, cut, broken and hostile."""

from __future__ import annotations

import pytest

from gpudash.core.model import Host, Link
from gpudash.core.smi.documents import IllFormedError, parse_document, split_documents
from gpudash.core.units import MIB
from gpudash.core.verify import judge_host
from tests.core.smi_answer import read_text


def clear(host: Host) -> str:
    return judge_host(host).clear.value


def document(inner: str = "", used: str = "0 MiB", head: str = "") -> str:
    return (
        f'<?xml version="1.0" ?>\n{head}<nvidia_smi_log><attached_gpus>1</attached_gpus>'
        '<gpu id="00000000:01:00.0"><uuid>GPU-00000000-0000</uuid><fb_memory_usage>'
        f"<total>100 MiB</total><used>{used}</used></fb_memory_usage>{inner}</gpu>"
        "</nvidia_smi_log>\n"
    )


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (document(), "yes"),
        (document() + document(used="9 MiB"), "no"),
        (document(used="9 MiB") + document(), "yes"),
        (document() + document()[:80], "unknown"),
        (document() + document("</oops>"), "unknown"),
        (document(used="9 MiB") + document()[:80], "no"),
        (document("<performance_state>GPU is lost</performance_state>"), "unknown"),
        (document("<a><b>GPU requires reset</b></a>"), "unknown"),
        (document("<gpu_recovery_action>Reset</gpu_recovery_action>"), "unknown"),
        (document("<gpu_recovery_action>None</gpu_recovery_action>"), "yes"),
        (document("<processes>N/A</processes>"), "yes"),
        (document().replace(">1<", ">2<"), "unknown"),
        (document(head='<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">\n'), "yes"),
        (document(head='<!DOCTYPE x [<!ENTITY a "0 MiB">]>\n', used="&a;"), "unknown"),
        (document()[:-5], "unknown"),
        ("Failed to initialize NVML: Unknown Error\n", "unknown"),
        ("<nvidia_smi_log></nvidia_smi_log>", "unknown"),
    ],
)
def test_documents(text: str, wanted: str) -> None:
    assert clear(read_text(text, query="-q -x")) == wanted


@pytest.mark.parametrize(
    ("element", "processes", "code"),
    [
        ("", None, None),
        ("<processes/>", (), None),
        ("<processes>N/A</processes>", None, 3),
        ("<processes>Insufficient Permissions</processes>", None, 4),
    ],
)
def test_three_answers_about_processes(
    element: str, processes: tuple[object, ...] | None, code: int | None
) -> None:
    (gpu,) = parse_document(document(element)).gpus
    assert (gpu.reading.processes, gpu.reading.processes_code) == (processes, code)


def test_memory_of_a_gpu_instance_counts_once() -> None:
    device = (
        "<mig_device><gpu_instance_id>2</gpu_instance_id><compute_instance_id>{}"
        "</compute_instance_id><fb_memory_usage><total>50 MiB</total><used>17 MiB</used>"
        "</fb_memory_usage></mig_device>"
    )
    inner = f"<mig_devices>{device.format(0)}{device.format(1)}</mig_devices>"
    host = read_text(document(inner, used="N/A"), query="-q -x")
    assert clear(host) == "no"
    verdict = judge_host(host).gpus[0]
    assert verdict.gpu.reading is not None
    assert [slice_.used_bytes for slice_ in verdict.gpu.reading.mig] == [17 * MIB] * 2


@pytest.mark.parametrize(
    "text",
    [
        "<a>" * 100 + "</a>" * 100,
        '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
        '<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>',
        "<a>&undefined;</a>",
        "<a>" + " " * (8 << 20) + "</a>",
        "",
    ],
)
def test_hostile_documents(text: str) -> None:
    with pytest.raises(IllFormedError):
        parse_document(text)


def test_split_documents() -> None:
    parts = split_documents("noise\n" + document() + document() + "<?xml")
    assert len(parts.whole) == 2
    assert parts.whole[0].startswith("<?xml")
    assert parts.is_cut
    assert not split_documents("just text").is_cut


def test_a_cut_document_alone_is_a_cut() -> None:
    host = read_text(document()[:100], query="-q -x", at_end="eof")
    assert host.link is Link.DOWN
    assert host.problem is not None
    assert host.problem.title == "answer cut off"
