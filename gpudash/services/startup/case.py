"""One start-up: what each thing that comes does to what is known of it.

It passes events to the pure parts and keeps their values. Its own I/O is the record and the history
that it was given.
"""

from __future__ import annotations

import logging
from dataclasses import replace

from gpudash.core.model import Host
from gpudash.core.record import Line
from gpudash.core.startup import health, life, place
from gpudash.core.startup import history as histories
from gpudash.core.startup.catalog import Catalog
from gpudash.core.startup.ending import Standing, ending_of
from gpudash.core.startup.following import Followed, FollowSpec
from gpudash.core.startup.logbook import Logbook
from gpudash.core.startup.loglines import LogPiece, TreeSigns, UrlAnswer
from gpudash.core.startup.managed import Managed, is_pending
from gpudash.core.startup.model import (
    AnnounceFailure,
    AnnounceRestart,
    Arrived,
    Exited,
    LogEnded,
    MemoryRead,
    Outcome,
    Probed,
    ProbeHealth,
    Startup,
    StartupEvent,
    Ticked,
)
from gpudash.core.startup.naming import history_key
from gpudash.core.startup.narration import LOG_NOTES, told
from gpudash.core.startup.picture import Known, picture, started_s
from gpudash.core.startup.segments import Tail
from gpudash.core.startup.tracker import Tracker, snapshot, step
from gpudash.core.startup.watched import watched_of
from gpudash.services.recorder import Run, utc_now
from gpudash.services.startup.past import Past

log = logging.getLogger(__name__)

_LAST_NOTES = frozenset({"ended", "unreadable", "failed"})


