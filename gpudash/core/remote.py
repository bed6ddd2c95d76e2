"""The command that starts a probe on another machine, for any login shell.

The text goes through the user's own shell (bash, csh, fish, rbash …) to `sh`, so it has no single
quote, no `!`, no backslash and no line break. The first Python that is there is taken.
"""

from __future__ import annotations

PYTHONS = (
    "python3",
    "/usr/libexec/platform-python",
    "/usr/bin/python3",
    "/usr/local/bin/python3",
)
"""RHEL 8 has no `python3` without a module but always a platform-python."""

_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"})


def probe_script(code: str, python: str = "") -> str:
    """Return a POSIX sh script that runs Python code; exit 97 where no Python is found.

    Raises ValueError for code that would not survive the quoting.
    """
    if set(code) & set("'\"\\$`!\n"):
        raise ValueError("the code must be free of quotes and of what a shell expands")
    names = " ".join((python, *PYTHONS) if python else PYTHONS)
    return (
        f"for p in {names}; do "
        f'if command -v $p >/dev/null 2>&1; then exec $p -ISBc "{code}"; fi; '
        "done; exit 97"
    )


def login_command(script: str) -> str:
    """Return the command line for ssh: whatever the login shell is, `sh` runs the script."""
    return f"exec sh -c '{script}'"


def program_argv(prefix: tuple[str, ...], script: str) -> tuple[str, ...]:
    """Return the argv that runs the script behind the words that reach a host.

    Where these words end in a shell (`kubectl exec -i POD -- sh`) the script is its `-c`.
    """
    if prefix and prefix[-1].rpartition("/")[2] in _SHELLS:
        return (*prefix, "-c", script)
    return (*prefix, "sh", "-c", script)
