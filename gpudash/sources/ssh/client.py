"""One login: decides on the host's key, answers its prompts."""

from __future__ import annotations

import contextlib

import asyncssh

from gpudash.core.hostkeys import OfferedKey, Trust
from gpudash.core.ssh_settings import SshSettings
from gpudash.sources.ssh.identities import agent_of
from gpudash.sources.ssh.known import Known, judge_key, remember_key
from gpudash.sources.ssh.space import SshSpace

MOST_PASSWORDS = 3


class Client(asyncssh.SSHClient):
    """Called by asyncssh while it logs in."""

    def __init__(
        self, settings: SshSettings, space: SshSpace, known: Known, *, is_attended: bool
    ) -> None:
        self._settings = settings
        self._space = space
        self._known = known
        self.is_attended = is_attended
        self.refused: OfferedKey | None = None
        """The key that the host offered and that was not trusted."""
        self.wanted = ""
        """What only a person could have given: `a password`, `a code`, `a passphrase`."""
        self.banner = ""
        """What the host says before a login; the last 2000 characters."""
        self._is_unchecked = False
        self._passwords = 0
        self._answered: set[str] = set()
        self._locked: list[str] | None = None
        self._agent: asyncssh.SSHAgentClient | None = None

    # -- the host's key ------------------------------------------------------------------------

    def validate_host_public_key(
        self, host: str, addr: str, port: int, key: asyncssh.SSHKey
    ) -> bool:
        """Tell whether a key that known_hosts does not trust may be trusted all the same."""
        del host, addr, port
        offered = judge_key(self._known, self._settings, key)
        logins = self._space.logins
        if offered.trust is Trust.TRUSTED:
            return True
        if offered.trust is Trust.UNKNOWN and logins.is_accepted(offered):
            if offered in logins.saved:
                logins.saved.remove(offered)
                self._remember(offered)
            return True
        if offered.trust is Trust.UNKNOWN and self._settings.strict_host_keys == "accept-new":
            self._remember(offered)
            return True
        if offered.trust is not Trust.REVOKED and not self._settings.checks_host_keys:
            # As ssh does: nothing secret is typed for a host whose key is not the known one.
            self._is_unchecked = offered.trust is Trust.CHANGED
            return True
        self.refused = offered
        return False

    @staticmethod
    def _remember(offered: OfferedKey) -> None:
        """Write a key down; where that fails it holds for this run, as with ssh."""
        with contextlib.suppress(OSError):
            remember_key(offered)

    def auth_banner_received(self, msg: str, lang: str) -> None:
        """Keep what a host says before a login: why it refuses may stand there."""
        del lang
        self.banner = (self.banner + msg)[-2000:]

    # -- who logs in ---------------------------------------------------------------------------

    async def public_key_auth_requested(self) -> object:  # type: ignore[override]
        """Return the keys that can be used; then, one at a time, those that are encrypted."""
        keys, settings = self._space.keys, self._settings
        if self._locked is None:
            usable = [*await self._agent_keys(), *keys.pairs(settings)]
            self._locked = keys.locked(settings)
            if usable:
                return usable
        while self._locked:
            path = self._locked.pop(0)
            prompt = f"Passphrase of {path}: "
            given = await self._ask(prompt, "the passphrase of a key")
            if given and (pairs := keys.unlock(path, given)):
                return list(pairs)
            self._space.logins.forget(settings.place, prompt)
            if keys.lacks_bcrypt:
                self.wanted = "a key that can't be decrypted here: install bcrypt, or use ssh-add"
        return None

    async def _agent_keys(self) -> list[asyncssh.SSHKeyPair]:
        path, wanted = agent_of(self._settings)
        if not path:
            return []
        self._agent = asyncssh.SSHAgentClient(path)
        try:
            return list(await self._agent.get_keys(wanted))
        except (OSError, ValueError):
            # An agent that is gone is no reason not to try files.
            return []

    def auth_completed(self) -> None:
        """Let the agent go: it was only needed to log in."""
        self._close_agent()

    def connection_lost(self, exc: Exception | None) -> None:
        """Let the agent go where the login failed."""
        del exc
        self._close_agent()

    def _close_agent(self) -> None:
        agent, self._agent = self._agent, None
        if agent is not None:
            agent.close()

    async def password_auth_requested(self) -> str | None:
        """Return the password, typed now or before."""
        prompt = f"{self._settings.place}'s password: "
        if self._passwords:
            self._space.logins.forget(self._settings.place, prompt)
        if self._is_unchecked or self._passwords >= MOST_PASSWORDS:
            return None
        self._passwords += 1
        return await self._ask(prompt, "a password")

    async def kbdint_auth_requested(self) -> str | None:
        """Let the host ask only where somebody is there, or its question was answered before.

        A question alone may send a code to a telephone.
        """
        logins, place = self._space.logins, self._settings.place
        if self._is_unchecked:
            return None
        if self.is_attended or (logins.has_kept(place) and not logins.asks_once(place)):
            return ""
        self.wanted = self.wanted or "a password or a code"
        return None

    async def kbdint_challenge_received(  # type: ignore[override]
        self, name: str, instructions: str, lang: str, prompts: list[tuple[str, bool]]
    ) -> list[str] | None:
        """Return the answers to a host's questions, all or none."""
        del name, instructions, lang
        answers = []
        for prompt, is_seen in prompts:
            if prompt in self._answered:
                self._space.logins.forget(self._settings.place, prompt)
            self._answered.add(prompt)
            given = await self._ask(prompt, "a password or a code", is_seen=is_seen)
            if given is None:
                return None
            answers.append(given)
        return answers

    async def _ask(self, prompt: str, what: str, *, is_seen: bool = False) -> str | None:
        given = await self._space.logins.answer(
            self._settings.place, prompt, is_attended=self.is_attended, is_seen=is_seen
        )
        if given is None:
            self.wanted = self.wanted or what
        return given
