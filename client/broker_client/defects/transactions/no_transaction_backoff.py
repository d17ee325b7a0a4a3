"""CONCURRENT_TRANSACTIONS (51) is retried at once, as often as the network allows.

While the markers of the transaction before are written, the coordinator refuses InitProducerId, AddPartitionsToTxn
and EndTxn with 51. If one partition is slow to get its marker, a client without a back-off sends thousands of
requests per second, which slows the coordinator further. A correct client waits retry.backoff.ms, or 20 ms for the
first partition.
"""

from __future__ import annotations

from typing import Any, Final

from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.defects.defect import Defect


class HastyManager(TransactionManager):
    """Has no back-off."""

    def __init__(self, *, retry_backoff_ms: int, **options: Any) -> None:
        del retry_backoff_ms
        super().__init__(retry_backoff_ms=0, **options)


DEFECT: Final = Defect(
    name="no-transaction-backoff",
    lesson=__doc__,
    source="librdkafka, changelogs of 1.6.0 and 2.0.0",
    affected="librdkafka before 2.0.0",
    anomalies=("concurrent-transactions-spin",),
    parts={"transaction_manager": HastyManager},
)
