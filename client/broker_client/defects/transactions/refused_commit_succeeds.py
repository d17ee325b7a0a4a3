"""A commit that the coordinator refuses is reported as done.

Between the last record and the commit another producer takes the transactional id, or transaction.timeout.ms passes:
the coordinator has aborted the transaction and refuses EndTxn. The client takes the end of the request for the end of
the transaction. The application goes on, and none of its writes ever appears. A correct client reports the error of
EndTxn, and a fenced producer sends nothing any more.
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


class TrustingEndTxn(EndTxnHandler):
    """Completes a commit with any error that is not retriable."""

    def handle(self, response: Message) -> None:
        """Ignore a refusal."""
        assert isinstance(response, EndTxnResponse)
        code = ErrorCode(response.error_code)
        if self.committed and code is not ErrorCode.NONE and not code.retriable:
            self.manager.complete_transaction(self.result)
        else:
            super().handle(response)


class TrustingManager(TransactionManager):
    """Ends transactions in this way."""

    def _end_txn(self, *, committed: bool) -> EndTxnHandler:
        return TrustingEndTxn(self, committed=committed)


DEFECT: Final = Defect(
    name="refused-commit-succeeds",
    lesson=__doc__,
    source="librdkafka, changelog of 1.6.0",
    affected="librdkafka before 1.6.0",
    anomalies=("failed-commit-reported-ok",),
    parts={"transaction_manager": TrustingManager},
)
