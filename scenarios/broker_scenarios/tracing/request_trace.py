"""One request on its way through a broker, from the journal: its stages on an axis of time, and the events beside them.

The stages are those of Kafka's RequestMetrics: request queue, handler (local time), purgatory (remote time), response.
The events are those of the request itself (its appends, the results of its partitions) and those that it waited for:
fetches of followers from this broker, high watermarks, requests of the broker to other nodes over its links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from broker_scenarios.errors import ScenarioError
from broker_scenarios.tracing.timeline import Moment, Stage, Timeline
from broker_sim.control.events import (
    BatchAppended,
    BatchDeduplicated,
    BrokerFenced,
    BrokerKilled,
    BrokerStopped,
    ConnectionClosed,
    ConnectionOpened,
    HighWatermarkAdvanced,
    IsrChanged,
    LeaderElected,
    LogTruncated,
    ProduceCompleted,
    RequestReceived,
    ResponseSent,
    RuleFired,
)
from protocol_specs.error_codes import ErrorCode
from sim_runtime.spelling import numbers

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from broker_sim.control.events import Event

_ENDS: Final = {BrokerKilled: "is killed", BrokerStopped: "has shut down", BrokerFenced: "is fenced"}
_ABOUT_A_PARTITION: Final = HighWatermarkAdvanced | IsrChanged | LeaderElected | LogTruncated
_ALWAYS_UNDER_WAY: Final = ("Fetch", "FetchSnapshot", "BrokerHeartbeat")

__all__ = ["TracedRequest", "cluster_change", "requests_of", "trace_request"]

LINK_PREFIX: Final = "link:"
MEANWHILE_MAX: Final = 24
"""How many of the events that a request waited for are listed."""


class TracedRequest(NamedTuple):
    """A request of the journal, named by the number of its first event; `response` is None while it has none."""

    number: int
    request: RequestReceived
    response: ResponseSent | None

    @property
    def total_us(self) -> int:
        """Its duration in microseconds, -1 without a response."""
        return -1 if self.response is None else self.response.total_us

    @property
    def between_brokers(self) -> bool:
        """True if another broker, or the controller, sent the request."""
        return self.request.connection_id.startswith(LINK_PREFIX)


def requests_of(events: Iterable[tuple[int, Event]]) -> list[TracedRequest]:
    """All requests, those between brokers too, in the order of their arrival, each with its response."""
    found: list[TracedRequest] = []
    open_requests: dict[tuple[int, str, int], int] = {}
    for number, event in events:
        if isinstance(event, RequestReceived):
            open_requests[event.broker_id, event.connection_id, event.request_id] = len(found)
            found.append(TracedRequest(number, event, None))
        elif isinstance(event, ResponseSent):
            place = open_requests.pop((event.broker_id, event.connection_id, event.request_id), None)
            if place is not None:
                found[place] = found[place]._replace(response=event)
    return found


def cluster_change(event: Event, partitions: Container[tuple[str, int]]) -> str | None:
    """Describe a change of a broker, or of leader or ISR of one of these partitions; None for other events."""
    if isinstance(event, BrokerKilled | BrokerStopped | BrokerFenced):
        return f"broker {event.broker_id} {_ENDS[type(event)]}"
    if isinstance(event, IsrChanged | LeaderElected | LogTruncated) and (event.topic, event.partition) in partitions:
        name = f"{event.topic}-{event.partition}"
        if isinstance(event, LeaderElected):
            return f"broker {event.broker_id} is elected leader of {name}"
        if isinstance(event, LogTruncated):
            return f"broker {event.broker_id} truncates {name} from offset {event.from_offset:,} on"
        return f"the ISR of {name} is {_ids(event.isr)}"
    return None


def trace_request(events: Sequence[tuple[int, Event]], number: int) -> Timeline:
    """Build the timeline of the request whose arrival is event `number`. Raises ScenarioError if there is none."""
    traced = next((each for each in requests_of(events) if each.number == number), None)
    if traced is None:
        raise ScenarioError(f"event {number} of the journal is no request (--request); --list shows those that are")
    return _Trace(events, traced).put_together()


class _Trace:
    """The events around one request: its own, and those that it waited for."""

    def __init__(self, events: Sequence[tuple[int, Event]], traced: TracedRequest) -> None:
        self.request = traced.request
        self.response = traced.response
        self.events = events
        self.start_us = events[0][1].time_us
        self.traced = traced
        self.partitions: dict[tuple[str, int], None] = {}
        self.meanwhile = 0
        self.ended = False
        """True if its connection ended without a response."""
        self.trace = Timeline(
            name=traced.request.api,
            title=self._title(),
            source=traced.request.connection_id,
            took_us=None if traced.response is None else traced.total_us,
            unended="no response",
        )

    def put_together(self) -> Timeline:
        trace = self.trace
        self._add_stages()
        self._own(0, "it arrives" if self.traced.between_brokers else f"Processor {self._processor()} has read it")
        for number, event in self.events:
            if isinstance(event, ConnectionOpened) and event.connection_id == self.request.connection_id:
                opened = f"the Acceptor of {event.listener} took it at {self._seconds(event.time_us)}"
                trace.source = f"{event.connection_id}: {opened}"
            if event is self.response or self.ended:
                break
            if number > self.traced.number:
                self._take(event)
        if self.response is not None:
            self._own(self.response.total_us, f"the response of {self.response.size:,} bytes is written")
        elif not self.ended:
            self._own(trace.end_us, "no response is written before the journal ends")
        return trace

    def _title(self) -> str:
        request = self.request
        sender = f" from {request.client_id}" if request.client_id else ""
        size = f", {request.size:,} bytes" if request.size else ""
        return (
            f"{request.api} v{request.api_version}{sender} on broker {request.broker_id}{size}, "
            f"at {self._seconds(request.time_us)}"
        )

    def _seconds(self, time_us: int) -> str:
        """A time of the journal, counted from its first event."""
        return f"{(time_us - self.start_us) / 1e6:.6f} s"

    def _processor(self) -> str:
        # `local host:port-remote host:port-processor-index`, as Kafka's ConnectionId.
        parts = self.request.connection_id.rsplit("-", 2)
        return parts[1] if len(parts) == 3 else "?"

    def _add_stages(self) -> None:
        response = self.response
        if response is None:
            return
        at_us = 0
        spent = [
            ("request queue", response.queue_us),
            ("handler", response.local_us),
            ("purgatory", response.remote_us),
            ("throttle", response.throttle_us),
            ("response queue", response.response_queue_us),
            ("response send", response.send_us),
        ]
        if not any(duration_us for _, duration_us in spent) and response.total_us:
            spent = [("in the broker", response.total_us)]
        for name, duration_us in spent:
            if duration_us or name in ("request queue", "handler"):
                self.trace.stages.append(Stage(name=name, start_us=at_us, duration_us=duration_us))
            at_us += duration_us

    def _take(self, event: Event) -> None:
        request = self.request
        at_us = event.time_us - request.time_us
        if isinstance(event, ConnectionClosed) and event.connection_id == request.connection_id:
            if self.response is None:
                self.ended = True
                self._own(at_us, f"the connection ends without a response: {event.reason}")
        elif event.broker_id == request.broker_id and getattr(event, "request_id", -1) == request.request_id:
            if isinstance(event, BatchAppended | BatchDeduplicated | ProduceCompleted) and request.api == "Produce":
                self.partitions[event.topic, event.partition] = None
                self._own(at_us, _did(event), (event.topic, event.partition))
        else:
            text = self._waited_for(event)
            if text is None:
                return
            self.meanwhile += 1
            if self.meanwhile <= MEANWHILE_MAX:
                partition = (event.topic, event.partition) if isinstance(event, _ABOUT_A_PARTITION) else None
                self.trace.moments.append(Moment(at_us=at_us, text=text, own=False, partition=partition))
            else:
                self.trace.left_out += 1

    def _waited_for(self, event: Event) -> str | None:
        here = event.broker_id == self.request.broker_id
        if isinstance(event, HighWatermarkAdvanced) and here and (event.topic, event.partition) in self.partitions:
            return f"the high watermark of {event.topic}-{event.partition} is {event.high_watermark:,}"
        if isinstance(event, RequestReceived | ResponseSent) and event.connection_id.startswith(LINK_PREFIX):
            return self._on_a_link(event, here=here)
        if isinstance(event, RuleFired):
            return f"a fault fires: {_rule(event)}"
        return cluster_change(event, self.partitions)

    def _on_a_link(self, event: RequestReceived | ResponseSent, *, here: bool) -> str | None:
        """Describe the traffic between nodes that the request waits for."""
        arrives = isinstance(event, RequestReceived)
        source, _, target = event.connection_id.removeprefix(LINK_PREFIX).partition("-")
        if here and self.partitions and event.api == "Fetch":
            return f"broker {source} fetches" if arrives else f"the fetch of broker {source} completes"
        if source == str(self.request.broker_id) and event.api not in _ALWAYS_UNDER_WAY:
            return f"request to node {target}: {event.api}" if arrives else f"response of node {target}: {event.api}"
        return None

    def _own(self, at_us: int, text: str, partition: tuple[str, int] | None = None) -> None:
        self.trace.moments.append(Moment(at_us=at_us, text=text, partition=partition))


def _did(event: BatchAppended | BatchDeduplicated | ProduceCompleted) -> str:
    name = f"{event.topic}-{event.partition}"
    if isinstance(event, ProduceCompleted):
        error = ErrorCode(event.error_code).name
        if event.error_code:
            return f"{name} completes: {error}"
        return f"{name} completes: base offset {event.base_offset:,}, acks {event.acks}, ISR {_ids(event.isr)}"
    offsets = numbers("offset", event.base_offset, event.last_offset - event.base_offset + 1)
    if isinstance(event, BatchDeduplicated):
        return f"{name} has the batch already: {offsets}"
    return f"appended to {name}: {offsets}, {event.size:,} bytes, leader epoch {event.leader_epoch}"


def _rule(event: RuleFired) -> str:
    what = f"{event.act} {event.api}".strip()
    where = f" on {event.topic}-{event.partition}" if event.topic is not None else ""
    return f"rule {event.rule} ({what}{where})"


def _ids(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))
