"""A record batch as a log stores it: immutable bytes, shared by every replica that holds it. Mirrors FileRecords'
batches.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Final, Self

from protocol_specs.records.batch_peek import CONTROL_FLAG_MASK, TRANSACTIONAL_FLAG_MASK

if TYPE_CHECKING:
    from protocol_specs.records.batch_peek import BatchHeader

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
SEQUENCE_MODULUS: Final = 1 << 31
"""Sequences run from 0 to 2^31 - 1 and then wrap to 0."""

LOG_FIELDS: Final = struct.Struct(">qii")
"""Base offset, batch length and leader epoch: the bytes before the magic, which the checksum does not cover. In most
batches a log changes only them."""


# Positional arguments, because one object is created per batch.
@dataclass(slots=True, eq=False)
class StoredBatch:
    """One immutable v2 batch; its bytes hold the final offset and leader epoch."""

    data: bytes
    base_offset: int
    last_offset: int
    leader_epoch: int
    max_timestamp: int
    size: int
    records_count: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    attributes: int
    """The attributes field of the batch header, 0 for a message set."""

    @classmethod
    def of(cls, header: BatchHeader, data: bytes) -> Self:
        """Create a batch from its header and from bytes with their final offset."""
        return cls(
            data,
            header.base_offset,
            header.last_offset,
            header.partition_leader_epoch,
            header.max_timestamp,
            len(data),
            header.records_count,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.attributes,
        )

    def fragment(self, size: int) -> StoredBatch:
        """Return the first bytes of the batch, for a Fetch with a lower size limit; consumers discard them."""
        return replace(self, data=self.data[:size], size=size)

    @property
    def is_control(self) -> bool:
        """True if its records are control records."""
        return self.attributes & CONTROL_FLAG_MASK != 0

    @property
    def is_transactional(self) -> bool:
        """True if it belongs to a transaction."""
        return self.attributes & TRANSACTIONAL_FLAG_MASK != 0

    @property
    def next_offset(self) -> int:
        """The offset after its last record."""
        return self.last_offset + 1

    @property
    def last_sequence(self) -> int:
        """The sequence of its last record, wrapped at 2^31; -1 without a producer id."""
        if self.base_sequence < 0:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset - self.base_offset) % SEQUENCE_MODULUS


class DamagedBatch(StoredBatch):
    """A batch whose bytes have changed on the disk since they were appended; the other fields are the true ones."""

    __slots__ = ()


def damaged(batch: StoredBatch, data: bytes) -> DamagedBatch:
    """Return a batch with other bytes."""
    return DamagedBatch(data, *(getattr(batch, each.name) for each in fields(batch)[1:]))
