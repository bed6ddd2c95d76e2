"""The command that starts a probe, run by real shells; marks around an answer."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from gpudash.core import remote
from gpudash.core.remote import (
    between_marks,
    login_command,
    marked_script,
    probe_script,
    program_argv,
)

MARK = "gpudash-mark"
SHELLS = [shell for shell in ("sh", "bash", "dash", "tcsh", "fish") if shutil.which(shell)]


def python(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("shell", SHELLS)
def test_every_login_shell_passes_it_on(
    shell: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = (
        str(tmp_path / "absent"),
        python(tmp_path, "old", "exit 96"),
        python(tmp_path, "stub", "exit 127"),
        python(tmp_path, "good", 'echo "$1 $2"; exit 42'),
        python(tmp_path, "never", "exit 1"),
    )
    monkeypatch.setattr(remote, "PYTHONS", names)
    command = login_command(probe_script("import sys;1<2and sys.exit(3)"))
    done = subprocess.run([shell, "-c", command], capture_output=True, text=True, input="")
    assert (done.returncode, done.stdout) == (42, "-ISBc import sys;1<2and sys.exit(3)\n")


@pytest.mark.parametrize(("pythons", "code"), [((), 97), (("exit 96",), 96), (("exit 127",), 127)])
def test_nothing_that_runs(
    pythons: tuple[str, ...], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [python(tmp_path, str(number), text) for number, text in enumerate(pythons)]
    monkeypatch.setattr(remote, "PYTHONS", (str(tmp_path / "absent"), *names))
    argv = program_argv((), probe_script("pass"))
    assert subprocess.run(argv, input=b"").returncode == code


def test_what_needs_quotes_is_refused() -> None:
    for code in ("print('x')", 'print("x")', "a\\b", "$HOME", "`id`", "!", "a\nb"):
        with pytest.raises(ValueError, match="free of quotes"):
            probe_script(code)
    with pytest.raises(ValueError, match="would need quotes"):
        marked_script(("nvidia-smi", "-i 0; reboot"), MARK)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("said", ["a\\nb\\n", "cut", ""])
def test_marks(shell: str, said: str, tmp_path: Path) -> None:
    program = python(tmp_path, "smi", f"printf '{said}'; exit 6")
    command = f"echo noise; {login_command(marked_script((program,), MARK))}; echo bye"
    out = subprocess.run([shell, "-c", command], capture_output=True, text=True).stdout
    assert out.endswith("bye\n")
    assert between_marks(out, MARK) == (said.replace("\\n", "\n"), 6)


def test_a_cut_answer_has_no_exit_code() -> None:
    assert between_marks(f"noise\n{MARK}\n0, 12\n1,", MARK) == ("0, 12\n1,", None)
    assert between_marks("noise\n0, 12\n", MARK) == ("", None)


def test_a_shell_at_the_end_of_the_words_takes_the_script() -> None:
    assert program_argv(("kubectl", "exec", "-i", "pod", "--", "sh"), "x")[-3:] == ("sh", "-c", "x")
    assert program_argv(("docker", "exec", "-i", "c"), "x")[-3:] == ("sh", "-c", "x")
