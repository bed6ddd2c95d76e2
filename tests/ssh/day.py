"""A day in short, run by hand: `python -m tests.ssh.day [SECONDS] [SEED]` (default 75 seconds).

Eight hosts over eight real sshds whose connections are really cut and healed at random. All the
time it is looked at that no old reading is shown as live and that no lost host counts in a ZERO;
at the end, that no task and no process of a session is left. The rest of the day is simulated in
tests/services/test_day.py.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from gpudash.core.model import Fleet, Link
from gpudash.core.verify import Verdict, judge_fleet
from tests.fake_driver import FakeDriver
from tests.ssh.sshd import Home, Sshd, session_env
from tests.ssh.watching import Watching, watching

INTERVAL_S = 0.5
HOSTS = tuple(f"gpu-{letter}" for letter in "abcdefgh")
STALE_S = 1.5 + 0.7
"""After this a reading must not look live; the second part is the loop's own lag here."""


class Watch:
    """Looks at the fleet at each change and ten times a second."""

    def __init__(self, seen: Watching) -> None:
        self._seen = seen
        self.seen_links: Counter[str] = Counter()
        self.zeros = self.looks = 0
        self.oldest_live_s = 0.0
        self.wrong: list[str] = []

    def look(self) -> None:
        fleet: Fleet = self._seen.monitor.fleet
        now = self._seen.monitor._clock.now()
        self.looks += 1
        for host in fleet.hosts:
            self.seen_links[host.link.value] += 1
            if host.link is Link.LIVE and host.received_s is not None:
                age_s = now - host.received_s
                self.oldest_live_s = max(self.oldest_live_s, age_s)
                if age_s > STALE_S:
                    self.wrong.append(f"{host.name} is shown live and {age_s:.1f} s old")
        if judge_fleet(fleet).verdict is Verdict.ZERO:
            self.zeros += 1
            if any(host.link is not Link.LIVE for host in fleet.hosts):
                self.wrong.append("a host that is not live counts in a ZERO")


async def run(seconds: float, seed: int, folder: Path) -> int:
    chance = random.Random(seed)
    driver = FakeDriver.h200(8, folder / "driver").write()
    home = Home(folder / "home")
    sshds = {}
    for name in HOSTS:
        sshds[name] = Sshd(folder / name, home.public, env=session_env(driver)).start()
        home.knows(sshds[name])
        home.name(name, sshds[name].port)
    cuts = outages = 0
    until = time.monotonic() + seconds
    try:
        async with watching(home, *HOSTS, interval_s=INTERVAL_S) as seen:
            watch = Watch(seen)
            away: dict[str, float] = {}
            while time.monotonic() < until:
                await asyncio.sleep(0.1)
                watch.look()
                if chance.random() < 0.08:
                    cuts += sshds[chance.choice(HOSTS)].cut() > 0
                if chance.random() < 0.015 and len(away) < 3:
                    name = chance.choice([name for name in HOSTS if name not in away])
                    sshds[name].stop()
                    away[name] = time.monotonic() + chance.uniform(1, 12)
                    outages += 1
                for name in [name for name, back in away.items() if back < time.monotonic()]:
                    sshds[name].start()
                    del away[name]
            for name in away:
                sshds[name].start()
            for name in HOSTS:
                seen.monitor.reconnect(name)
            await seen.until_all(Link.LIVE)
            watch.look()
        left = [
            task.get_name() for task in asyncio.all_tasks() if task is not asyncio.current_task()
        ]
        deadline = time.monotonic() + 10
        while any(sshd.sessions() for sshd in sshds.values()) and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
        sessions = sum(len(sshd.sessions()) for sshd in sshds.values())
    finally:
        for sshd in sshds.values():
            sshd.stop()
    logins = sum(sshd.logins for sshd in sshds.values())
    print(f"{seconds:.0f} s, seed {seed}: {cuts} cuts, {outages} outages, {logins} logins")
    print(f"{watch.looks} looks, links {dict(watch.seen_links)}, {watch.zeros} ZERO")
    print(f"oldest reading shown as live: {watch.oldest_live_s:.2f} s")
    print(f"left: {len(left)} tasks {left[:5]}, {sessions} sessions; wrong: {watch.wrong[:5] or 0}")
    return int(bool(watch.wrong or left or sessions))


if __name__ == "__main__":
    how_long = float(sys.argv[1]) if len(sys.argv) > 1 else 75.0
    which = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory(prefix="day-") as where:
        sys.exit(asyncio.run(run(how_long, which, Path(where))))
