"""Calls on the journal: events, requests of clients, the live stream, and the check of a number of requests."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal

from broker_sim.control.client_requests import client_requests
from broker_sim.control.events import Detail
from broker_sim.control.journal import EVENT_KINDS
from broker_sim.control.journal_file import event_line
from broker_sim.errors import BrokerSimError, nearest
from broker_sim.faults.rule_checks import check_api
from broker_sim.http_control.operation import CLUSTER, Limit, Operation
from protocol_specs.json_form import to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from broker_sim.control.events import Event
    from broker_sim.control.journal import Journal
    from broker_sim.http_control.event_stream import Streamed
    from broker_sim.http_control.operation import Call

__all__ = ["OPERATIONS"]

EVENTS_MAX: Final = 10_000
_COUNT: Final = re.compile(r"(?P<sign>>=|<=)?\s*(?P<number>\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsQuery:
    """Events of one kind, after a sequence number, whose fields have these values: `where=topic=orders,partition=0`."""

    kind: str | None = None
    after: int = 0
    where: str | None = None
    limit: Limit = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Events in order, and the sequence number of the last one that the journal has."""

    events: list[dict[str, Any]]
    last: int
    dropped: int
    """How many older events the journal has let go of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamQuery:
    """Where the stream begins: after a sequence number; by default with the next event.

    The detail `cluster` leaves out the traffic: connections, requests, batches.
    """

    after: int | None = None
    kind: str | None = None
    detail: Literal["cluster", "full"] = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestsQuery:
    """Requests of one API, of one client id, or both."""

    api: str | None = None
    client_id: str | None = None
    after: int = 0
    limit: Limit = 1_000
    bodies: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedRequest:
    """One request of a client. `body` has Kafka's names of fields: with `bodies`, while the journal has its bytes."""

    sequence: int
    time_us: int
    broker: int
    api: str
    version: int
    client_id: str | None
    correlation_id: int
    connection_id: str
    size: int
    body: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """How many requests there are to be: `2`, `>= 1` or `<= 3`."""

    count: str
    api: str | None = None
    client_id: str | None = None
    after: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """True if the number of requests is as expected."""

    holds: bool
    count: int
    expected: str


def events(call: Call) -> Events:
    """Return events."""
    query, journal = call.query, call.cluster.journal
    fits = _filter(query.kind, query.where)
    found = (
        event_line(sequence, event) for sequence, event in journal.numbered() if sequence > query.after and fits(event)
    )
    return Events(
        events=list(islice(found, min(query.limit, EVENTS_MAX))), last=journal.count(), dropped=journal.dropped
    )


def _filter(kind: str | None, where: str | None) -> Callable[[Event], bool]:
    check_kind(kind)
    wanted = {}
    for part in filter(None, (where or "").split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise BrokerSimError(f"where: {part!r} is not field=value")
        wanted[name] = value
    if wanted and kind is not None:
        known = [each.name for each in fields(EVENT_KINDS[kind])]
        for name in wanted:
            if name not in known:
                raise BrokerSimError(f"where: {kind} has no field {name!r}{nearest(name, known)}")
    return lambda event: (
        (kind is None or event.kind == kind)
        and all(str(getattr(event, name, None)) == value for name, value in wanted.items())
    )


def check_kind(kind: str | None) -> None:
    """Raise BrokerSimError for an unknown kind of event."""
    if kind is not None and kind not in EVENT_KINDS:
        raise BrokerSimError(f"kind: {kind!r} is no kind of event{nearest(kind, EVENT_KINDS)}")


def stream(call: Call) -> Streamed:
    """Send events as they happen."""
    from broker_sim.http_control.event_stream import stream_events

    check_kind(call.query.kind)
    last = call.request.getHeader("Last-Event-ID")
    after = int(last) if last is not None and last.isdecimal() else call.query.after
    return stream_events(
        call.request, call.cluster, after=after, kind=call.query.kind, detail=Detail[call.query.detail.upper()]
    )


def requests(call: Call) -> list[ReceivedRequest]:
    """Return requests of clients."""
    query = call.query
    found = _requests(call.cluster.journal, query.api, query.client_id, query.after, bodies=query.bodies)
    return list(islice(found, min(query.limit, EVENTS_MAX)))


def _requests(
    journal: Journal, api: str | None, client_id: str | None, after: int, *, bodies: bool = False
) -> Iterator[ReceivedRequest]:
    if api is not None:
        check_api(api)
    for sequence, event in client_requests(journal, api, client_id):
        if sequence > after:
            body = event.body if bodies else None
            yield ReceivedRequest(
                sequence=sequence,
                time_us=event.time_us,
                broker=event.broker_id,
                api=event.api,
                version=event.api_version,
                client_id=event.client_id,
                correlation_id=event.correlation_id,
                connection_id=event.connection_id,
                size=event.size,
                body=None if body is None else to_json(body, event.api_version),
            )


def verified(call: Call) -> Verified:
    """Count requests and compare."""
    wanted = call.body
    parsed = _COUNT.fullmatch(wanted.count.strip())
    if parsed is None:
        raise BrokerSimError(f"count: {wanted.count!r} is not a number, '>= number' or '<= number'")
    number = int(parsed["number"])
    count = sum(1 for _ in _requests(call.cluster.journal, wanted.api, wanted.client_id, wanted.after))
    holds = {None: count == number, ">=": count >= number, "<=": count <= number}[parsed["sign"]]
    return Verified(holds=holds, count=count, expected=wanted.count)


OPERATIONS = (
    Operation(
        method="GET",
        path=f"{CLUSTER}/events",
        name="listEvents",
        summary=f"Events of the journal in order, at most {EVENTS_MAX}.",
        handle=events,
        query=EventsQuery,
        result=Events,
    ),
    Operation(
        method="GET",
        path=f"{CLUSTER}/events/stream",
        name="streamEvents",
        summary="Events as they happen, as server-sent events: `id` is the sequence number, `event` the kind, `data` "
        "the event.",
        handle=stream,
        query=StreamQuery,
        result=str,
        media_type="text/event-stream",
    ),
    Operation(
        method="GET",
        path=f"{CLUSTER}/requests",
        name="listRequests",
        summary="The requests of clients that the journal holds, in order.",
        handle=requests,
        query=RequestsQuery,
        result=list[ReceivedRequest],
    ),
    Operation(
        method="POST",
        path=f"{CLUSTER}/verify",
        name="verifyRequests",
        summary="Compare the number of requests of an API and a client with an expected one.",
        handle=verified,
        body=Expectation,
        result=Verified,
    ),
)
