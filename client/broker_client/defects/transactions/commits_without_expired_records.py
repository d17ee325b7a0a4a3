"""A transaction is committed although one of its records has expired in the client.

The leader of one partition does not respond, delivery.timeout.ms ends its record, and only the record's own report
has the error. An application that does not look at reports commits, and a part of its transaction is visible. A
correct client makes the transaction abortable with the first record that fails: the commit raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.defects.defect import Defect
from broker_client.errors import BatchExpired

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch
    from broker_client.errors import ProducerError


class LenientManager(TransactionManager):
    """Has no error for a batch that expires."""

    def handle_failed_batch(self, batch: ProducerBatch, error: ProducerError, *, adjust_sequence_numbers: bool) -> None:
        """Forget a batch that has expired."""
        if isinstance(error, BatchExpired):
            self.remove_in_flight_batch(batch)
        else:
            super().handle_failed_batch(batch, error, adjust_sequence_numbers=adjust_sequence_numbers)

    def mark_sequence_unresolved(self, batch: ProducerBatch) -> None:
        """Do nothing: nothing more goes to its partition."""


DEFECT: Final = Defect(
    name="commits-without-expired-records",
    lesson=__doc__,
    source="librdkafka, changelogs of 1.5.2 and 1.7.0",
    affected="librdkafka before 1.5.2, and before 1.7.0 if the cluster was down from the start",
    anomalies=("partial-commit-after-local-timeout",),
    parts={"transaction_manager": LenientManager},
)
