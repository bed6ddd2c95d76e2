"""Accounts that ran out: sshd, PAM and nologin say so in words, and end with no code of their own.

Sources of the words: pam_unix (`Your account has expired`), OpenSSH's session.c (`Your password has
expired`, `Password change required but no TTY available`), shadow's expiry.
"""

from __future__ import annotations

import re

from gpudash.core.errors import ExitCode
from gpudash.core.model import Problem

_EXPIRED = re.compile(r"(?i)\b(account|password) (has |is )?expired|password change required")


def expiry(words: str) -> Problem | None:
    """Return the problem where a host's words are those of an expired account; else None."""
    if not _EXPIRED.search(words):
        return None
    return Problem(
        title="account expired",
        sentence="The account, or its password, has expired on this host.",
        advice="Log in once by ssh on a terminal to renew it, or ask whoever runs the host.",
        detail=words[-2000:],
        exit_code=ExitCode.UNREACHABLE,
        needs_person=True,
    )
