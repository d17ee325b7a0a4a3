"""wire-throttle: a client sends nothing to a broker for the `throttle_time_ms` of its response (KIP-219).

The broker does not read for that time, and its journal states at the end how many requests have arrived nevertheless. A
client that gives up and sends on a new connection within the time does not wait either. Requests that were in flight
when the response came are no violation.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

from broker_scenarios.findings import Finding, FindingKind
from broker_scenarios.history import EventType
from broker_sim.control.events import ConnectionOpened, RequestReceived, ResponseSent, ThrottleEnded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_scenarios.checks.on_the_wire.wire_facts import WireFacts

__all__ = ["ignored_throttles"]

_EARLY_US: Final = 1_000
"""Clients count the throttle time in whole milliseconds."""
_IN_FLIGHT_DEFAULT: Final = "5"


class _Window(NamedTuple):
    """The throttle time of a response; `place` numbers its request among those of its API on the connection."""

    request: RequestReceived
    response: ResponseSent
    place: int

    def covers(self, at_us: int) -> bool:
        return at_us <= self.response.time_us + self.response.throttle_us - _EARLY_US


def ignored_throttles(facts: WireFacts) -> Iterator[Finding]:
    """Find the requests that were sent within the throttle time of their connection."""
    if not facts.responds_before_throttling:
        return
    sends = _Sends(facts)
    opened_us: dict[str, int] = {}
    received: dict[tuple[int, int], tuple[RequestReceived, int]] = {}
    numbers: Counter[str] = Counter()
    places: Counter[tuple[str, str]] = Counter()
    latest: dict[tuple[str | None, int, str], _Window] = {}
    of_connection: dict[str, _Window] = {}
    arrived_in: dict[tuple[str, int], _Window] = {}
    for event in facts.journal:
        if type(event) is ConnectionOpened:
            opened_us[event.connection_id] = event.time_us
        elif type(event) is ResponseSent and event.throttle_us:
            if (known := received.get((event.broker_id, event.request_id))) is not None:
                request, place = known
                window = _Window(request, event, place)
                latest[request.client_id, request.broker_id, request.api] = window
                of_connection[event.connection_id] = window
        elif type(event) is ThrottleEnded:
            if (ended := of_connection.get(event.connection_id)) is not None:
                number = numbers[event.connection_id]
                arrived_in.update(((event.connection_id, number + each), ended) for each in range(1, event.early + 1))
        elif type(event) is RequestReceived and event.replica_id < 0:
            connection = event.connection_id
            numbers[connection] += 1
            places[connection, event.api] += 1
            place = places[connection, event.api]
            received[event.broker_id, event.request_id] = event, place
            early = arrived_in.get((connection, numbers[connection]))
            before = latest.get((event.client_id, event.broker_id, event.api))
            if early is None and before is not None and before.covers(event.time_us):
                early = before
            if early is None or early.request.api != event.api:
                continue
            if connection == early.response.connection_id:
                ignored = place - early.place >= sends.in_flight(event) or sends.follows(event, early.response)
            else:
                ignored = opened_us.get(connection, 0) > early.response.time_us
            if ignored:
                yield _finding(event, early.response)


class _Sends:
    """Derives from the history of the clients which requests were sent after a response."""

    def __init__(self, facts: WireFacts) -> None:
        self._configs = facts.configs
        self._values: dict[tuple[int, int], list[int]] = {}
        for batch in facts.batches:
            self._values.setdefault(batch.request, []).extend(batch.values)
        self._invoked_us: dict[int, int] = {}
        self._acked_us: dict[int, int] = {}
        for event in facts.history:
            if event.type == EventType.INVOKE:
                self._invoked_us.setdefault(event.value_id, event.time_us)
            elif event.type == EventType.OK:
                self._acked_us.setdefault(event.value_id, event.time_us)

    def in_flight(self, request: RequestReceived) -> int:
        """Return how many requests of its API the client sends before it has the response to the first of them."""
        if request.api != "Produce":
            return 1
        config = self._configs.get(request.client_id or "", {})
        return int(config.get("max.in.flight.requests.per.connection", _IN_FLIGHT_DEFAULT))

    def follows(self, request: RequestReceived, response: ResponseSent) -> bool:
        """Return True if a record of the request was new when the client had already reported the response."""
        acked = self._values.get((response.broker_id, response.request_id), ())
        reported = [self._acked_us[value] for value in acked if self._acked_us.get(value, -1) >= response.time_us]
        sent = self._values.get((request.broker_id, request.request_id), ())
        invoked = [self._invoked_us.get(value, 0) for value in sent]
        return bool(reported and invoked) and max(invoked) >= min(reported)


def _finding(request: RequestReceived, response: ResponseSent) -> Finding:
    throttle_ms = response.throttle_us / 1000
    return Finding(
        kind=FindingKind.WIRE_THROTTLE,
        topic="",
        partition=-1,
        value_id=-1,
        detail=(
            f"request {request.request_id} ({request.api}) of {request.client_id} to broker {request.broker_id} "
            f"was sent within the throttle time of {throttle_ms:g} ms of the response to request {response.request_id}"
        ),
        complete_us=request.time_us,
    )
