"""Secrets in environments: the same rules here and on the host, and nothing well-known gets out."""

from __future__ import annotations

import importlib
import re
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpudash.core import masking

PROBE: ModuleType = importlib.import_module("gpudash.probe.masking")
RULES = [name for name, value in vars(masking).items() if isinstance(value, re.Pattern)]
SECRET = "s3cr3tv4lu3s3cr3t"
PIECES = st.sampled_from(
    [
        *(
            "HF",
            "TOKEN",
            "API",
            "KEY",
            "_",
            "-",
            ".",
            "SECRET",
            "PASSWORD",
            "TOKENIZERS",
            "PWD",
            "AWS",
        ),
        *(
            "https://u:",
            SECRET,
            "@h/x",
            "hf_",
            "sk-",
            "Authorization: Bearer ",
            "=",
            " ",
            "é",
            "\n",
        ),
    ]
)
TEXTS = st.lists(PIECES, max_size=6).map("".join)


def test_the_rules_are_the_same_on_both_sides() -> None:
    assert len(RULES) >= 7
    for name in RULES:
        ours, theirs = getattr(masking, name), getattr(PROBE, name)
        assert (ours.pattern, ours.flags) == (theirs.pattern, theirs.flags), name
    assert masking.MASK == PROBE.MASK


@given(TEXTS, TEXTS)
def test_both_sides_do_the_same(name: str, value: str) -> None:
    assert masking.masked_variable(name, value) == PROBE.masked_variable(name, value)


@pytest.mark.parametrize(
    "name",
    [
        *("HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_TOKEN_2", "DB_PASSWORD_PROD"),
        *("GOOGLE_CREDENTIALS_JSON", "SESSION_COOKIE", "TOKENS", "apikey", "PRIVATE_KEY_PEM"),
        *("OPENAI_API_KEY", "NGC_CLI_API_KEY", "GITHUB_AUTH", "secret", "PGPASSWORD_OLD_SECRET"),
    ],
)
def test_a_secret_by_its_name(name: str) -> None:
    assert masking.masked_variable(name, SECRET) == masking.MASK
    assert masking.masked_variable(name, "") == ""


@pytest.mark.parametrize(
    "value",
    [
        f"postgres://ana:{SECRET}@192.0.2.1/runs",
        f"-H Authorization: Bearer {SECRET}",
        f"hf_{SECRET}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}",
    ],
)
def test_a_secret_by_its_look(value: str) -> None:
    assert SECRET not in masking.masked_variable("EXTRA", value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PWD", "/root"),
        ("OLDPWD", "/root"),
        ("PATH", "/usr/bin:/bin"),
        ("TOKENIZERS_PARALLELISM", "false"),
        ("KEYBOARD", "us"),
        ("SSH_AUTH_SOCK", "/tmp/agent"),
        ("CUDA_VISIBLE_DEVICES", "0,1"),
        ("NCCL_DEBUG", "INFO"),
    ],
)
def test_what_helps_is_left(name: str, value: str) -> None:
    assert masking.masked_variable(name, value) == value
