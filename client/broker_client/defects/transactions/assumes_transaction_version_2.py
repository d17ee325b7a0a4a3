"""The client lets partitions join by being written to, although transaction.version 2 is not finalized.

Below that version a partition joins by AddPartitionsToTxn. A client that decides by the versions that it knows, not
by the finalized feature, sends no such request: brokers that verify refuse each batch with INVALID_TXN_STATE (48),
older ones store the records in a transaction that no EndTxn ends. A correct client decides by the feature, between
two transactions (KIP-890).
"""

from __future__ import annotations

from typing import Final

from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.defects.defect import Defect


class AssumingManager(TransactionManager):
    """Uses the second protocol always."""

    def maybe_update_transaction_v2_enabled(self, *, on_initialization: bool) -> None:
        """Enable it, with any feature."""
        super().maybe_update_transaction_v2_enabled(on_initialization=on_initialization)
        self.is_transaction_v2_enabled = True


DEFECT: Final = Defect(
    name="assumes-transaction-version-2",
    lesson=__doc__,
    source="KIP-890",
    affected="clients that read versions without features",
    anomalies=("tv2-misnegotiation",),
    parts={"transaction_manager": AssumingManager},
)
