"""A transaction whose commit failed stays open at the coordinator, and the next one joins it.

EndTxn gets UNKNOWN_SERVER_ERROR (-1) and is not applied. The client reports the failure, forgets the transaction, and
keeps its producer id and epoch: an abort finds nothing to end, and reports success. The records of the next
transaction belong to the open one, and its commit commits both: values appear that were reported as aborted. A correct
client gets a new epoch after any end that is not confirmed, which aborts what is open.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.transactions.transaction_handlers import EndTxnHandler
from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.defects.defect import Defect
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.end_txn import EndTxnResponse

if TYPE_CHECKING:
    from broker_client.core.transactions.transactional_request_result import TransactionalRequestResult
    from protocol_specs.message import Message


class ForgetfulEndTxn(EndTxnHandler):
    """Fails the call, and takes the transaction for ended."""

    def handle(self, response: Message) -> None:
        """Go on with the same epoch after -1."""
        assert isinstance(response, EndTxnResponse)
        code = ErrorCode(response.error_code)
        if code is not ErrorCode.UNKNOWN_SERVER_ERROR:
            super().handle(response)
            return
        self.result.fail(self.unexpected(code))
        self.manager.client_side_epoch_bump_required = False
        self.manager.complete_transaction(self.manager.new_result("EndTxn"))


class ForgetfulManager(TransactionManager):
    """Ends transactions in this way."""

    def begin_abort(self) -> TransactionalRequestResult:
        """Succeed without a request when no transaction is open on this side."""
        if self.has_ongoing_transaction:
            return super().begin_abort()
        ended = self.new_result("EndTxn")
        ended.done()
        return ended

    def _end_txn(self, *, committed: bool) -> EndTxnHandler:
        return ForgetfulEndTxn(self, committed=committed)


DEFECT: Final = Defect(
    name="failed-commit-stays-open",
    lesson=__doc__,
    source="franz-go",
    affected="franz-go, by reading its source",
    anomalies=("silent-join",),
    parts={"transaction_manager": ForgetfulManager},
)
