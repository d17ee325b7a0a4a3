"""REQUEST_TIMED_OUT (7) for InitProducerId ends the producer, although a second request would succeed.

The coordinator could not write its log in time, because a replica was slow or the leader had just moved. The client
has no rule for the code, and an unknown code is fatal: init_transactions fails, and the application has to create
another producer. A correct client retries InitProducerId with every retriable error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.batching.producer_batch import NO_PRODUCER_ID_AND_EPOCH
from broker_client.core.transactions.transaction_handlers import InitProducerIdHandler
from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.defects.defect import Defect
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.init_producer_id import InitProducerIdResponse

if TYPE_CHECKING:
    from protocol_specs.message import Message


class StrictInit(InitProducerIdHandler):
    """Retries no time-out."""

    def handle(self, response: Message) -> None:
        """Fail for good after 7."""
        assert isinstance(response, InitProducerIdResponse)
        code = ErrorCode(response.error_code)
        if code is ErrorCode.REQUEST_TIMED_OUT:
            self.fatal_error(self.unexpected(code))
        else:
            super().handle(response)


class StrictInitManager(TransactionManager):
    """Requests its producer id in this way."""

    def _init_producer_id(self) -> InitProducerIdHandler:
        return StrictInit(self, NO_PRODUCER_ID_AND_EPOCH)


DEFECT: Final = Defect(
    name="init-timeout-is-fatal",
    lesson=__doc__,
    source="KAFKA-14417",
    affected="Java, with brokers before 3.3.2 and 3.4.0",
    anomalies=("init-transactions-traps",),
    parts={"transaction_manager": StrictInitManager},
)
