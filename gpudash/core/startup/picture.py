"""From all that is known of a start-up to the one value that others take."""

from __future__ import annotations

from dataclasses import dataclass, field

from gpudash.core.startup import health, history, life
from gpudash.core.startup.following import Followed, FollowSpec
from gpudash.core.startup.health import Health
from gpudash.core.startup.history import PastRun
from gpudash.core.startup.life import Vital
from gpudash.core.startup.model import Outcome, Startup
from gpudash.core.startup.naming import command_words, name_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of one start-up now."""

    spec: FollowSpec
    health: Health
    seen_s: float
    """Viewer's clock: when it was first heard of."""
    vital: Vital = field(default_factory=Vital)
    pid: int | None = None
    gpus: tuple[str, ...] = ()
    gpu_name: str = ""
    began_s: float | None = None
    """Viewer's clock: when its process began."""
    exit_code: int | None = None
    exited_s: float | None = None
    previous: Startup | None = None
    earlier: tuple[PastRun, ...] = ()
    log: str = ""
    link: str = ""
    ending: str = ""
    is_live: bool = False
    """All that was in the log before we came is read."""
    is_simulated: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        """The command line of its process."""
        newest = self.vital.newest
        return newest.argv if newest is not None else ()

    @property
    def pids(self) -> frozenset[int]:
        """Those of its processes that live."""
        newest = self.vital.newest
        return newest.pids if newest is not None else frozenset()

    @property
    def command(self) -> str:
        """Masked; empty where nobody knows it."""
        return self.spec.command or command_words(self.argv)


def started_s(known: Known, startup: Startup) -> float:
    """Return when it began: by its process, else by its log, else when we came."""
    if known.began_s is not None and not startup.restarts:
        return known.began_s
    if startup.now_s is not None and startup.told_s is not None:
        return startup.told_s - startup.now_s
    return known.seen_s


def picture(known: Known, startup: Startup, now_s: float) -> Followed:
    """Return what is known as a screen, a report and a record take it."""
    phase = startup.current
    earlier = known.earlier
    past_s = history.earlier_seconds(earlier, phase.name) if phase is not None else None
    is_watched = known.is_live and not known.ending and startup.outcome is Outcome.STARTING
    seen = life.stalled(startup, known.vital, now_s, past_s) if is_watched else None
    eta_s = now_s
    if phase is not None:
        eta_s = phase.start.at_s + life.spent_s(startup, phase, now_s)
    newest = earlier[-1] if earlier else None
    return Followed(
        name=name_of(known.spec, known.argv),
        host=known.spec.host,
        command=known.command,
        source=known.spec.source,
        startup=startup,
        started_s=started_s(known, startup),
        now_s=now_s,
        gpus=known.gpus,
        memory=known.vital.memory,
        life=life.life_of(known.vital, now_s),
        stall=seen.text if seen is not None else "",
        stall_hint=seen.hint if seen is not None else "",
        eta=None if known.ending else history.estimate(startup, eta_s, earlier),
        deltas=history.compare(startup, newest) if newest is not None else (),
        earlier=newest,
        previous=known.previous,
        health=known.health.words,
        url=health.url_of(known.health, startup),
        pid=known.pid,
        has_exited=known.exited_s is not None,
        exit_code=known.exit_code,
        ending=known.ending,
        log=known.log,
        link=known.link,
        is_simulated=known.is_simulated,
    )
