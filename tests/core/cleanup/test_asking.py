"""What managers are asked, and what their answers mean: no answer is never `nobody`."""

from __future__ import annotations

import pytest

from gpudash.core.cleanup.asking import facts_of, words_for
from gpudash.core.holding import ManagerKind
from gpudash.probe.asking import is_question

UNIT = (ManagerKind.UNIT, "ollama.service")
CONTAINER = (ManagerKind.DOCKER, "0123456789ab" + "0" * 52)
JOB = (ManagerKind.SLURM, "4711")
POD = (ManagerKind.KUBERNETES, "0a1b-2c")
PROGRAM = (ManagerKind.SUPERVISOR, "supervisord llm:vllm")
ALL = (UNIT, (ManagerKind.USER_UNIT, "a.service"), CONTAINER, JOB, POD, PROGRAM)


@pytest.mark.parametrize("question", ALL)
def test_the_hand_asks_what_core_asks(question: tuple[ManagerKind, str]) -> None:
    assert is_question(list(words_for(question)))


@pytest.mark.parametrize(
    "words",
    [
        ["systemctl", "stop", "a.service"],
        ["docker", "rm", "-f", "x"],
        ["sh", "-c", "true"],
        ["squeue"],
        ["docker", 5],
        "docker inspect",
        [],
    ],
)
def test_the_hand_asks_nothing_else(words: object) -> None:
    assert not is_question(words)


def test_a_supervisor_without_a_name_is_not_asked() -> None:
    assert words_for((ManagerKind.SUPERVISOR, "supervisord pid 77")) == ()
    assert words_for((ManagerKind.SUPERVISOR, "runit /etc/sv/x")) == ()


@pytest.mark.parametrize("question", ALL)
@pytest.mark.parametrize("code", [None, 126, 127])
def test_who_can_not_be_asked_says_nothing(
    question: tuple[ManagerKind, str], code: int | None
) -> None:
    assert facts_of(question, code, "") is None


def test_a_unit() -> None:
    text = "Restart=always\nTimeoutStopUSec=1min 30s\nLoadState=loaded\nActiveState=active\n"
    facts = facts_of(UNIT, 0, text)
    assert facts is not None
    assert (facts.is_known, facts.restarts, facts.stop_timeout_s) == (True, True, 90.0)
    gone = facts_of(UNIT, 0, "Restart=no\nLoadState=not-found\nActiveState=inactive\n")
    assert gone is not None
    assert not gone.is_known
    endless = facts_of(UNIT, 0, text.replace("1min 30s", "infinity").replace("always", "no"))
    assert endless is not None
    assert (endless.restarts, endless.stop_timeout_s) == (False, None)


@pytest.mark.parametrize("text", ["", "System has not been booted with systemd\n"])
def test_no_systemd_is_no_answer(text: str) -> None:
    assert facts_of(UNIT, 0, text) is None
    assert facts_of(UNIT, 1, text) is None


def test_a_container() -> None:
    facts = facts_of(CONTAINER, 0, '"/vllm-0" true "unless-stopped" 30\n')
    assert facts is not None
    assert (facts.is_known, facts.restarts, facts.stop_timeout_s) == (True, True, 30.0)
    assert facts.name == "vllm-0"
    plain = facts_of(CONTAINER, 0, '"/job" true "no" null\n')
    assert plain is not None
    assert (plain.restarts, plain.stop_timeout_s) == (False, None)
    gone = facts_of(CONTAINER, 1, "[]\nError: No such object: 0123")
    assert gone is not None
    assert not gone.is_known
    for text in ("", "[]", "[]\nCannot connect to the Docker daemon. Is it running?"):
        assert facts_of(CONTAINER, 1, text) is None
    assert facts_of(CONTAINER, 0, "nonsense") is None


def test_a_job_and_a_pod_and_a_program() -> None:
    running = facts_of(JOB, 0, "RUNNING")
    assert running is not None
    assert running.is_known
    over = facts_of(JOB, 1, "slurm_load_jobs error: Invalid job id specified")
    assert over is not None
    assert not over.is_known
    assert facts_of(JOB, 1, "") is None
    assert facts_of(JOB, 1, "slurm_load_jobs error: connection refused") is None
    pod = facts_of(POD, 0, '{"items":[{"metadata":{"namespace":"llm","name":"vllm-0"}}]}')
    assert pod is not None
    assert pod.name == "llm/vllm-0"
    assert facts_of(POD, 0, "{") is None
    program = facts_of(PROGRAM, 0, "llm:vllm RUNNING pid 5, uptime 0:01")
    assert program is not None
    assert program.restarts
