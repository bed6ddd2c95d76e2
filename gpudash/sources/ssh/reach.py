"""A host by its name: asks ssh's configuration at each attempt which way to take, and takes it.

asyncssh is the usual way. Where a configuration needs what it lacks, or a ControlMaster is open,
the OpenSSH client is taken and the reason shown. Both fall back to nvidia-smi.
"""

from __future__ import annotations

from dataclasses import replace

from gpudash.core.errors import ExitCode
from gpudash.core.model import Problem
from gpudash.core.ssh_settings import SshSettings, lacking, needs_openssh
from gpudash.core.ways import Way
from gpudash.sources.base import HostSource, SourceError, Stream
from gpudash.sources.here import FallbackSource
from gpudash.sources.openssh import OpenSshSource
from gpudash.sources.smi_over import SmiOver
from gpudash.sources.ssh.resolve import Destination, look_around, resolve
from gpudash.sources.ssh.source import NOT_CHECKED, SshSource
from gpudash.sources.ssh.space import SshSpace


class RemoteSource:
    """One host over SSH, by whichever way fits."""

    def __init__(self, way: Way, space: SshSpace) -> None:
        self._name = way.name
        self._said = way
        self._to = Destination(
            address=way.address, options=way.options, configuration=way.configuration
        )
        self._space = space
        self._ssh = SshSource(way, self._to, space)
        self._over_ssh = self._with_smi(self._ssh)
        self._client: OpenSshSource | None = None
        self._way: HostSource | None = None
        self._is_fresh = False
        self._refused: Problem | None = None

    @property
    def name(self) -> str:
        """The host's name as the user typed it."""
        return self._name

    @property
    def is_simulated(self) -> bool:
        """Tell that nothing here is invented."""
        return False

    async def log_in(self) -> None:
        """Reach the host, so that the next sampler finds the way open. Raises SourceError."""
        self._refused = None
        is_attended = self._space.logins.take_invitation(self._name)
        settings = await resolve(self._to)
        if self._said.judged_as not in (None, settings.hostname.lower()):
            raise SourceError(_moved(self._name, settings.hostname))
        reason = await self._why_openssh(settings)
        if reason:
            self._way = self._openssh(settings, reason)
        else:
            try:
                await self._ssh.log_in(settings, is_attended=is_attended)
            except SourceError as error:
                raise SourceError(await self._with_advice(error.problem, settings)) from error
            self._way = self._over_ssh
        self._is_fresh = True

    async def _why_openssh(self, settings: SshSettings) -> str:
        if self._said.transport == "openssh":
            return "chosen in the configuration"
        if self._said.transport == "asyncssh":
            return ""
        return needs_openssh(settings, await look_around(settings, self._to))

    async def _with_advice(self, problem: Problem, settings: SshSettings) -> Problem:
        """Name the option that this transport can't obey, where a login failed for want of it."""
        option = lacking(settings, await look_around(settings, self._to))
        if not option or not problem.needs_person:
            return problem
        return replace(
            problem,
            advice=f'{option} needs the OpenSSH client: transport = "openssh". {problem.advice}',
        )

    def _openssh(self, settings: SshSettings, reason: str) -> HostSource:
        source = OpenSshSource(
            self._name,
            self._to.words,
            reason=reason,
            has_master=bool(settings.control_path),
            notes=() if settings.checks_host_keys else (NOT_CHECKED,),
            python=self._said.python,
            has_sudo=self._said.has_sudo,
            has_hand_sudo=self._said.has_hand_sudo,
        )
        if self._client is not None and self._way is not None and self._client.is_like(source):
            return self._way
        self._client = source
        return self._with_smi(source)

    def _with_smi(self, first: SshSource | OpenSshSource) -> HostSource:
        return FallbackSource(first, SmiOver(first) if self._said.has_smi else None)

    def refuse_once(self, problem: Problem) -> None:
        """Let the next attempt fail without trying: a person is needed, and was just seen to be."""
        self._refused = problem

    async def open_sampler(self, interval_s: float) -> Stream:
        """Reach the host, unless that was just done, and start the sampler. Raises SourceError."""
        refused, self._refused = self._refused, None
        if refused is not None:
            raise SourceError(refused)
        if not self._is_fresh:
            await self.log_in()
        self._is_fresh = False
        assert self._way is not None
        return await self._way.open_sampler(interval_s)

    async def open_hand(self) -> Stream:
        """Start the hand by the way that the sampler took. Raises SourceError."""
        if self._way is None:
            await self.log_in()
        assert self._way is not None
        return await self._way.open_hand()

    async def close(self) -> None:
        """End a connection that no stream ended, and a master of ours."""
        await self._ssh.close()
        if self._client is not None:
            await self._client.end_master()


def _moved(host: str, hostname: str) -> Problem:
    return Problem(
        title="another machine now",
        sentence=f"ssh resolves {host} to {hostname}; the configuration was read for another name.",
        advice="Start gpudash anew: its rules (sudo, readonly) go by that name.",
        exit_code=ExitCode.UNREACHABLE,
        needs_person=True,
    )
