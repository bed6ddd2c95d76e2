"""A real OpenSSH sshd on loopback, with generated keys, and a user's configuration that reaches it.

Nothing of this machine's own ssh is read or written: the configuration is a file of the test, and
an `ssh` that stands first in PATH passes it on, for `ssh -G` reads the home of the passwd entry
whatever HOME says.
"""

from __future__ import annotations

import getpass
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.fake_driver import FakeDriver

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
SSH = shutil.which("ssh")
KEYGEN = shutil.which("ssh-keygen")
ME = getpass.getuser()
PATIENCE_S = 60
_ACCEPTED = re.compile(r"Accepted (?:publickey|password|keyboard-interactive)")


def make_key(path: Path, passphrase: str = "", *kind: str) -> Path:
    assert KEYGEN is not None
    what = kind or ("-t", "ed25519")
    subprocess.run(
        [KEYGEN, "-q", *what, "-N", passphrase, "-C", "test", "-f", str(path)],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    return path


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@dataclass
class Sshd:
    """One sshd; `settings` are lines of its sshd_config that count before ours."""

    folder: Path
    authorized: Path
    """The public key that may log in."""
    settings: tuple[str, ...] = ()
    env: dict[str, str] = field(default_factory=dict)
    """What sessions find in their environment."""
    port: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def host_key(self) -> Path:
        return self.folder / "host_key"

    @property
    def public(self) -> str:
        return " ".join(Path(f"{self.host_key}.pub").read_text().split()[:2])

    @property
    def known_line(self) -> str:
        return f"[127.0.0.1]:{self.port} {self.public}\n"

    @property
    def log(self) -> str:
        path = self.folder / "log"
        return path.read_text(errors="replace") if path.exists() else ""

    @property
    def logins(self) -> int:
        """Return how often somebody logged in."""
        return len(_ACCEPTED.findall(self.log))

    def start(self) -> Sshd:
        self.folder.mkdir(parents=True, exist_ok=True)
        if not self.host_key.exists():
            make_key(self.host_key)
        if os.geteuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        lines = [
            # The first word on a subject counts.
            *self.settings,
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            f"HostKey {self.host_key}",
            f"AuthorizedKeysFile {self.authorized}",
            f"PidFile {self.folder / 'pid'}",
            "StrictModes no",
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "PermitRootLogin yes",
            "PrintMotd no",
            "PrintLastLog no",
            "UseDNS no",
            "LogLevel VERBOSE",
            "MaxStartups 200:30:400",
        ]
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        # What a login shell of this machine prints or sets must not reach the tests.
        env = {"HOME": str(home), **self.env}
        if env:
            pairs = " ".join(f'"{name}={value}"' for name, value in env.items())
            lines.append(f"SetEnv {pairs}")
        (self.folder / "config").write_text("\n".join(lines) + "\n")
        (self.folder / "log").touch()
        assert SSHD is not None
        self._process = subprocess.Popen(
            [SSHD, "-D", "-f", str(self.folder / "config"), "-E", str(self.folder / "log")],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        )
        self._wait()
        return self

    def _wait(self) -> None:
        """Wait until it listens: the log says so."""
        from tests.cli.running import wait_for

        assert self._process is not None
        wait_for(lambda: self.log.count("Server listening") > self._starts or self._has_died())
        assert self._process.poll() is None, self.log
        self._starts = self.log.count("Server listening")

    _starts: int = 0

    def _has_died(self) -> bool:
        return self._process is not None and self._process.poll() is not None

    def sessions(self) -> list[int]:
        """Return the processes of its connections: children of the listener."""
        from tests.cli.running import children_of

        return children_of(self._process.pid) if self._process is not None else []

    def cut(self) -> int:
        """Kill every connection from outside, without a word to the other side; return how many."""
        pids = [pid for top in self.sessions() for pid in (top, *_sshd_children(top))]
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return len(pids)

    def stop(self) -> None:
        if self._process is None:
            return
        self.cut()
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        self._process = None


def _sshd_children(pid: int) -> list[int]:
    """Return the unprivileged halves of a connection, and not the shells below."""
    from tests.cli.running import children_of

    found = []
    for child in children_of(pid):
        try:
            name = Path(f"/proc/{child}/comm").read_text().strip()
        except OSError:
            continue
        if name.startswith("sshd"):
            found.append(child)
    return found


@dataclass
class Home:
    """A user's side: keys, known_hosts, a configuration, and a PATH in which ssh reads it."""

    folder: Path
    config: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.key = make_key(self.folder / "id")
        self.known = self.folder / "known_hosts"
        self.known.touch()
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        wrapper = self.bin / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec {SSH} -F "{self.config_file}" "$@"\n')
        wrapper.chmod(0o755)

    @property
    def config_file(self) -> Path:
        return self.folder / "config"

    @property
    def public(self) -> Path:
        return Path(f"{self.key}.pub")

    def knows(self, sshd: Sshd) -> None:
        with self.known.open("a") as file:
            file.write(sshd.known_line)

    def name(self, name: str, port: int, *lines: str) -> None:
        """Give a host a name in the configuration."""
        self.config.append("\n".join([f"Host {name}", f"Port {port}", *lines]))
        self.write()

    def write(self, *lines: str) -> None:
        self.config += lines
        common = [
            "Host *",
            "HostName 127.0.0.1",
            f"User {ME}",
            f"IdentityFile {self.key}",
            "IdentitiesOnly yes",
            "IdentityAgent none",
            f"UserKnownHostsFile {self.known}",
            "GlobalKnownHostsFile /dev/null",
            "GSSAPIAuthentication no",
        ]
        self.config_file.write_text("\n".join([*self.config, *common]) + "\n")

    def env(self, base: dict[str, str] | None = None) -> dict[str, str]:
        env = dict(os.environ if base is None else base)
        env["PATH"] = f"{self.bin}:{env.get('PATH', '')}"
        return env


def session_env(driver: FakeDriver, *, smi: bool = False, path: str = "") -> dict[str, str]:
    """Return what a session needs to see a fake driver."""
    found = driver.env({"PATH": path or "/usr/local/bin:/usr/bin:/bin"}, smi=smi)
    if path and smi:
        found["PATH"] = f"{driver.folder / 'bin'}:{path}"
    return found


def folder_without_python(folder: Path, *more: str) -> Path:
    """Return a folder for PATH with what a small host has, and no python3."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("sh", "env", "cat", "echo", *more):
        found = shutil.which(name)
        if found is not None and not (folder / name).exists():
            (folder / name).symlink_to(found)
    return folder


def python_link(folder: Path) -> None:
    (folder / "python3").symlink_to(sys.executable)
