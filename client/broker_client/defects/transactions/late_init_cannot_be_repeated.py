"""init_transactions times out, succeeds a moment later, and every further call is an invalid transition.

max.block.ms ends the call while InitProducerId is under way. The application calls again, as the documentation
recommends. The client has the state of the first call, INITIALIZING or already READY, and refuses: the producer is
unusable, though it has its producer id. A correct client lets the second call wait for the first request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.defects.defect import Defect

if TYPE_CHECKING:
    from broker_client.core.transactions.transactional_request_result import TransactionalRequestResult


class StrictManager(TransactionManager):
    """Begins anew with every call."""

    def initialize_transactions(self) -> TransactionalRequestResult:
        """Forget that a call may be pending."""
        self._pending_transition = None
        return super().initialize_transactions()


DEFECT: Final = Defect(
    name="late-init-cannot-be-repeated",
    lesson=__doc__,
    source="KAFKA-13412; KAFKA-14417; KAFKA-10520",
    affected="Java before 3.1.1 and 3.2.0",
    anomalies=("init-transactions-traps",),
    parts={"transaction_manager": StrictManager},
)
