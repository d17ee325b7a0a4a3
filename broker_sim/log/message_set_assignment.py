"""Offset assignment of produced records for a log of magic 0 or 1.

Mirrors Log.append of 0.8 to 0.10, and of 0.11 to 2.8 with an older `message.format.version`.


Each message, or wrapper of compressed ones, is stored as a batch of its own, because a Fetch response begins with the
message that holds the requested offset.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from broker_sim.log.append_results import RecordsRefused
from broker_sim.log.record_assignment import assigned_bytes
from broker_sim.log.stored_batch import (
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    StoredBatch,
)
from protocol_specs.error_codes import ErrorCode
from protocol_specs.errors import RecordBatchError
from protocol_specs.records.batch_peek import COMPRESSION_CODEC_MASK
from protocol_specs.records.record_set import iterate_any

if TYPE_CHECKING:
    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.log.append_results import AppendOrigin
    from broker_sim.topic_partition import TopicPartition

__all__ = ["assign_message_set", "stored_message"]

NO_EPOCH: Final = -1


def assign_message_set(
    records: bytes | memoryview,
    *,
    topic_partition: TopicPartition,
    config: TopicConfig,
    behaviour: ReleaseBehaviour,
    offset: int,
    now_ms: int,
    origin: AppendOrigin,
) -> tuple[StoredBatch, list[StoredBatch]] | None:
    """Return the record set as a whole and its stored messages; None if it holds no complete message.

    Raises:
        RecordsRefused: the first of Kafka's checks, in Kafka's order, that the records fail.
    """
    records = memoryview(records)
    _refuse_unknown(records, behaviour)
    data = assigned_bytes(
        records,
        topic_partition=topic_partition,
        config=config,
        offset=offset,
        leader_epoch=NO_EPOCH,
        now_ms=now_ms,
        origin=origin,
    )
    if data is None:
        return None
    messages: list[StoredBatch] = []
    first = offset
    for header, message in iterate_any(data):
        # A wrapper has the offset of the last message inside.
        messages.append(stored_message(bytes(message), first, header.last_offset, header.max_timestamp))
        first = header.next_offset
    whole = replace(
        messages[0],
        data=data,
        last_offset=messages[-1].last_offset,
        max_timestamp=max(message.max_timestamp for message in messages),
        size=len(data),
        records_count=first - offset,
    )
    return whole, messages


def stored_message(data: bytes, first_offset: int, last_offset: int, timestamp: int) -> StoredBatch:
    """Return a message, or a wrapper of compressed ones, as a stored batch."""
    return StoredBatch(
        data,
        first_offset,
        last_offset,
        NO_EPOCH,
        max(timestamp, NO_TIMESTAMP),
        len(data),
        last_offset - first_offset + 1,
        NO_PRODUCER_ID,
        NO_PRODUCER_EPOCH,
        NO_SEQUENCE,
        attributes=0,
    )


def _refuse_unknown(records: memoryview, behaviour: ReleaseBehaviour) -> None:
    """Refuse a newer format or codec: old brokers read a wrong checksum, or an unknown codec number."""
    try:
        headers = [header for header, _ in iterate_any(records)]
    except RecordBatchError:
        return  # The slow path raises this error with its own message.
    for header in headers:
        if header.magic > behaviour.newest_magic:
            raise RecordsRefused(ErrorCode.CORRUPT_MESSAGE, f"magic {header.magic} is not known yet")
        if header.attributes & COMPRESSION_CODEC_MASK > behaviour.newest_codec:
            raise RecordsRefused(ErrorCode.UNKNOWN_SERVER_ERROR, "its compression codec is not known yet")
