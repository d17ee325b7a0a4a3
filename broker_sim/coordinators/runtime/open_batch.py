"""The batch that a shard's operations fill until it is appended. Mirrors CoordinatorRuntime.CoordinatorBatch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.coordinators.coordinator_error import CoordinatorError
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.batch_peek import (
    MAGIC_V2,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    TRANSACTIONAL_FLAG_MASK,
)
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.lone_batch import lone_batch
from protocol_specs.records.message_set_builder import MessageSetBuilder, message_size
from protocol_specs.records.record_batch import RecordBatchBuilder, record_size_upper_bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.coordinators.runtime.pending_writes import PendingWrite
    from protocol_specs.records.lone_batch import RecordSet

__all__ = ["Encoded", "OpenBatch"]

Encoded = tuple[bytes, bytes | None]
RECORD_OVERHEAD_MAX = 64
"""More bytes than a record has beside its key and value, in any format."""
BATCH_OVERHEAD_MAX = 128
"""More bytes than a batch or a wrapper message has beside its records."""
SIZE_UNKNOWN = 1 << 62
"""Above every limit, so that the builder computes the size."""
_NO_CODEC: Final = CompressionCodec.NONE


class OpenBatch:
    """Records of one producer, or of none, and the operations that wait for them."""

    __slots__ = (
        "_base_sequence",
        "_builder",
        "_codec",
        "_magic",
        "_producer_epoch",
        "_producer_id",
        "_records",
        "_size_max",
        "records_count",
        "writes",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        base_sequence: int = NO_SEQUENCE,
        magic: int = MAGIC_V2,
        codec: CompressionCodec = _NO_CODEC,
    ) -> None:
        """Start an empty batch, or a message set for a log of magic 0 or 1.

        Raises:
            CoordinatorError: Message sets have no producers, or a producer has no epoch. The log refuses other
                negative epochs.
        """
        if producer_id != NO_PRODUCER_ID:
            if magic != MAGIC_V2:
                raise CoordinatorError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
            if producer_epoch == NO_PRODUCER_EPOCH:
                raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
        self.writes: list[PendingWrite] = []
        self.records_count = 0
        self._producer_id = producer_id
        self._producer_epoch = producer_epoch
        self._base_sequence = base_sequence
        self._magic = magic
        self._codec = codec
        self._records: list[tuple[int, bytes, bytes | None]] = []
        """Records that are not in the builder yet: most batches have one record and need no builder."""
        self._size_max = BATCH_OVERHEAD_MAX
        self._builder: RecordBatchBuilder | MessageSetBuilder | None = None
        if magic != MAGIC_V2:
            self._builder = MessageSetBuilder(magic=magic, codec=codec)

    def add(self, records: Sequence[Encoded], now_ms: int, limit_bytes: int) -> bool:
        """Append records, unless the upper bound of the batch's size is then above `limit_bytes`: return False."""
        size_max = self._size_max
        for key, value in records:
            size_max += len(key) + RECORD_OVERHEAD_MAX + (0 if value is None else len(value))
        if size_max > limit_bytes and not self._fits(records, limit_bytes):
            return False
        self.append(records, now_ms)
        self._size_max = size_max
        return True

    def append(self, records: Sequence[Encoded], now_ms: int) -> None:
        """Append records of any size to an empty batch, of which the log decides."""
        self._records += [(now_ms, key, value) for key, value in records]
        self.records_count += len(records)
        self._size_max = SIZE_UNKNOWN

    def _fits(self, records: Sequence[Encoded], limit_bytes: int) -> bool:
        size = self._filled_builder().size_in_bytes
        if self._magic == MAGIC_V2:
            size += sum(record_size_upper_bound(*record) for record in records)
        else:
            size += sum(message_size(self._magic, *record) for record in records)
        return size <= limit_bytes

    def build(self) -> RecordSet:
        """Return the batch."""
        if self._builder is None and self.records_count == 1 and self._codec is _NO_CODEC:
            [(now_ms, key, value)] = self._records
            if value is not None:
                return lone_batch(
                    now_ms,
                    key,
                    value,
                    attributes=TRANSACTIONAL_FLAG_MASK if self._producer_id != NO_PRODUCER_ID else 0,
                    producer_id=self._producer_id,
                    producer_epoch=self._producer_epoch,
                    base_sequence=self._base_sequence,
                )
        return self._filled_builder().build()

    def _filled_builder(self) -> RecordBatchBuilder | MessageSetBuilder:
        builder = self._builder
        if builder is None:
            builder = self._builder = RecordBatchBuilder(
                producer_id=self._producer_id,
                producer_epoch=self._producer_epoch,
                base_sequence=self._base_sequence,
                is_transactional=self._producer_id != NO_PRODUCER_ID,
                codec=self._codec,
            )
        for now_ms, key, value in self._records:
            builder.append(now_ms, key, value)
        self._records.clear()
        return builder
