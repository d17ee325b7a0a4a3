"""Events of a journal as server-sent events (the WHATWG's `text/event-stream`), bounded for a slow reader."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from broker_sim.control.journal_file import event_line

if TYPE_CHECKING:
    from twisted.internet.interfaces import IDelayedCall
    from twisted.web.http import Request

    from broker_sim.cluster import Cluster
    from broker_sim.control.events import Detail, Event

__all__ = ["Streamed", "stream_events"]

FLUSH_S: Final = 0.05
"""Events are sent in groups: a request makes several, and each write costs a system call."""
KEEP_ALIVE_S: Final = 15.0
WAITING_MAX: Final = 20_000
"""How many events wait for a slow reader; with more, the oldest are dropped and a comment states their number."""


class Streamed:
    """The result of a call that writes its response itself."""


@implementer(IPushProducer)
class EventStream(Streamed):
    """The stream to one reader."""

    def __init__(self, request: Request, cluster: Cluster, kind: str | None, detail: Detail) -> None:
        self._request = request
        self._reactor = cluster.reactor
        self._journal = cluster.journal
        self._kind = kind
        self._detail = detail
        self._waiting: list[bytes] = []
        self._dropped = 0
        self._paused = False
        self._flush: IDelayedCall | None = None
        self._unsubscribe = self._journal.subscribe(self._on_event)
        self._keep_alive = self._reactor.callLater(KEEP_ALIVE_S, self._send_keep_alive)
        request.notifyFinish().addBoth(self._end)
        request.registerProducer(self, streaming=True)

    def replay(self, after: int) -> None:
        """Send the events that the journal holds after a sequence number."""
        for sequence, event in self._journal.numbered():
            if sequence > after:
                self._add(sequence, event)

    def _on_event(self, event: Event) -> None:
        self._add(self._journal.count(), event)

    def _add(self, sequence: int, event: Event) -> None:
        if event.detail > self._detail or (self._kind is not None and event.kind != self._kind):
            return
        line = json.dumps(event_line(sequence, event), separators=(",", ":"))
        self._waiting.append(f"id: {sequence}\nevent: {event.kind}\ndata: {line}\n\n".encode())
        if len(self._waiting) > WAITING_MAX:
            self._dropped += len(self._waiting) - WAITING_MAX
            del self._waiting[: len(self._waiting) - WAITING_MAX]
        if self._flush is None and not self._paused:
            self._flush = self._reactor.callLater(FLUSH_S, self._send)

    def _send(self) -> None:
        self._flush = None
        if self._dropped:
            self._request.write(f": {self._dropped} events were dropped: the reader is slow\n\n".encode())
            self._dropped = 0
        if self._waiting:
            data, self._waiting = b"".join(self._waiting), []
            self._request.write(data)

    def _send_keep_alive(self) -> None:
        self._keep_alive = self._reactor.callLater(KEEP_ALIVE_S, self._send_keep_alive)
        if not self._paused:
            self._request.write(b": the stream is open\n\n")

    def _end(self, _: object) -> None:
        self._unsubscribe()
        for call in (self._flush, self._keep_alive):
            if call is not None and call.active():
                call.cancel()

    def pauseProducing(self) -> None:  # noqa: N802 - IPushProducer
        """Wait: the reader does not keep up."""
        self._paused = True

    def resumeProducing(self) -> None:  # noqa: N802 - IPushProducer
        """Send what has waited."""
        self._paused = False
        if self._flush is None:
            self._flush = self._reactor.callLater(0, self._send)

    def stopProducing(self) -> None:  # noqa: N802 - IPushProducer
        """The reader is gone: `_end` follows."""


def stream_events(
    request: Request, cluster: Cluster, *, after: int | None, kind: str | None, detail: Detail
) -> Streamed:
    """Send the events of one kind, or all, from now on or after a sequence number, until the reader closes.

    Those of more than a detail are left out.
    """
    request.setHeader("Cache-Control", "no-store")
    stream = EventStream(request, cluster, kind, detail)
    request.write(b": events follow\n\n")
    if after is not None:
        stream.replay(after)
    return stream
