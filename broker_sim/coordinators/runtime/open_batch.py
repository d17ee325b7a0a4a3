"""The batch that a shard's operations fill until it is appended. Mirrors CoordinatorRuntime.CoordinatorBatch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.coordinators.coordinator_error import CoordinatorError
from protocol_specs.error_codes import ErrorCode
from protocol_specs.records.batch_peek import MAGIC_V2, NO_SEQUENCE
from protocol_specs.records.compression import CompressionCodec
from protocol_specs.records.message_set_builder import MessageSetBuilder, message_size
from protocol_specs.records.record_batch import RecordBatchBuilder, record_size_upper_bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.coordinators.runtime.pending_writes import PendingWrite

__all__ = ["Encoded", "OpenBatch"]

Encoded = tuple[bytes, bytes | None]
RECORD_OVERHEAD_MAX = 64
"""More bytes than a record has beside its key and value, in any format."""


class OpenBatch:
    """Records of one producer, or of none, and the operations that wait for them."""

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int,
        *,
        base_sequence: int = NO_SEQUENCE,
        magic: int = MAGIC_V2,
        codec: CompressionCodec = CompressionCodec.NONE,
    ) -> None:
        """Start an empty batch, or a message set for a log of magic 0 or 1.

        Raises:
            CoordinatorError: Message sets have no producers, or the epoch of a producer is negative.
        """
        self.writes: list[PendingWrite] = []
        self.records_count = 0
        self._magic = magic
        self._builder: RecordBatchBuilder | MessageSetBuilder
        if magic == MAGIC_V2:
            if producer_id >= 0 > producer_epoch:
                raise CoordinatorError(ErrorCode.UNKNOWN_SERVER_ERROR)
            self._builder = RecordBatchBuilder(
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                base_sequence=base_sequence,
                is_transactional=producer_id >= 0,
                codec=codec,
            )
        elif producer_id >= 0:
            raise CoordinatorError(ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT)
        else:
            self._builder = MessageSetBuilder(magic=magic, codec=codec)

    def fits(self, records: Sequence[Encoded], limit_bytes: int) -> bool:
        """Return True if the batch with more records has at most `limit_bytes`, by the upper bound of its size."""
        size = self._builder.size_in_bytes
        coarse = size
        for key, value in records:
            coarse += len(key) + RECORD_OVERHEAD_MAX + (0 if value is None else len(value))
        if coarse <= limit_bytes:
            return True
        if self._magic == MAGIC_V2:
            size += sum(record_size_upper_bound(*record) for record in records)
        else:
            size += sum(message_size(self._magic, *record) for record in records)
        return size <= limit_bytes

    def append(self, records: Sequence[Encoded], now_ms: int) -> None:
        """Append records."""
        for key, value in records:
            self._builder.append(now_ms, key, value)
        self.records_count += len(records)

    def build(self) -> bytes:
        """Return the bytes of the batch."""
        return self._builder.build()
