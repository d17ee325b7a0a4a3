"""Requests that were sent, or are being sent, and await their response.

Mirrors InFlightRequests and ClientRequest/Response.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from broker_client.errors import IllegalState, UnsupportedVersion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from protocol_specs.message import Message

__all__ = ["ClientResponse", "Delivery", "InFlightRequest", "InFlightRequests"]


class Delivery(Enum):
    """How a request ended."""

    RECEIVED = auto()
    WRITTEN = auto()
    """No response was requested (acks=0): the request is written."""
    DISCONNECTED = auto()
    TIMED_OUT = auto()
    VERSION_MISMATCH = auto()


@dataclass(slots=True, kw_only=True)
class ClientResponse:
    """The end of one request, for its sender."""

    node_id: int
    correlation_id: int
    api_version: int
    delivery: Delivery
    body: Message | None = None
    received_ms: int = 0
    latency_ms: int = 0
    mismatch: UnsupportedVersion | None = None


@dataclass(slots=True, kw_only=True)
class InFlightRequest:
    """A request on its way; `callback` is None for the client's own requests (metadata, API versions)."""

    node_id: int
    correlation_id: int
    request: Message
    api_version: int
    expect_response: bool
    is_internal: bool
    created_ms: int
    sent_ms: int
    timeout_ms: int
    callback: Callable[[ClientResponse], None] | None
    throttle_ms: int = 0
    written: bool = False

    def ended(self, delivery: Delivery, now_ms: int, body: Message | None = None) -> ClientResponse:
        """The response for its sender."""
        return ClientResponse(
            node_id=self.node_id,
            correlation_id=self.correlation_id,
            api_version=self.api_version,
            delivery=delivery,
            body=body,
            received_ms=now_ms,
            latency_ms=max(now_ms - self.created_ms, 0),
        )

    def is_overdue(self, now_ms: int) -> bool:
        """True if its time-out has passed; what the broker throttled does not count."""
        return max(now_ms - self.sent_ms, 0) > self.timeout_ms + self.throttle_ms


class InFlightRequests:
    """One queue per node, newest at the left; responses complete the oldest."""

    __slots__ = ("_count", "_max_per_connection", "_nodes", "_unanswered")

    def __init__(self, max_per_connection: int) -> None:
        self._max_per_connection = max_per_connection
        self._nodes: dict[int, deque[InFlightRequest]] = {}
        self._unanswered: dict[int, list[InFlightRequest]] = {}
        self._count = 0

    def add(self, request: InFlightRequest) -> None:
        """A request was handed to the selector."""
        self._nodes.setdefault(request.node_id, deque()).appendleft(request)
        self._count += 1

    def complete_next(self, node_id: int) -> InFlightRequest:
        """Remove the oldest: a response belongs to it."""
        request = self._queue(node_id).pop()
        self._count -= 1
        return request

    def put_back(self, request: InFlightRequest) -> None:
        """Restore the oldest: the response was not its own."""
        self._nodes.setdefault(request.node_id, deque()).append(request)
        self._count += 1

    def unanswered(self, request: InFlightRequest) -> None:
        """Keep a request whose response was unusable: it ends with its connection."""
        self._unanswered.setdefault(request.node_id, []).append(request)

    def last_sent(self, node_id: int) -> InFlightRequest:
        """The newest."""
        return self._queue(node_id)[0]

    def complete_last_sent(self, node_id: int) -> InFlightRequest:
        """Remove the newest: it requested no response."""
        request = self._queue(node_id).popleft()
        self._count -= 1
        return request

    def can_send_more(self, node_id: int) -> bool:
        """True if the newest has been written and there is room for another."""
        queue = self._nodes.get(node_id)
        return not queue or (queue[0].written and len(queue) < self._max_per_connection)

    def count(self, node_id: int | None = None) -> int:
        """How many are on their way to a node, or in all."""
        if node_id is None:
            return self._count
        queue = self._nodes.get(node_id)
        return len(queue) if queue else 0

    def clear_all(self, node_id: int) -> list[InFlightRequest]:
        """Take every request of a node, oldest first: its connection is gone."""
        queue = self._nodes.pop(node_id, deque())
        self._count -= len(queue)
        return [*self._unanswered.pop(node_id, ()), *reversed(queue)]

    def increment_throttle_time(self, node_id: int, throttle_ms: int) -> None:
        """Give the node's requests longer: the broker will not read them for a while."""
        for request in self._nodes.get(node_id, ()):
            request.throttle_ms += throttle_ms

    def nodes_with_overdue_requests(self, now_ms: int) -> list[int]:
        """The nodes that have let a request wait past its time-out."""
        return [
            node_id for node_id, queue in self._nodes.items() if any(request.is_overdue(now_ms) for request in queue)
        ]

    def next_overdue_ms(self, now_ms: int, none_ms: int) -> int:
        """How long until a request is overdue; `none_ms` when none is on its way."""
        earliest_ms = None
        for queue in self._nodes.values():
            for request in queue:
                due_ms = request.sent_ms + request.timeout_ms + request.throttle_ms
                if earliest_ms is None or due_ms < earliest_ms:
                    earliest_ms = due_ms
        return none_ms if earliest_ms is None else max(earliest_ms + 1 - now_ms, 0)

    def node_ids(self) -> Iterable[int]:
        """The nodes that ever had a request and are connected still."""
        return self._nodes

    def _queue(self, node_id: int) -> deque[InFlightRequest]:
        queue = self._nodes.get(node_id)
        if not queue:
            raise IllegalState(f"there are no in-flight requests for node {node_id}")
        return queue
