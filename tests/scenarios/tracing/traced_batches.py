"""Events of batches as a producer reports them, in milliseconds from the start of an hour."""

from __future__ import annotations

from typing import Any, Final

from broker_client.core.producer.trace import BatchEvent, BatchEventKind
from broker_client.records import TopicPartition
from broker_sim.control.events import BatchAppended, Event, RequestReceived, ResponseSent

EPOCH_US: Final = 1_000_000


def event(kind: str, at_ms: float, batch: int = 0, **fields: Any) -> BatchEvent:
    given: dict[str, Any] = {"client_id": "p", "records": 3, "size_bytes": 100, **fields}
    key = TopicPartition(given.pop("topic", "orders"), given.pop("partition", 2))
    return BatchEvent(
        kind=BatchEventKind(kind), time_us=EPOCH_US + round(at_ms * 1000), topic_partition=key, batch=batch, **given
    )


def batch(
    number: int, *, at_ms: float = 0, offset: int = -1, correlation_id: int = 7, **fields: Any
) -> list[BatchEvent]:
    """A batch that goes well: filled for 5 ms, sent to node 1, acknowledged 2 ms later."""
    us = EPOCH_US + round(at_ms * 1000)
    sent = {"node": 1, "correlation_id": correlation_id}
    return [
        event("created", at_ms, number, detail="16,384 bytes, 100 left", **fields),
        event("ready", at_ms + 5, number, detail="lingered", **fields),
        event("appended", at_ms + 5, number, appends=((us, 1), (us + 2_000, 2)), **fields),
        event("drained", at_ms + 5, number, node=1, **fields),
        event("sent", at_ms + 5, number, **sent, **fields),
        event("in flight", at_ms + 5.1, number, detail="Produce v13", **sent, **fields),
        event("acknowledged", at_ms + 7, number, base_offset=offset, **fields),
        event("freed", at_ms + 7, number, detail="16,384 bytes", **fields),
    ]


def journal_of(
    correlation_id: int = 7, *, at_ms: float = 5.5, client_id: str = "p", offset: int = 60
) -> list[tuple[int, Event]]:
    """The journal of broker 1 for the request of such a batch."""
    us = EPOCH_US + round(at_ms * 1000)
    ids: dict[str, Any] = {"broker_id": 1, "request_id": 40 + correlation_id}
    request = RequestReceived(
        time_us=us, api="Produce", api_version=13, connection_id="b:1-c:2-0-0", client_id=client_id,
        correlation_id=correlation_id, **ids,
    )  # fmt: skip
    appended = BatchAppended(
        time_us=us, topic="orders", partition=2, base_offset=offset, last_offset=offset + 2, leader_epoch=0, records=3,
        size=100, **ids,
    )  # fmt: skip
    elsewhere = BatchAppended(
        time_us=us, topic="orders", partition=3, base_offset=0, last_offset=0, leader_epoch=0, records=1, size=70, **ids
    )
    response = ResponseSent(
        time_us=us + 1_000, api="Produce", connection_id="b:1-c:2-0-0", size=99, remote_us=1_000, total_us=1_000, **ids
    )
    return list(enumerate([request, appended, elsewhere, response], 1))
