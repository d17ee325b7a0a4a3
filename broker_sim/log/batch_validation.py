"""The short way of a produced batch into the log: one of magic 2, with nothing wrong, whose bytes the topic keeps.

Mirrors UnifiedLog.analyzeAndValidateRecords and LogValidator where they change nothing but offset, leader epoch and
max timestamp. Whatever is not so, or may have to be refused, goes the long way: `record_assignment` asks everything
again, in Kafka's order, and has the words for it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from broker_sim.log.append_results import AppendOrigin
from broker_sim.log.record_assignment import DECOMPRESSED_BATCH_LIMIT_BYTES, assign_offset, target_codec
from broker_sim.log.stored_batch import NO_TIMESTAMP, StoredBatch
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
    TRANSACTIONAL_FLAG_MASK,
    peek_header,
)
from protocol_specs.records.batch_walk import RecordReading, walk_records
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_batch import records_section, with_offset_and_epoch
from protocol_specs.records.record_validation import refusal_of_client_batch

if TYPE_CHECKING:
    from broker_sim.config.topic_config import TopicConfig
    from broker_sim.topic_partition import TopicPartition
    from protocol_specs.records.batch_peek import BatchHeader

_PREFIX: Final = struct.Struct(">qii")
"""Base offset, batch length, leader epoch: all that lies before the magic."""

# What is asked of each batch: an enum's members are looked up slowly.
_CLIENT: Final = AppendOrigin.CLIENT
_LAST_CODEC: Final = CompressionCodec.ZSTD

_INT64_MAX: Final = (1 << 63) - 1
_EARLIEST_SANE_TIMESTAMP: Final = -(1 << 62)
"""Below it, Java's subtraction from the broker's time overflows."""


def validate_and_assign_offset(
    records: bytes | memoryview,
    *,
    topic_partition: TopicPartition,
    config: TopicConfig,
    offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin = _CLIENT,
) -> StoredBatch | None:
    """The record set as the log stores it, its first record at `offset`; None where it holds no whole batch.

    Raises RecordsRefused by Kafka's rules, in their order.
    """
    if not isinstance(records, memoryview):
        records = memoryview(records)
    header = _plain_header(records, config, origin)
    max_timestamp, data = None, b""
    if header is not None:
        # What changes lies before the checksum: one copy, and nothing to compute. It is also what is walked.
        data = b"".join((_PREFIX.pack(offset, header.batch_length, leader_epoch), records[MAGIC_OFFSET:]))
        max_timestamp = _max_timestamp(data, header, config, now_ms)
    if header is None or max_timestamp is None:
        return assign_offset(
            records,
            topic_partition=topic_partition,
            config=config,
            offset=offset,
            leader_epoch=leader_epoch,
            now_ms=now_ms,
            origin=origin,
        )
    attributes = header.attributes
    stamped_by_broker = attributes & TIMESTAMP_TYPE_MASK
    if max_timestamp != header.max_timestamp or bool(stamped_by_broker) != bool(config.timestamp_type):
        data = with_offset_and_epoch(
            records, offset, leader_epoch, max_timestamp=max_timestamp, timestamp_type=config.timestamp_type
        )
    return StoredBatch(
        data,
        offset,
        offset + header.last_offset_delta,
        leader_epoch,
        max_timestamp,
        len(data),
        header.records_count,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        attributes & CONTROL_FLAG_MASK != 0,
        attributes & TRANSACTIONAL_FLAG_MASK != 0,
    )


def _plain_header(records: memoryview, config: TopicConfig, origin: AppendOrigin) -> BatchHeader | None:
    """The header of the only batch, if nothing is wrong with it and the topic keeps its codec."""
    length = len(records)
    if length < RECORD_BATCH_OVERHEAD or records[MAGIC_OFFSET] != MAGIC_V2:
        return None
    header = peek_header(records)
    if (
        LOG_OVERHEAD + header.batch_length != length
        or length > config.max_message_bytes
        or header.attributes & COMPRESSION_CODEC_MASK > _LAST_CODEC
        or crc32c(records[ATTRIBUTES_OFFSET:]) != header.crc
    ):
        return None
    if origin is _CLIENT and (header.base_offset != 0 or refusal_of_client_batch(header) is not None):
        return None
    if config.compression_type != "producer" and target_codec(config) is not header.codec:
        return None
    return header


def _max_timestamp(data: bytes, header: BatchHeader, config: TopicConfig, now_ms: int) -> int | None:
    """The batch's max timestamp as the broker writes it, if no record may have to be refused."""
    compressed = header.attributes & COMPRESSION_CODEC_MASK
    try:
        if compressed:
            section = records_section(data, header, limit_bytes=DECOMPRESSED_BATCH_LIMIT_BYTES)
            walk = walk_records(section, header.records_count, reading=RecordReading.PARTIAL)
        else:
            walk = walk_records(data, header.records_count, start=RECORD_BATCH_OVERHEAD)
    except RecordBatchError:
        return None
    if header.attributes & TIMESTAMP_TYPE_MASK:
        return None
    newest = header.base_timestamp + walk.max_timestamp_delta
    oldest = header.base_timestamp + walk.min_timestamp_delta
    if newest > _INT64_MAX or (config.compact and walk.first_null_key_index >= 0):
        return None
    if compressed and walk.first_wrong_offset_index >= 0:
        return None
    if config.timestamp_type:
        return now_ms
    if (
        newest > now_ms + config.message_timestamp_after_max_ms
        or oldest < now_ms - config.message_timestamp_before_max_ms
        or oldest < _EARLIEST_SANE_TIMESTAMP
    ):
        return None
    if newest < NO_TIMESTAMP:
        return NO_TIMESTAMP
    return newest