class Case:
    """One start-up."""

    def __init__(
        self,
        spec: FollowSpec,
        catalog: Catalog,
        now_s: float,
        *,
        past: Past | None,
        record: Run | None,
        is_simulated: bool,
    ) -> None:
        """Know nothing yet."""
        self.place = place.beginning(spec)
        self.book = Logbook()
        """Its log, for whoever reads it."""
        self.known = Known(
            spec=spec,
            health=health.Health(named=spec.url, kind=spec.source.kind),
            seen_s=now_s,
            vital=life.Vital(active_s=now_s),
            pid=spec.pid,
            gpus=spec.gpus or (),
            is_simulated=is_simulated,
        )
        self._state = Tracker(catalog=catalog, expects_url=spec.url is not None)
        self._past = past
        self._record = record
        self._key = ""
        self._age_s = 0.0
        """How old what is read is: what was there before we came is as old as the file says."""
        self._settled_s = now_s
        self._held = b""
        self._shown: tuple[Tracker, Startup] | None = None
        self._before: Followed | None = None

    def followed(self, now_s: float) -> Followed:
        """Return what is known now."""
        return picture(self.known, self._startup(), now_s)

    def _startup(self) -> Startup:
        """Return the log's own value, made once for each state."""
        if self._shown is None or self._shown[0] is not self._state:
            self._shown = (self._state, snapshot(self._state))
        return self._shown[1]

    def learn(self, **more: object) -> None:
        """Take what was found out."""
        self.known = replace(self.known, **more)  # type: ignore[arg-type]

    # -- the log ---------------------------------------------------------------------------------

    def take_piece(self, piece: LogPiece, now_s: float) -> None:
        """Take a piece of the log, a note about it, or signs of life."""
        is_first = self.place.offset is None
        self.place, data = place.taken(self.place, piece)
        if piece.signs is not None:
            self._take_signs(piece.signs, now_s)
        if piece.note == "live":
            self._age_s = 0.0
            self.learn(is_live=True)
        elif piece.note == "opened" and is_first:
            self._age_s = piece.age_s or 0.0
            if piece.line is not None and piece.line > 1:
                self._state = replace(self._state, tail=Tail(line=piece.line))
                self.book.begin_at(piece.line)
        elif words := LOG_NOTES.get(piece.note):
            self.learn(log=f"{words}: {piece.words}" if piece.words else words)
        if data:
            self.learn(log="" if self.known.is_live else self.known.log)
            self._read(data, now_s)
        if piece.note in _LAST_NOTES and not is_pending(self.known.spec, piece):
            self._step(LogEnded(at_s=now_s), now_s)
        self._settle(now_s)

    def end_log(self, now_s: float) -> None:
        """Nothing more comes of the log."""
        self._step(LogEnded(at_s=now_s), now_s)
        self._settle(now_s)

    def _read(self, data: bytes, now_s: float) -> None:
        at_s = now_s - self._age_s
        self.book.feed(data, at_s)
        self._step(Arrived(data=data, at_s=at_s), now_s)
        if self._state.run.told_s == at_s:
            # Else it is half a line, or only what asking the health URL left there.
            self._act(at_s)

    def _act(self, at_s: float) -> None:
        vital = self.known.vital
        self.learn(vital=replace(vital, active_s=max(vital.active_s, at_s)))

    # -- beside the log --------------------------------------------------------------------------

    def _take_signs(self, signs: TreeSigns, now_s: float) -> None:
        known = self.known
        if known.began_s is None and signs.age_s is not None:
            self.learn(began_s=now_s - signs.age_s)
        self.learn(vital=life.looked(known.vital, signs), pid=signs.pid)
        is_over = signs.is_gone and not signs.pids and not known.spec.outlives_writer
        if is_over and known.exited_s is None:
            self.learn(exited_s=now_s)

    def take_host(self, host: Host, now_s: float) -> None:
        """Take a reading of the host's GPUs."""
        known = self.known
        found = watched_of(host, known.spec, known.gpus, known.pids)
        self.learn(gpus=found.uuids, gpu_name=found.name or known.gpu_name)
        if found.used_bytes:
            began_s = started_s(known, self._startup())
            vital = life.measured(
                known.vital, found.used_bytes, found.busy_pct, at_s=now_s, began_s=began_s
            )
            self.learn(vital=vital)
            self._step(MemoryRead(used_bytes=found.used_bytes, at_s=now_s), now_s)

    def take_answer(self, url: str, answer: UrlAnswer, now_s: float) -> None:
        """Take what the health URL answered."""
        own = self.known.pids or None
        asked, status, counts = health.answered(self.known.health, url, answer, own)
        self.learn(health=asked)
        if counts:
            self._step(Probed(status=status, at_s=now_s), now_s)
        self._settle(now_s)

    def take_managed(self, managed: Managed, now_s: float) -> None:
        """Take what its manager says of it."""
        if managed.is_running:
            if managed.pid is not None:
                self.learn(pid=managed.pid, exited_s=None)
        elif managed.code is not None:
            self.take_exit(managed.code, now_s)

    def take_exit(self, code: int | None, now_s: float) -> None:
        """Take the end of the process, once or with a code that was not known before."""
        known = self.known
        if known.exited_s is None:
            self.learn(exited_s=now_s)
        if code is not None and self._state.run.exit_code is None:
            self.learn(exit_code=code)
            self._step(Exited(code=code, at_s=now_s), now_s)
        self._settle(now_s)

    def tick(self, now_s: float) -> health.Question | None:
        """Let time pass; return what URL to ask now."""
        self._step(Ticked(at_s=now_s), now_s)
        held = self._state.tail.held
        if held and held != self._held:
            # Dots and bars stay on one line for minutes.
            self._act(now_s)
        self._held = held
        self._settle(now_s)
        if self.known.ending:
            return None
        question = health.due(self.known.health, self._startup(), now_s)
        if question is not None:
            self.learn(health=health.asked(self.known.health, now_s))
        return question

    # -- the machine -----------------------------------------------------------------------------

    def _step(self, event: StartupEvent, now_s: float) -> None:
        if self._state.run.has_ended:
            return
        self._state, effects = step(self._state, event)
        for effect in effects:
            match effect:
                case ProbeHealth():
                    self.learn(health=health.listening(self.known.health, effect))
                case AnnounceRestart(previous=previous):
                    self._begin_anew(previous, now_s)
                case AnnounceFailure():
                    self._settled_s = now_s
                case _:
                    continue

    def _begin_anew(self, previous: Startup, now_s: float) -> None:
        """The log begins another run: time, health and exit were the old one's."""
        self._key = ""
        self.learn(
            previous=previous,
            health=health.restarted(self.known.health),
            earlier=(),
            exited_s=None,
            exit_code=None,
            seen_s=now_s,
            vital=replace(self.known.vital, memory={}, moved_s=None),
        )

    def _settle(self, now_s: float) -> None:
        """Look whether it is over; tell the record what is new."""
        known = self.known
        self._compare()
        standing = Standing(
            startup=self._startup(),
            stays=known.spec.stays,
            has_ended=self._state.run.has_ended,
            is_gone=known.exited_s is not None and not known.pids,
            gone_s=now_s - known.exited_s if known.exited_s is not None else None,
            is_read=known.is_live,
            settled_s=now_s - max(self._settled_s, known.vital.active_s),
        )
        if not known.ending and (words := ending_of(standing)):
            if standing.is_gone and not standing.has_ended:
                self._step(LogEnded(at_s=now_s), now_s)
                words = ending_of(replace(standing, startup=self._startup()))
            self.learn(ending=words)
        if self._record is not None:
            after = self.followed(now_s)
            for said in told(self._before, after):
                self.note(said.kind, said.words)
            self._before = after

    def note(self, kind: str, words: str) -> None:
        """Write a line of the record."""
        if self._record is not None and not self._record.has_ended:
            self._record.write(Line(kind=kind, says=words, host=self.known.spec.host))

    # -- history ---------------------------------------------------------------------------------

    def _compare(self) -> None:
        """Look up earlier start-ups when it becomes known what this one is."""
        known = self.known
        key = history_key(
            self._startup(), host=known.spec.host, command=known.command, gpu=known.gpu_name
        )
        if self._past is not None and key and key != self._key:
            self._key = key
            self.learn(earlier=histories.comparable(self._past.load(), key))

    def store(self) -> None:
        """Keep what was learned for the next start-up of the same kind."""
        startup = self._startup()
        if self._past is None or not self._key or startup.outcome is Outcome.STARTING:
            return
        run = histories.past_run(
            startup, key=self._key, command=self.known.command, recorded_at=utc_now()
        )
        run = replace(run, memory=histories.median_curve(self.known.vital.memory))
        try:
            self._past.add(run)
        except OSError as error:
            log.warning("the start-up could not be kept for comparison: %s", error)
            self.note("history", f"it could not be kept for comparison: {error}")
