"""A record batch as a log stores it: immutable bytes, shared by every replica that holds it. Mirrors FileRecords'
batches.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Self

from protocol_specs.records.batch_peek import CONTROL_FLAG_MASK, TRANSACTIONAL_FLAG_MASK

if TYPE_CHECKING:
    from protocol_specs.records.batch_peek import BatchHeader

NO_PRODUCER_ID: Final = -1
NO_PRODUCER_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
NO_TIMESTAMP: Final = -1
SEQUENCE_MODULUS: Final = 1 << 31
"""Sequences run from 0 to 2^31 - 1 and then start again."""

LOG_FIELDS: Final = struct.Struct(">qii")
"""Base offset, batch length, leader epoch: all that lies before the magic, and all that a log writes into most batches.
It lies before what the checksum covers, too."""


# Positional, because one is made for every batch that passes.
@dataclass(slots=True, eq=False)
class StoredBatch:
    """One v2 batch whose bytes hold their final offset and leader epoch; never changed after it is made."""

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
        """The batch with this header, whose bytes hold their final offset already."""
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
        """The first bytes of the batch, for a reader that has no room for more and will throw them away."""
        return replace(self, data=self.data[:size], size=size)

    @property
    def is_control(self) -> bool:
        """Whether its records are control records."""
        return self.attributes & CONTROL_FLAG_MASK != 0

    @property
    def is_transactional(self) -> bool:
        """Whether it belongs to a transaction."""
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
