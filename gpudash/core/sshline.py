"""A pasted `ssh …` line as one HOST word: what of it is taken, what ignored, what refused.

Read as OpenSSH reads it: letters combine (`-Np2222`), options may follow the destination, the
first user and the first port count. Host key checks are never turned off by a pasted line: such
an option is ignored, and the notes say so.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from gpudash.core.errors import UsageError
from gpudash.core.hostspec import (
    HostSpec,
    SshOptions,
    parse_destination,
    parse_port,
    refuse,
    remote_name,
    shown,
)

_TAKEN = frozenset("pilJoF")
_IGNORED_WITH_VALUE = frozenset("LRD")
_IGNORED = frozenset("NfTtAaXxYgvqC46")
_OTHERS_WITH_VALUE = frozenset("BbcEeImOPQSWw")
_KEYWORD = re.compile(r"([A-Za-z][A-Za-z0-9]*)(?:\s*=\s*|\s+)(.+)", re.DOTALL)
_UNCHECKING = {
    "stricthostkeychecking": ("no", "off", "accept-new"),
    "userknownhostsfile": ("/dev/null", "none"),
    "globalknownhostsfile": ("/dev/null", "none"),
    "nohostauthenticationforlocalhost": ("yes", "true"),
    "verifyhostkeydns": ("yes", "true"),
}
"""What would accept a key that nobody has seen, by keyword."""
_NEVER_TAKEN = re.compile(
    "remotecommand|requesttty|localforward|remoteforward|dynamicforward|gatewayports|tunnel"
    "|tunneldevice|clearallforwardings|exitonforwardfailure|forwardagent|forwardx11"
    "|forwardx11trusted|permitlocalcommand|localcommand|sessiontype|stdinnull"
    "|forkafterauthentication|loglevel|compression"
)
"""What is about terminal, forwards or talk of a session that isn't ours."""


def is_ssh_line(word: str) -> bool:
    """Tell whether a HOST word is a pasted ssh line."""
    return word.split(maxsplit=1)[:1] == ["ssh"] and len(word.split(maxsplit=2)) > 1


def parse_ssh_line(word: str) -> HostSpec:
    """Read a pasted ssh line. Raises UsageError naming what can't be taken."""
    word = word.replace("\\\n", " ").strip()
    for char in word:
        if not char.isprintable() and char not in " \t":
            refuse(word, f"the line contains the invisible character U+{ord(char):04X}")
    try:
        words = shlex.split(word)
    except ValueError as error:
        raise UsageError(f"host {shown(word)}: a quote is not closed") from error
    line = _Line(word=word)
    line.read(words[1:])
    return line.spec()


@dataclass(slots=True)
class _Line:
    """What was read so far."""

    word: str
    destination: HostSpec | None = None
    user: str | None = None
    port: int | None = None
    options: SshOptions = field(default_factory=SshOptions)
    ignored: list[str] = field(default_factory=list)
    unchecked: list[str] = field(default_factory=list)

    def read(self, words: list[str]) -> None:
        """Read every word after `ssh`."""
        rest = iter(words)
        only_names = False
        for word in rest:
            if word == "--" and not only_names:
                only_names = True
            elif word.startswith("-") and len(word) > 1 and not only_names:
                self._letters(word[1:], rest)
            else:
                self._name(word)

    def _name(self, word: str) -> None:
        if self.destination is not None:
            hint = "gpudash runs its own probe there; paste the line without the command."
            refuse(self.word, f"the line runs a command there: {shown(word)}", hint)
        self.destination = found = parse_destination(word)
        self.user = self.user or found.user
        self.port = self.port or found.port

    def _letters(self, letters: str, rest: Iterator[str]) -> None:
        for at, letter in enumerate(letters):
            if letter in _IGNORED:
                self.ignored.append(f"-{letter}")
                continue
            if letter not in _TAKEN | _IGNORED_WITH_VALUE:
                self._refuse(letter)
            value = letters[at + 1 :] or next(rest, "")
            if not value:
                refuse(self.word, f"-{letter} needs a value")
            if letter in _IGNORED_WITH_VALUE:
                self.ignored.append(f"-{letter} {shown(value)}")
            else:
                self._take(letter, value)
            return

    def _refuse(self, letter: str) -> None:
        what = f"ssh's -{shown(letter)} can't be taken over"
        if letter == "-":
            what = "ssh has no long options"
        elif letter not in _OTHERS_WITH_VALUE and not letter.isalnum():
            what = f"-{shown(letter)} is no option of ssh"
        refuse(self.word, what, "Taken: -p -i -l -J -o -F; forwards are ignored.")

    def _take(self, letter: str, value: str) -> None:
        options = self.options
        match letter:
            case "p":
                self.port = self.port or parse_port(value, self.word)
            case "l":
                # Checked as part of a destination, so one table says what a user may be.
                self.user = self.user or parse_destination(f"{value}@name").user
            case "i":
                self.options = replace(options, identity_files=(*options.identity_files, value))
            case "J":
                self._jump(value)
            case "F":
                self.options = replace(options, config_file=value)
            case _:
                self._setting(value)

    def _jump(self, value: str) -> None:
        if self.options.jump:
            refuse(self.word, "-J stands twice", "Several hops are one word: -J first,second")
        hops = tuple(value.split(","))
        for hop in hops:
            parse_destination(hop)
        self.options = replace(self.options, jump=hops)

    def _setting(self, text: str) -> None:
        match = _KEYWORD.fullmatch(text.strip())
        if match is None:
            refuse(self.word, f"-o {shown(text)} is no Keyword=value")
        keyword, value = match[1], match[2]
        if value.strip().lower() in _UNCHECKING.get(keyword.lower(), ()):
            self.unchecked.append(f"{keyword}={shown(value)}")
        elif _NEVER_TAKEN.fullmatch(keyword.lower()):
            self.ignored.append(f"-o {keyword}={shown(value)}")
        else:
            settings = (*self.options.settings, (keyword, value))
            self.options = replace(self.options, settings=settings)

    def spec(self) -> HostSpec:
        """Return the host. Raises UsageError where the line names none."""
        if self.destination is None:
            refuse(self.word, "the line names no host")
        address = self.destination.address
        place = f"[{address}]" if ":" in address and self.port else address
        name = f"{self.user}@{place}" if self.user else place
        return HostSpec(
            name=remote_name(f"{name}:{self.port}" if self.port else name),
            address=address,
            user=self.user,
            port=self.port,
            options=self.options,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        notes = []
        if self.ignored:
            notes.append(f"ignored of the ssh line: {', '.join(dict.fromkeys(self.ignored))}")
        if self.unchecked:
            notes.append(
                f"ignored of the ssh line: {', '.join(self.unchecked)}; host keys are checked "
                "unless ~/.ssh/config says otherwise for this host"
            )
        return tuple(notes)
