"""Record batches of magic 2 (KIP-98), and their rewriting: a new offset, epoch, timestamp or producer.

Mirrors DefaultRecordBatch. Headers are in batch_peek, building in batch_builder, reading in record_reader; their
public names are here too. A broker's structural check is in batch_walk.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from protocol_specs.records.batch_builder import (
    Header,
    RecordBatchBuilder,
    encode_record_body,
    estimate_size_in_bytes_upper_bound,
    record_size_upper_bound,
    seal_batch,
)
from protocol_specs.records.batch_peek import (
    ATTRIBUTES_OFFSET,
    COMPRESSION_CODEC_MASK,
    CONTROL_FLAG_MASK,
    DELETE_HORIZON_FLAG_MASK,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    RECORD_BATCH_OVERHEAD,
    TIMESTAMP_TYPE_MASK,
    TRANSACTIONAL_FLAG_MASK,
    BatchHeader,
    TimestampType,
    check_batch,
    decrement_sequence,
    increment_sequence,
    iterate_batches,
    peek_header,
)
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.record_reader import (
    MAX_DECOMPRESSED_BYTES,
    Record,
    raw_records,
    read_record_set,
    read_records,
    records_section,
)

__all__ = [
    "MAX_DECOMPRESSED_BYTES",
    "NO_PARTITION_LEADER_EPOCH",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "RECORD_BATCH_OVERHEAD",
    "BatchHeader",
    "CompressionCodec",
    "Header",
    "Record",
    "RecordBatchBuilder",
    "TimestampType",
    "check_batch",
    "decrement_sequence",
    "empty_batch",
    "encode_record_body",
    "estimate_size_in_bytes_upper_bound",
    "increment_sequence",
    "iterate_batches",
    "peek_header",
    "read_record_set",
    "read_records",
    "record_size_upper_bound",
    "records_section",
    "seal_batch",
    "with_offset_and_epoch",
    "with_producer_state",
]

_KNOWN_ATTRIBUTES: Final = (
    COMPRESSION_CODEC_MASK
    | TIMESTAMP_TYPE_MASK
    | TRANSACTIONAL_FLAG_MASK
    | CONTROL_FLAG_MASK
    | DELETE_HORIZON_FLAG_MASK
)


def with_offset_and_epoch(
    batch: bytes | memoryview,
    base_offset: int,
    leader_epoch: int,
    *,
    max_timestamp: int | None = None,
    timestamp_type: TimestampType | None = None,
) -> bytes:
    """Return the batch with the fields that a leader sets: offset, leader epoch, and max timestamp if given.

    Offset and epoch are outside the checksum, which is computed again only when the timestamp or its type change;
    unknown attribute bits are lost then, as in DefaultRecordBatch.setMaxTimestamp.
    """
    header = peek_header(batch)
    header.base_offset = base_offset
    header.partition_leader_epoch = leader_epoch
    if max_timestamp is None:
        max_timestamp = header.max_timestamp
    if timestamp_type is None:
        timestamp_type = header.timestamp_type
    if max_timestamp != header.max_timestamp or timestamp_type != header.timestamp_type:
        header.max_timestamp = max_timestamp
        header.attributes &= _KNOWN_ATTRIBUTES & ~TIMESTAMP_TYPE_MASK
        if timestamp_type == TimestampType.LOG_APPEND_TIME:
            header.attributes |= TIMESTAMP_TYPE_MASK
        return _with_checksum(header, batch)
    return b"".join((header.pack(), raw_records(batch, header)))


def with_producer_state(
    batch: bytes | memoryview,
    *,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    is_transactional: bool,
) -> bytes:
    """Return the batch with other producer data. Mirrors MemoryRecordsBuilder.reopenAndRewriteProducerState."""
    header = peek_header(batch)
    attributes = header.attributes & ~TRANSACTIONAL_FLAG_MASK
    if is_transactional:
        attributes |= TRANSACTIONAL_FLAG_MASK
    header = replace(
        header,
        attributes=attributes,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
    )
    return _with_checksum(header, batch)


def empty_batch(header: BatchHeader) -> bytes:
    """Return the empty batch that compaction keeps for a producer's last sequence. Mirrors writeEmptyHeader.

    Offsets, epochs, producer state, max timestamp and flags are those of `header`; its records and codec are removed.
    """
    return seal_batch(
        b"",
        base_offset=header.base_offset,
        partition_leader_epoch=header.partition_leader_epoch,
        attributes=header.attributes & (TIMESTAMP_TYPE_MASK | TRANSACTIONAL_FLAG_MASK | CONTROL_FLAG_MASK),
        last_offset_delta=header.last_offset_delta,
        base_timestamp=NO_TIMESTAMP,
        max_timestamp=header.max_timestamp,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        records_count=0,
    )


def _with_checksum(header: BatchHeader, batch: bytes | memoryview) -> bytes:
    records = raw_records(batch, header)
    packed = bytearray(header.pack())
    crc = crc32c(records, crc32c(packed[ATTRIBUTES_OFFSET:]))
    packed[ATTRIBUTES_OFFSET - 4 : ATTRIBUTES_OFFSET] = crc.to_bytes(4, "big")
    return b"".join((packed, records))
