"""A batch of one uncompressed record that this process builds and appends. Mirrors MemoryRecords.withRecords.

Coordinators write such batches for most operations, and for every transaction marker. One that its builder keeps beside
its fields is not parsed again by the log. RecordBatchBuilder builds the same bytes.
"""

from __future__ import annotations

from protocol_specs.records.batch_peek import (
    COVERED_BY_CRC,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    RECORD_BATCH_OVERHEAD,
    UP_TO_CRC,
)
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.varints import SMALL_VARINTS, SMALL_VARINTS_END, encode_varint

__all__ = ["LoneBatch", "lone_batch"]

_ATTRIBUTES_AND_DELTAS = bytes(3)
_NO_HEADERS = b"\0"


class LoneBatch(bytes):
    """The bytes of a valid batch of one record with a key, and the fields of its header."""

    timestamp_ms: int
    attributes: int
    producer_id: int
    producer_epoch: int
    base_sequence: int


def lone_batch(
    timestamp_ms: int,
    key: bytes,
    value: bytes,
    *,
    attributes: int = 0,
    base_offset: int = 0,
    partition_leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
) -> LoneBatch:
    """Return the batch of one record. `attributes` has no compression and no LogAppendTime.

    Raises struct.error for a field that does not fit, and ValueError for a record that is too long.
    """
    try:
        sizes = SMALL_VARINTS[len(key)], SMALL_VARINTS[len(value)]
    except IndexError:
        sizes = encode_varint(len(key)), encode_varint(len(value))
    body = b"".join((_ATTRIBUTES_AND_DELTAS, sizes[0], key, sizes[1], value, _NO_HEADERS))
    size = len(body)
    record = (SMALL_VARINTS[size] if size < SMALL_VARINTS_END else encode_varint(size)) + body
    covered = COVERED_BY_CRC.pack(
        attributes, 0, timestamp_ms, timestamp_ms, producer_id, producer_epoch, base_sequence, 1
    )
    covered += record
    length = RECORD_BATCH_OVERHEAD - LOG_OVERHEAD + len(record)
    batch = LoneBatch(UP_TO_CRC.pack(base_offset, length, partition_leader_epoch, MAGIC_V2, crc32c(covered)) + covered)
    batch.timestamp_ms = timestamp_ms
    batch.attributes = attributes
    batch.producer_id = producer_id
    batch.producer_epoch = producer_epoch
    batch.base_sequence = base_sequence
    return batch
