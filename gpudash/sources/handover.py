"""A sampler that runs before the event loop does, and is handed over to it.

The dashboard shows its first readings before Textual is imported: this probe is started with the
process, read synchronously for a moment, and then goes on as a stream.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gpudash.sources import shipping
from gpudash.sources.oneshot import new_token, python_argv
from gpudash.sources.process import Child

if TYPE_CHECKING:
    from gpudash.core.events import Event
    from gpudash.core.wire import LineDecoder


class EarlySampler:
    """A running sampler with what it said so far."""

    def __init__(self, interval_s: float) -> None:
        """Start it. Raises OSError."""
        self.interval_s = interval_s
        self._token = new_token()
        document = shipping.sampler_payload()
        self.child = Child(python_argv())
        options = f'{{"token":"{self._token}","interval":{interval_s}}}'
        self.child.write(shipping.with_options(document, options.encode()))
        self.events: list[Event] = []
        self._decoder: LineDecoder | None = None

    def change_interval(self, interval_s: float) -> None:
        """Read at another pace: it was started before the configuration was read."""
        if interval_s != self.interval_s:
            from gpudash.core.wire import encode_command

            self.interval_s = interval_s
            self.child.write(encode_command(0, "rate", interval=interval_s))

    @property
    def decoder(self) -> LineDecoder:
        """The decoder that holds what came in part."""
        if self._decoder is None:
            from gpudash.core.wire import LineDecoder

            self._decoder = LineDecoder(self._token)
        return self._decoder

    def read_for(self, patience_s: float) -> list[Event]:
        """Collect events until the first tick, a fault, the end, or for so long."""
        from gpudash.core.events import Fault, Sample

        deadline = time.monotonic() + patience_s
        while (left_s := deadline - time.monotonic()) > 0:
            if not self.child.wait_readable(left_s):
                break
            data = self.child.read()
            if data is None:
                continue
            if not data:
                # The end is for the stream to see and to explain.
                break
            self.events += self.decoder.feed(data)
            if any(isinstance(event, Sample | Fault) for event in self.events):
                break
        return self.events

    def end(self) -> None:
        """End it when nobody takes it over."""
        self.child.end()
