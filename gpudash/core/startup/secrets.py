"""Mask secrets before a line or a command is shown in a report or stored."""

from __future__ import annotations

import re

MASK = "****"
_PATTERNS = (
    (re.compile(r"\bhf_[A-Za-z0-9]{8,}"), MASK),
    (re.compile(r"\bsk-[A-Za-z0-9_\-]{8,}"), MASK),
    (re.compile(r"\b(?:ghp|gho|ghs|glpat|xox[abp])[_-][A-Za-z0-9_\-]{8,}"), MASK),
    (re.compile(r"\b(Bearer|Basic) +[A-Za-z0-9._~+/=\-]{6,}", re.IGNORECASE), rf"\1 {MASK}"),
    (
        re.compile(
            r"""((?:api[_-]?key|secret[_-]?key|access[_-]?key|auth[_-]?token|hf[_-]?token|"""
            r"""[A-Za-z0-9_]*(?:_TOKEN|_SECRET|_PASSWORD|_API_KEY)|token|password|passwd)"""
            r"""(?:['"]?\s*[=:]\s*|['"]\s+))(?!None\b|null\b|'')(['"]?)[^\s'",)}&]{4,}\2""",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (
        # Behind a blank only what is an option's value: `token usage` is no secret.
        re.compile(
            r"""(--?[\w-]*(?:key|token|secret|password|passwd)\s+)(?!-)(['"]?)[^\s'",)}&]{4,}\2""",
            re.IGNORECASE,
        ),
        rf"\1{MASK}",
    ),
    (re.compile(r"(://[^\s:/@]+:)[^\s@/]+@"), rf"\1{MASK}@"),
)
_SIGNS = (
    "hf_", "sk-", "ghp", "gho", "ghs", "glpat", "xox", "bearer", "basic", "key", "token", "secret",
    "passw", "@",
)  # fmt: skip


def masked(text: str) -> str:
    """Return text without what looks like a key, a token or a password."""
    lowered = text.lower()
    if not any(sign in lowered for sign in _SIGNS):
        return text
    for pattern, put in _PATTERNS:
        text = pattern.sub(put, text)
    return text
