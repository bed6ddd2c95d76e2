"""Asks a health URL from the host itself: no proxy, no redirect, one answer.

Who owns the port is told as well: an old server that still listens answers 200 too.
"""

import http.client
import threading
from urllib.parse import urlsplit

from gpudash.probe.ports import owners_of

LONGEST_S = 60.0


def answer_url(command, wire):
    """Ask in a thread of its own, and answer then."""
    try:
        parts = urlsplit(str(command["url"]))
        timeout = min(LONGEST_S, max(0.1, float(command["timeout_s"])))
        port = parts.port or (443 if parts.scheme == "https" else 80)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("not a URL")
    except (KeyError, TypeError, ValueError) as error:
        wire.ack(command, "not a URL: %s" % error)
        return
    threading.Thread(target=_work, args=(command, wire, parts, port, timeout), daemon=True).start()


def _work(command, wire, parts, port, timeout):
    status, error = None, ""
    try:
        status = _ask(parts, port, timeout)
    except Exception as raised:
        error = _words(raised)
    wire.send(t="url", id=command["id"], status=status, error=error, pids=owners_of(port))
    wire.ack(command)


def _ask(parts, port, timeout):
    asked = http.client.HTTPConnection(parts.hostname, port, timeout=timeout)
    if parts.scheme == "https":
        import ssl

        # Whether it answers is the question, not who it is: it is on this very host.
        context = ssl._create_unverified_context()
        asked = http.client.HTTPSConnection(parts.hostname, port, timeout=timeout, context=context)
    try:
        path = (parts.path or "/") + ("?" + parts.query if parts.query else "")
        asked.request("GET", path, headers={"User-Agent": "gpudash", "Connection": "close"})
        return asked.getresponse().status
    finally:
        asked.close()


def _words(error):
    if isinstance(error, ConnectionRefusedError):
        return "refused"
    if isinstance(error, OSError) and "timed out" in str(error):
        return "no answer in time"
    return str(error) or type(error).__name__
