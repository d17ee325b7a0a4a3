"""A partition that is new to the transaction while AddPartitionsToTxn is under way never joins it.

The client marks the partition as pending and sends the next request only for partitions that are not: no request
names this one. Its records wait until delivery.timeout.ms fails the transaction, while everything else is healthy. A
correct client sends a request for every pending partition that none is under way for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.records import TopicPartition


class StallingManager(TransactionManager):
    """Marks a partition as pending without a request if another is pending."""

    def maybe_add_partition(self, key: TopicPartition) -> bool:
        """Forget to request it."""
        with self.lock:
            if self._pending_partitions and key not in self.partitions_in_transaction and not self._is_listed(key):
                self._pending_partitions[key] = None
                return True
        return super().maybe_add_partition(key)

    def _is_listed(self, key: TopicPartition) -> bool:
        return key in self._new_partitions or key in self._pending_partitions


DEFECT: Final = Defect(
    name="partition-stays-pending",
    lesson=__doc__,
    source="librdkafka, changelog of 1.6.1",
    affected="librdkafka before 1.6.1",
    anomalies=("stalled-partition-in-txn",),
    parts={"transaction_manager": StallingManager},
)
