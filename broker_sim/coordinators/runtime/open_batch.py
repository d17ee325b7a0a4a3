"""The batch that a shard's operations fill until it is appended. Mirrors CoordinatorRuntime.CoordinatorBatch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.records.record_batch import RecordBatchBuilder, record_size_upper_bound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.coordinators.runtime.pending_writes import PendingWrite

__all__ = ["Encoded", "OpenBatch"]

Encoded = tuple[bytes, bytes | None]


class OpenBatch:
    """Records of one producer, or of none, and the operations that wait for them."""

    def __init__(self, producer_id: int, producer_epoch: int) -> None:
        self.writes: list[PendingWrite] = []
        self.records_count = 0
        self._builder = RecordBatchBuilder(
            producer_id=producer_id, producer_epoch=producer_epoch, is_transactional=producer_id >= 0
        )

    def size_with(self, records: Sequence[Encoded]) -> int:
        """Return the upper bound of the size of the batch with more records, in bytes."""
        return self._builder.size_in_bytes + sum(record_size_upper_bound(*record) for record in records)

    def append(self, records: Sequence[Encoded], now_ms: int) -> None:
        """Append records."""
        for key, value in records:
            self._builder.append(now_ms, key, value)
        self.records_count += len(records)

    def build(self) -> bytes:
        """Return the bytes of the batch."""
        return self._builder.build()
