"""A leader takes records of a producer whose epoch is not the newest one: a zombie is not fenced.

A producer pauses in the middle of a transaction. Another instance with the same `transactional.id` starts, gets a
newer epoch, and writes. When the first one continues, the leader appends its records, and the commit of the second
instance commits them too: both have the same producer id. Inputs that both have processed have two outputs. A leader
that compares epochs refuses the records with INVALID_PRODUCER_EPOCH (47), and the coordinator fences the rest (90).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_sim.defects.defect import Defect
from broker_sim.log.producer_state import ProducerStateManager

if TYPE_CHECKING:
    from broker_sim.log.stored_batch import StoredBatch
    from broker_sim.log.transaction_index import AbortedTransaction

__all__ = ["DEFECT"]


class OldEpochsWrite(ProducerStateManager):
    """Appends records of an old epoch without a check, as part of the transaction that is open."""

    __slots__ = ()

    def start_verification(
        self, producer_id: int, producer_epoch: int, sequence: int, *, supports_epoch_bump: bool, now_ms: int
    ) -> object | None:
        """Return None for an old epoch: the transaction is not verified."""
        entry = self.active_producers.get(producer_id)
        if entry is not None and producer_epoch < entry.producer_epoch:
            return None
        return super().start_verification(
            producer_id, producer_epoch, sequence, supports_epoch_bump=supports_epoch_bump, now_ms=now_ms
        )

    def check_verified(self, batch: StoredBatch, guard: object | None) -> None:
        """Check all but old epochs."""
        if not self._is_old(batch):
            super().check_verified(batch, guard)

    def check(self, batch: StoredBatch) -> None:
        """Check all but old epochs."""
        if not self._is_old(batch):
            super().check(batch)

    def update(self, batch: StoredBatch) -> AbortedTransaction | None:
        """Leave the state of the newest epoch as it is when records of an old one are appended."""
        if self._is_old(batch) and not batch.is_control:
            return None
        return super().update(batch)

    def _is_old(self, batch: StoredBatch) -> bool:
        entry = self.active_producers.get(batch.producer_id)
        return entry is not None and batch.producer_epoch < entry.producer_epoch


DEFECT: Final = Defect(
    name="old-epochs-write",
    lesson=__doc__,
    source="KIP-98",
    affected="brokers that do not compare the epochs of producers",
    anomalies=("zombie-not-fenced",),
    substitutes=(OldEpochsWrite,),
    since="0.11.0",
)
