"""The events of transactions as text, for the trace of a transactional id and for the report of a failed test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from broker_sim.control.events import TransactionMarkerWritten, TransactionRequestRefused, TransactionStateChanged

if TYPE_CHECKING:
    from collections.abc import Iterable

    from broker_sim.control.events import Event

__all__ = [
    "BEGUN",
    "CONTINUED",
    "ENDED",
    "EXPIRED",
    "FENCED",
    "TIMED_OUT",
    "TransactionEvent",
    "producer_text",
    "transaction_event_text",
    "transactions_of",
]

# The reasons of TransactionStateChanged.
BEGUN: Final = "InitProducerId"
CONTINUED: Final = "InitProducerId of the same producer"
ENDED: Final = "EndTxn"
EXPIRED: Final = "the transactional id has expired"
FENCED: Final = "InitProducerId fences the producer"
TIMED_OUT: Final = "the transaction has timed out"

NO_ERROR: Final = "NONE"
COORDINATOR_PREFIX: Final = "broker-"
"""The client ids of requests that brokers send."""

TransactionEvent: TypeAlias = TransactionStateChanged | TransactionMarkerWritten | TransactionRequestRefused


def transactions_of(events: Iterable[Event]) -> dict[str, list[TransactionEvent]]:
    """Return the events per transactional id, in the order of their first events.

    A marker names a producer id alone: it belongs to the transactional id that has that producer id then.
    """
    found: dict[str, list[TransactionEvent]] = {}
    owners: dict[int, str] = {}
    for event in events:
        if isinstance(event, TransactionStateChanged | TransactionRequestRefused):
            found.setdefault(event.transactional_id, []).append(event)
            if isinstance(event, TransactionStateChanged):
                owners[event.producer_id] = event.transactional_id
        elif isinstance(event, TransactionMarkerWritten) and event.producer_id in owners:
            found[owners[event.producer_id]].append(event)
    return found


def transaction_event_text(event: TransactionEvent) -> str:
    """Return one line on an event."""
    producer = producer_text(event.producer_id, event.producer_epoch)
    match event:
        case TransactionStateChanged():
            partitions = f", partitions: {event.partitions}" if event.partitions else ""
            reason = f"; {event.reason}" if event.reason else ""
            client = f" (client {event.client_id})" if event.client_id else ""
            return f"{event.previous} > {event.state}, {producer}{partitions}{reason}{client}"
        case TransactionMarkerWritten():
            name = "commit marker" if event.committed else "abort marker"
            by_client = event.client_id and not event.client_id.startswith(COORDINATOR_PREFIX)
            sender = f", sent by client {event.client_id}" if by_client else ""
            where = f"{event.topic}-{event.partition}"
            if event.error == NO_ERROR:
                return f"{where} has the {name} of {producer}{sender}"
            return f"{where} refuses the {name} of {producer}{sender}: {event.error}"
        case TransactionRequestRefused():
            client = event.client_id or "a client without an id"
            named = f", which has {producer}," if event.producer_id >= 0 else ""
            return f"{event.api} of {client}{named} is refused: {event.error}"


def producer_text(producer_id: int, producer_epoch: int) -> str:
    """Return the name of a producer: `producer 1000 epoch 3`."""
    return f"producer {producer_id} epoch {producer_epoch}"
