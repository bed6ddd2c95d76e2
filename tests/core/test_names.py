"""What processes are called, by how frameworks really name and arrange them."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core.names import clean_text, printable, printable_lines, process_label
from tests.core.making import info

PY = "/usr/bin/python3"


@pytest.mark.parametrize(
    ("comm", "argv", "name", "detail"),
    [
        # Titles set by the frameworks.
        ("VLLM::EngineCor", ("VLLM::EngineCore",), "vllm", "EngineCore"),
        ("VLLM::EngineCor", ("VLLM::EngineCore_DP1",), "vllm", "EngineCore DP1"),
        ("VLLM::Worker_TP", ("VLLM::Worker_TP3",), "vllm", "Worker TP3"),
        ("VLLM::Worker", ("VLLM::Worker_DP0_PP1_TP2_EP3",), "vllm", "Worker DP0 PP1 TP2 EP3"),
        ("VLLM::APIServer", ("VLLM::APIServer_0",), "vllm", "APIServer 0"),
        ("sglang::schedul", ("sglang::scheduler_TP0",), "sglang", "scheduler TP0"),
        ("sglang::schedul", ("sglang::scheduler",), "sglang", "scheduler"),
        ("sglang::detoken", ("sglang::detokenizer",), "sglang", "detokenizer"),
        ("ray::IDLE", ("ray::IDLE",), "ray", "IDLE"),
        ("ray::train_func", ("ray::train_func",), "ray", "train func"),
        ("ray::RayWorkerW", ("ray::RayWorkerWrapper.execute_method",), "ray", None),
        ("sgl_diffusion::", ("sgl_diffusion::scheduler_TP1",), "sgl_diffusion", "scheduler TP1"),
        # Servers.
        ("vllm", (PY, "/usr/local/bin/vllm", "serve", "meta/Llama-3"), "vllm", "Llama-3"),
        (
            "vllm",
            (PY, "/opt/venv/bin/vllm", "serve", "meta/Llama-3", "-tp", "8", "--port=8001"),
            "vllm",
            "Llama-3 TP8 :8001",
        ),
        (
            "python3",
            (PY, "-m", "vllm.entrypoints.openai.api_server", "--model", "/models/qwen/"),
            "vllm",
            "qwen",
        ),
        (
            "python3",
            (PY, "-m", "sglang.launch_server", "--model-path", "Qwen/Q3", "--tp-size", "4"),
            "sglang",
            "Q3 TP4",
        ),
        ("python3", (PY, "/v/bin/sglang", "serve", "--model-path", "a/b"), "sglang", "b"),
        ("trtllm-serve", (PY, "/v/bin/trtllm-serve", "serve", "a/b"), "trtllm-serve", "b"),
        ("python3", (PY, "-m", "mpi4py.futures.server"), "trtllm", ""),
        (
            "llama-server",
            ("/opt/llama-server", "-m", "/m/q8.gguf", "--port", "80"),
            "llama-server",
            "q8.gguf :80",
        ),
        ("ollama", ("/usr/bin/ollama", "serve"), "ollama", ""),
        ("tritonserver", ("tritonserver", "--exit-timeout-secs=3"), "tritonserver", ""),
        # Launchers and training.
        ("torchrun", (PY, "/v/bin/torchrun", "--nproc", "8", "train.py"), "torchrun", "train.py"),
        ("python3", (PY, "-m", "torch.distributed.run", "a/train.py"), "torchrun", "train.py"),
        ("accelerate", (PY, "/v/bin/accelerate", "launch", "t.py"), "accelerate", "t.py"),
        ("python", (PY, "-u", "-m", "deepspeed.launcher.launch", "x.py"), "deepspeed", "x.py"),
        ("pt_main_thread", ("python3.11", "-u", "/home/ana/train.py"), "train.py", ""),
        ("python", ("python", "-W", "ignore", "-X", "dev", "train.py"), "train.py", ""),
        ("python", ("/opt/pypy3", "train.py"), "train.py", ""),
        ("python3", (PY, "-c", "from multiprocessing.spawn import spawn_main"), "python", "-c"),
        ("python3", (PY,), "python", ""),
        ("my_title", (PY,), "my_title", ""),
        (
            "ipykernel",
            (PY, "-m", "ipykernel_launcher", "-f", "k.json"),
            "notebook",
            "ipykernel",
        ),
        ("python3", (PY, "/v/ipykernel_launcher.py", "-f", "k"), "notebook", "ipykernel"),
        # Bare and odd.
        ("nvtop", ("nvtop",), "nvtop", ""),
        ("zombie", (), "zombie", ""),
        ("zombie", ("",), "zombie", ""),
        ("", (), "?", ""),
        ("bash", ("-bash",), "bash", ""),
    ],
)
def test_labels(comm: str, argv: tuple[str, ...], name: str, detail: str | None) -> None:
    label = process_label(info(7, comm, argv=argv))
    assert label.name == name
    if detail is not None:
        assert label.detail == detail


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("plain", "plain"),
        ("a\nb\tc", "a b c"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("a\u202eb\u200bc\u2066", "abc"),
        ("\ud800x", "x"),
        ("  x  ", "x"),
        ("日本", "日本"),
        ("x" * 500, "x" * 200),
    ],
)
def test_clean_text(text: str, clean: str) -> None:
    assert clean_text(text) == clean


@given(st.text(), st.integers(0, 50))
def test_clean_text_is_printable_and_bounded(text: str, limit: int) -> None:
    clean = clean_text(text, limit)
    assert len(clean) <= limit
    assert all(unicodedata.category(char)[0] != "C" for char in clean)
    assert clean_text(clean, limit) == clean


@given(st.text(max_size=15), st.lists(st.text(max_size=30), max_size=6))
def test_any_process_has_a_name_of_one_clean_line(comm: str, argv: list[str]) -> None:
    label = process_label(info(7, comm, argv=tuple(argv)))
    assert label.name
    for text in (label.name, label.detail):
        assert all(unicodedata.category(char)[0] != "C" for char in text)


TRICKS = "\x1b[31m\u202e\u200b\ufeff\x07\x9b"


@given(st.text())
def test_what_is_printable_stays_and_nothing_else(text: str) -> None:
    found = printable(text)
    assert found.isprintable() or any(unicodedata.category(char) == "Zs" for char in found)
    assert all(unicodedata.category(char)[0] != "C" for char in found)
    if text.isprintable():
        assert found is text


def test_tricks_are_taken_out_of_lines() -> None:
    assert printable(f"a{TRICKS}b\nc\u2028d") == "a[31mb c d"
    assert printable_lines(f"one{TRICKS}\r\n\n  two\n") == "one[31m\n  two"
