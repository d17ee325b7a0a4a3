"""Fast path that validates a produced batch: one valid batch of magic 2 whose bytes the topic stores unchanged.

Mirrors UnifiedLog.analyzeAndValidateRecords and LogValidator where they change only offset, leader epoch and max
timestamp. Every other record set takes the slow path, `record_assignment`, which repeats the checks in Kafka's order
and has the error messages.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from broker_sim.log.append_results import AppendOrigin
from broker_sim.log.received_batch import LARGE_BATCH_BYTES, ReceivedBatch, place_in_request
from broker_sim.log.record_assignment import DECOMPRESSED_BATCH_LIMIT_BYTES, assign_offset, target_codec
from broker_sim.log.stored_batch import LOG_FIELDS, NO_TIMESTAMP, StoredBatch
from protocol_specs.errors import RecordBatchError
from protocol_specs.records.batch_peek import (
    ATTRIBUTES_OFFSET,
    COMPRESSION_CODEC_MASK,
    CONTROL_FLAG_MASK,
    LOG_OVERHEAD,
    MAGIC_OFFSET,
    MAGIC_V2,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    peek_header,
)
from protocol_specs.records.batch_walk import RecordReading, walk_records
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.lone_batch import LoneBatch
from protocol_specs.records.record_batch import records_section, with_offset_and_epoch

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.records.batch_walk import RecordsWalk
    from protocol_specs.records.lone_batch import RecordSet

_FIELDS: Final = struct.Struct(">qi4xxIhiqqqhii")
"""The header of a batch without leader epoch and magic."""

# Constants, because looking up a member of an enum is slow.
_CLIENT: Final = AppendOrigin.CLIENT
_LAST_CODEC: Final = int(CompressionCodec.ZSTD)

_INT64_MAX: Final = (1 << 63) - 1
_EARLIEST_SANE_TIMESTAMP: Final = -(1 << 62)
"""Below it, Java's subtraction from the broker's time overflows."""


def validated(
    records: RecordSet,
    topic_partition: TopicPartition,
    config: TopicConfig,
    offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin,
) -> StoredBatch | None:
    """Return a record set as the log stores it at `offset`; None for one without a complete batch.

    Raises:
        RecordsRefused: The records are invalid for this log.
    """
    if isinstance(records, LoneBatch):
        records = bytes(records)
    return stored_as_it_is(records, config, offset, leader_epoch, now_ms, origin) or assign_offset(
        memoryview(records),
        topic_partition=topic_partition,
        config=config,
        offset=offset,
        leader_epoch=leader_epoch,
        now_ms=now_ms,
        origin=origin,
    )


def stored_as_it_is(
    records: bytes | memoryview, config: TopicConfig, offset: int, leader_epoch: int, now_ms: int, origin: AppendOrigin
) -> StoredBatch | None:
    """Return the only batch of a record set as the log stores it, from `offset` on; None selects the slow path."""
    length = len(records)
    if length < RECORD_BATCH_OVERHEAD or records[MAGIC_OFFSET] != MAGIC_V2:
        return None
    # Locals, because a BatchHeader per batch would cost more than all checks.
    (
        base_offset, batch_length, crc, attributes, last_offset_delta, base_timestamp, max_timestamp,
        producer_id, producer_epoch, base_sequence, records_count,
    ) = _FIELDS.unpack_from(records)  # fmt: skip
    codec = attributes & COMPRESSION_CODEC_MASK
    if (
        LOG_OVERHEAD + batch_length != length
        or length > config.max_message_bytes
        or codec > _LAST_CODEC
        or crc32c(records[ATTRIBUTES_OFFSET:]) != crc
        or (config.compression_type != "producer" and target_codec(config) != codec)
    ):
        return None
    if origin is _CLIENT and (
        base_offset
        or not 0 < records_count == last_offset_delta + 1
        or attributes & CONTROL_FLAG_MASK
        or (producer_id >= 0 and base_sequence < 0)
    ):
        return None
    make: Callable[..., StoredBatch] = StoredBatch
    data: bytes | memoryview
    place = None if codec or length < LARGE_BATCH_BYTES else place_in_request(records)
    if place is None:
        data = LOG_FIELDS.pack(offset, batch_length, leader_epoch) + records[MAGIC_OFFSET:]
        walk = _walk(data, RECORD_BATCH_OVERHEAD, length, records_count, codec)
    else:
        make, data = ReceivedBatch, memoryview(records)
        request, position = place
        walk = _walk(request, position + RECORD_BATCH_OVERHEAD, position + length, records_count, codec)
    if walk is None:
        return None
    newest = base_timestamp + walk.max_timestamp_delta
    oldest = base_timestamp + walk.min_timestamp_delta
    if attributes & TIMESTAMP_TYPE_MASK or newest > _INT64_MAX or (config.compact and walk.first_null_key_index >= 0):
        return None
    timestamp_type = config.timestamp_type
    if timestamp_type:
        newest = now_ms
    elif (
        newest > now_ms + config.message_timestamp_after_max_ms
        or oldest < now_ms - config.message_timestamp_before_max_ms
        or oldest < _EARLIEST_SANE_TIMESTAMP
    ):
        return None
    elif newest < NO_TIMESTAMP:
        newest = NO_TIMESTAMP
    if newest != max_timestamp or timestamp_type:
        data = with_offset_and_epoch(records, offset, leader_epoch, max_timestamp=newest, timestamp_type=timestamp_type)
    return make(
        data,
        offset,
        offset + last_offset_delta,
        leader_epoch,
        newest,
        length,
        records_count,
        producer_id,
        producer_epoch,
        base_sequence,
        attributes,
    )


def _walk(data: bytes, start: int, end: int, records_count: int, codec: int) -> RecordsWalk | None:
    """Walk over the records; None if one is malformed or their offsets must be corrected."""
    try:
        if not codec:
            return walk_records(data, records_count, start=start, end=end)
        section = records_section(data, peek_header(data), limit_bytes=DECOMPRESSED_BATCH_LIMIT_BYTES)
        walk = walk_records(section, records_count, reading=RecordReading.PARTIAL)
    except RecordBatchError:
        return None
    return walk if walk.first_wrong_offset_index < 0 else None
