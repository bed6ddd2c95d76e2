"""Who listens on a port, on a host with more sockets than the kernel tells at a time."""

from __future__ import annotations

import os
import socket
from contextlib import ExitStack

from gpudash.probe.ports import listening, owners_of, why_taken

MANY = 120


def test_every_port_is_seen_among_many() -> None:
    with ExitStack() as stack:
        ports = []
        for _ in range(MANY):
            one = stack.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            one.listen()
            ports.append(one.getsockname()[1])
        assert [port for port in ports if not listening(port)] == []
        assert all(os.getpid() in owners_of(port) for port in (ports[0], ports[-1]))
        assert f"pid {os.getpid()} " in why_taken(ports[-1], "127.0.0.1")
    assert not listening(ports[-1])


def test_nobody_listens_on_a_port_that_is_only_bound() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        assert owners_of(one.getsockname()[1]) == []
