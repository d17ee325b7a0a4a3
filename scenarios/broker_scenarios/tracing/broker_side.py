"""The requests of a producer in the brokers' journal, found by client id, node and correlation id."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_client.core.producer.trace import BatchEvent, BatchEventKind
from broker_scenarios.tracing.request_trace import cluster_change
from broker_sim.control.events import BatchAppended, BatchDeduplicated, RequestReceived

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from broker_scenarios.tracing.batch_lives import BatchLife
    from broker_sim.control.events import Event

__all__ = ["BrokerSide"]


class BrokerSide:
    """An index of a journal, which may be empty."""

    def __init__(self, events: Sequence[tuple[int, Event]]) -> None:
        self.events = events
        self._requests: dict[tuple[str | None, int, int], list[tuple[int, RequestReceived]]] = {}
        self._stored: dict[tuple[int, int, str, int], int] = {}
        for number, event in events:
            if isinstance(event, RequestReceived):
                if event.api == "Produce" and event.correlation_id >= 0:
                    key = event.client_id, event.broker_id, event.correlation_id
                    self._requests.setdefault(key, []).append((number, event))
            elif isinstance(event, BatchAppended | BatchDeduplicated):
                place = event.broker_id, event.request_id, event.topic, event.partition
                self._stored[place] = event.base_offset

    def request_of(self, sent: BatchEvent) -> tuple[int, RequestReceived] | None:
        """Return the request of a SENT event with its number in the journal; None if it never arrived."""
        found = self._requests.get((sent.client_id, sent.node, sent.correlation_id), ())
        # Two producers of one name each count from 0: the request is the next one to arrive.
        return min(found, key=lambda request: abs(request[1].time_us - sent.time_us), default=None)

    def changes(self, partition: tuple[str, int], start_us: int, end_us: int) -> Iterator[tuple[int, str]]:
        """Describe the changes among the brokers, and of that partition, from one time to another."""
        for _, event in self.events:
            if start_us <= event.time_us <= end_us:
                text = cluster_change(event, (partition,))
                if text is not None:
                    yield event.time_us, text

    def stored_offset(self, life: BatchLife) -> int:
        """Return the offset at which a leader appended the batch, -1 if the journal has no such append."""
        for event in reversed(life.events):
            if event.kind is BatchEventKind.SENT:
                request = self.request_of(event)
                if request is not None:
                    received = request[1]
                    place = received.broker_id, received.request_id, life.topic, life.partition
                    if place in self._stored:
                        return self._stored[place]
        return -1
