"""The short way of a produced batch into the log: one of magic 2, with nothing wrong, whose bytes the topic keeps.

Mirrors UnifiedLog.analyzeAndValidateRecords and LogValidator where they change nothing but offset, leader epoch and
max timestamp. Whatever is not so, or may have to be refused, goes the long way: `record_assignment` asks everything
again, in Kafka's order, and has the words for it.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from broker_sim.log.append_results import AppendOrigin
from broker_sim.log.record_assignment import DECOMPRESSED_BATCH_LIMIT_BYTES, target_codec
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
    TRANSACTIONAL_FLAG_MASK,
    peek_header,
)
from protocol_specs.records.batch_walk import RecordReading, walk_records
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_batch import records_section, with_offset_and_epoch

if TYPE_CHECKING:
    from broker_sim.config.topic_config import TopicConfig
    from protocol_specs.records.batch_walk import RecordsWalk

_FIELDS: Final = struct.Struct(">qi4xxIhiqqqhii")
"""The header of a batch but for leader epoch and magic."""

# What is asked of each batch: an enum's members are looked up slowly.
_CLIENT: Final = AppendOrigin.CLIENT
_LAST_CODEC: Final = CompressionCodec.ZSTD

_INT64_MAX: Final = (1 << 63) - 1
_EARLIEST_SANE_TIMESTAMP: Final = -(1 << 62)
"""Below it, Java's subtraction from the broker's time overflows."""


def stored_as_it_is(
    records: bytes | memoryview, config: TopicConfig, offset: int, leader_epoch: int, now_ms: int, origin: AppendOrigin
) -> StoredBatch | None:
    """The only batch of a record set as the log stores it, its first record at `offset`; None for the long way."""
    length = len(records)
    if length < RECORD_BATCH_OVERHEAD or records[MAGIC_OFFSET] != MAGIC_V2:
        return None
    # In locals: a BatchHeader for each batch would cost more than all that is asked of it.
    (
        base_offset,
        batch_length,
        crc,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        records_count,
    ) = _FIELDS.unpack_from(records)
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
    data = b"".join((LOG_FIELDS.pack(offset, batch_length, leader_epoch), records[MAGIC_OFFSET:]))
    try:
        walk = _walk_compressed(data) if codec else walk_records(data, records_count, start=RECORD_BATCH_OVERHEAD)
    except RecordBatchError:
        return None
    if walk is None or attributes & TIMESTAMP_TYPE_MASK or (config.compact and walk.first_null_key_index >= 0):
        return None
    newest = _newest_timestamp(walk, base_timestamp, config, now_ms)
    if newest is None:
        return None
    timestamp_type = config.timestamp_type
    if newest != max_timestamp or timestamp_type:
        data = with_offset_and_epoch(records, offset, leader_epoch, max_timestamp=newest, timestamp_type=timestamp_type)
    return StoredBatch(
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
        attributes & CONTROL_FLAG_MASK != 0,
        attributes & TRANSACTIONAL_FLAG_MASK != 0,
    )


def _walk_compressed(data: bytes) -> RecordsWalk | None:
    """What the records are like; None where their offsets have to be put right."""
    header = peek_header(data)
    section = records_section(data, header, limit_bytes=DECOMPRESSED_BATCH_LIMIT_BYTES)
    walk = walk_records(section, header.records_count, reading=RecordReading.PARTIAL)
    return walk if walk.first_wrong_offset_index < 0 else None


def _newest_timestamp(walk: RecordsWalk, base_timestamp: int, config: TopicConfig, now_ms: int) -> int | None:
    """The batch's max timestamp as the broker writes it, if no record's has to be refused."""
    newest = base_timestamp + walk.max_timestamp_delta
    if newest > _INT64_MAX:
        return None
    if config.timestamp_type:
        return now_ms
    oldest = base_timestamp + walk.min_timestamp_delta
    if (
        newest > now_ms + config.message_timestamp_after_max_ms
        or oldest < now_ms - config.message_timestamp_before_max_ms
        or oldest < _EARLIEST_SANE_TIMESTAMP
    ):
        return None
    return newest if newest > NO_TIMESTAMP else NO_TIMESTAMP  # noqa: FURB136 - a call would cost more
