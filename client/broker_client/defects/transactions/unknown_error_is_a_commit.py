"""EndTxn gets UNKNOWN_SERVER_ERROR (-1), and the client reports the transaction as committed.

The error does not state whether the commit happened. A client that takes it for a success lets a read-process-write
application advance its offsets and read on: if the coordinator had not committed, the inputs are consumed and the
outputs missing. A correct client reports the failure; the application creates a new producer, which aborts what is
open, and rewinds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.transactions.transaction_handlers import EndTxnHandler
from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.defects.defect import Defect
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.end_txn import EndTxnResponse

if TYPE_CHECKING:
    from protocol_specs.message import Message


class OptimisticEndTxn(EndTxnHandler):
    """Completes a commit with an unknown error."""

    def handle(self, response: Message) -> None:
        """Take -1 for a success."""
        assert isinstance(response, EndTxnResponse)
        if self.committed and ErrorCode(response.error_code) is ErrorCode.UNKNOWN_SERVER_ERROR:
            self.manager.complete_transaction(self.result)
        else:
            super().handle(response)


class OptimisticManager(TransactionManager):
    """Ends transactions in this way."""

    def _end_txn(self, *, committed: bool) -> EndTxnHandler:
        return OptimisticEndTxn(self, committed=committed)


DEFECT: Final = Defect(
    name="unknown-error-is-a-commit",
    lesson=__doc__,
    source="franz-go",
    affected="franz-go, by reading its source",
    anomalies=("unknown-error-taken-as-commit",),
    parts={"transaction_manager": OptimisticManager},
)
