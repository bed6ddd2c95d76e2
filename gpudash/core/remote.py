"""The command that starts a probe on another machine, for any login shell.

The text goes through the user's own shell (bash, csh, fish, rbash …) to `sh`, so it has no single
quote, no `!`, no backslash and no line break. The first Python that is there is taken.
"""

from __future__ import annotations

import re

PYTHONS = (
    "python3",
    "/usr/libexec/platform-python",
    "/usr/bin/python3",
    "/usr/local/bin/python3",
)
"""RHEL 8 has no `python3` without a module but always a platform-python."""

_PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./-]+")
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox"})


def probe_script(code: str, python: str = "", *, has_sudo: bool = False) -> str:
    """Return a POSIX sh script that runs Python code.

    It exits with 97 where no Python is found, 95 where a sudo is wanted and there is none. A
    Python that is too old (exit 96), may not be run or is not there behind its name gives way to
    the next one: it has not read its input. Raises ValueError for code that would not survive the
    quoting.
    """
    if set(code) & set("'\"\\$`!\n"):
        raise ValueError("the code must be free of quotes and of what a shell expands")
    names = " ".join((python, *PYTHONS) if python else PYTHONS)
    needs_sudo = "command -v sudo >/dev/null 2>&1 || exit 95; " if has_sudo else ""
    return (
        f"{needs_sudo}for p in {names}; do "
        "command -v $p >/dev/null 2>&1 || continue; "
        f'{"LC_ALL=C sudo -n " if has_sudo else ""}$p -ISBc "{code}"; r=$?; '
        "case $r in 96|126|127) continue;; esac; exit $r; "
        "done; exit ${r:-97}"
    )


def login_command(script: str) -> str:
    """Return the command line for ssh: whatever the login shell is, `sh` runs the script.

    There is no `exec` before it: a restricted bash refuses that.
    """
    return f"sh -c '{script}'"


def program_argv(prefix: tuple[str, ...], script: str) -> tuple[str, ...]:
    """Return the argv that runs the script behind the words that reach a host.

    Where these words end in a shell (`kubectl exec -i POD -- sh`) the script is its `-c`.
    """
    if prefix and prefix[-1].rpartition("/")[2] in _SHELLS:
        return (*prefix, "-c", script)
    return (*prefix, "sh", "-c", script)


def marked_script(words: tuple[str, ...], token: str) -> str:
    """Return a script that runs a command between two marks, the second with its exit code.

    So neither what a login shell says first nor a cut answer passes for the command's own words.
    Raises ValueError for a word that would need quotes.
    """
    for word in words:
        if not _PLAIN.fullmatch(word):
            raise ValueError(f"{word!r} would need quotes")
    return _between(f"LC_ALL=C {' '.join(words)}", token)


def hung_script(program: str, token: str) -> str:
    """Return a marked script that ends with 1 where a program of that name hangs in the kernel.

    State D of /proc/PID/stat, proc(5): not even SIGKILL ends it. Of builtins alone.
    """
    look = f'read l <$f && case $l in *"({program}) D"*) h=1;; esac'
    loop = f"for f in /proc/[0-9]*/stat; do {look}; done 2>/dev/null"
    return _between(f"h=0; {loop}; test $h = 0", token)


def _between(command: str, token: str) -> str:
    return f"echo; echo {token}; {command}; r=$?; echo; echo {token}:$r"


def between_marks(text: str, token: str) -> tuple[str, int | None]:
    """Return what stands between the marks, to the byte, and the exit code; None when cut."""
    _, is_begun, rest = text.partition(f"\n{token}\n")
    if not is_begun:
        return "", None
    body, is_ended, code = rest.rpartition(f"\n{token}:")
    digits = code.partition("\n")[0].strip()
    if not is_ended or not digits.isdigit():
        return rest, None
    return body, int(digits)
