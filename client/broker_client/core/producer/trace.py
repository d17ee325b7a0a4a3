"""The steps of each batch as events, for `trace=` of a producer and `broker-sim trace`.

A batch is created in its partition's queue, filled, ready for a reason, drained by the Sender, sent to a node's
connection, in flight once it is written, and then acknowledged, retried, split, expired or failed; at the end its
memory goes back to the BufferPool. Kafka has no counterpart: the events are the steps of RecordAccumulator, Sender,
NetworkClient and Selector, under their names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from broker_client.records import TopicPartition

__all__ = ["BatchEvent", "BatchEventKind", "ReadyReason", "Trace"]


class BatchEventKind(Enum):
    """The kinds of events."""

    CREATED = "created"
    """The BufferPool has allocated memory and the first record is appended; for a part of a split batch, it is cut."""
    READY = "ready"
    """The Sender may take it, for the reason that `detail` names: see ReadyReason."""
    APPENDED = "appended"
    """No more records go into it; `appends` has their times and counts."""
    DRAINED = "drained"
    """The Sender has taken it out of its queue, to go to `node`."""
    SENT = "sent"
    """Its request `correlation_id` is handed to the connection of `node`."""
    IN_FLIGHT = "in flight"
    """The request is written and awaits its response."""
    RETRIED = "retried"
    SPLIT = "split"
    EXPIRED = "expired"
    ACKNOWLEDGED = "acknowledged"
    FAILED = "failed"
    FREED = "freed"
    """Its memory is back in the BufferPool."""


class ReadyReason(Enum):
    """Why a batch may be sent. Mirrors the conditions of RecordAccumulator.batchReady."""

    FULL = "full"
    LINGERED = "lingered"
    BACKED_OFF = "backed off"
    FLUSH = "a flush"
    MEMORY = "a caller waits for memory"
    TRANSACTION = "the transaction ends"
    CLOSE = "the producer closes"
    ALONG = "another batch goes to its node"
    """It was not ready itself: the request to its leader had room for it."""


@dataclass(slots=True, kw_only=True)
class BatchEvent:
    """One step; `batch` counts the producer's batches from 0, `detail` is the reason or the result.

    Numbers that a step does not have are -1, as in Kafka.
    """

    kind: BatchEventKind
    time_us: int
    client_id: str
    topic_partition: TopicPartition
    batch: int
    records: int
    size_bytes: int
    """What it takes on the wire: exact once it is drained, before that an estimate."""
    attempts: int = 0
    """How many times it has failed and was put back."""
    backoff_ms: int = -1
    """RETRIED: so long it waits at least, unless its partition gets another leader."""
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    base_offset: int = -1
    node: int = -1
    correlation_id: int = -1
    part_of: int = -1
    """CREATED of a split batch's part: the batch that was split, and there the index of the part's first record."""
    first_record: int = 0
    appends: tuple[tuple[int, int], ...] = ()
    """APPENDED: pairs of a time and how many records came then, in order."""
    error: str = ""
    """RETRIED, EXPIRED, FAILED: the broker's error code, or the kind of the producer's own error."""
    detail: str = ""


Trace: TypeAlias = Callable[[BatchEvent], None]
