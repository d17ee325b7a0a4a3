"""A batch of one uncompressed record that this process builds and appends. Mirrors MemoryRecords.withRecords.

Coordinators write such batches for most operations, and for every transaction marker. A LoneBatch has its fields, so
that the log does not parse it again, and its bytes in parts, until it has a place in a log. RecordBatchBuilder builds
the same bytes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final, TypeAlias

from protocol_specs.records.batch_peek import (
    COVERED_BY_CRC,
    LOG_OVERHEAD,
    MAGIC_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    UP_TO_CRC,
)
from protocol_specs.records.checksums import crc32c
from protocol_specs.records.varints import encode_varint

__all__ = ["LoneBatch", "RecordSet", "lone_batch"]

_ATTRIBUTES_AND_DELTAS = bytes(3)
_NO_HEADERS = b"\0"
_BESIDE_STRINGS: Final = len(_ATTRIBUTES_AND_DELTAS) + len(_NO_HEADERS)
"""Bytes of a record beside its key and value with their lengths."""
_BESIDE_RECORD: Final = UP_TO_CRC.size + COVERED_BY_CRC.size + len(_NO_HEADERS)
"""Bytes of a batch beside its record up to the end of the value."""
KEYS_MAX: Final = 10_000
"""Most keys, by the length of the value, that are kept with what goes before the value."""


class LoneBatch:
    """A valid batch of one record with a key, without its place in a log; `size` is in bytes.

    `header` begins with the first bytes that the checksum covers; `up_to_value` and `value` are the record.
    """

    __slots__ = (
        "attributes",
        "base_sequence",
        "header",
        "producer_epoch",
        "producer_id",
        "size",
        "timestamp_ms",
        "up_to_value",
        "value",
    )

    attributes: int
    base_sequence: int
    header: bytes
    producer_epoch: int
    producer_id: int
    size: int
    timestamp_ms: int
    up_to_value: bytes
    value: bytes

    def __len__(self) -> int:
        return self.size

    def __bytes__(self) -> bytes:
        return self.placed(0, NO_PARTITION_LEADER_EPOCH)

    def placed(self, base_offset: int, partition_leader_epoch: int) -> bytes:
        """Return the bytes of the batch at an offset of a log."""
        covered = b"".join((self.header, self.up_to_value, self.value, _NO_HEADERS))
        length = self.size - LOG_OVERHEAD
        return UP_TO_CRC.pack(base_offset, length, partition_leader_epoch, MAGIC_V2, crc32c(covered)) + covered


RecordSet: TypeAlias = bytes | memoryview | LoneBatch
"""What is appended to a log."""

_new: Final = object.__new__


def lone_batch(
    timestamp_ms: int,
    key: bytes,
    value: bytes,
    attributes: int = 0,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = NO_PRODUCER_EPOCH,
    base_sequence: int = NO_SEQUENCE,
) -> LoneBatch:
    """Return the batch of one record. `attributes` has no compression and no LogAppendTime.

    Raises struct.error for a field that does not fit, and ValueError for a record that is too long.
    """
    batch = _new(LoneBatch)
    batch.header = COVERED_BY_CRC.pack(
        attributes, 0, timestamp_ms, timestamp_ms, producer_id, producer_epoch, base_sequence, 1
    )
    value_bytes = len(value)
    batch.up_to_value = up_to_value = _up_to_value(key, value_bytes)
    batch.value = value
    batch.size = _BESIDE_RECORD + len(up_to_value) + value_bytes
    batch.timestamp_ms = timestamp_ms
    batch.attributes = attributes
    batch.producer_id = producer_id
    batch.producer_epoch = producer_epoch
    batch.base_sequence = base_sequence
    return batch


@lru_cache(maxsize=KEYS_MAX)
def _up_to_value(key: bytes, value_bytes: int) -> bytes:
    """Return the bytes of a record before its value: the keys of coordinators and markers repeat."""
    key_size, value_size = encode_varint(len(key)), encode_varint(value_bytes)
    record_bytes = _BESIDE_STRINGS + len(key_size) + len(key) + len(value_size) + value_bytes
    return encode_varint(record_bytes) + _ATTRIBUTES_AND_DELTAS + key_size + key + value_size
