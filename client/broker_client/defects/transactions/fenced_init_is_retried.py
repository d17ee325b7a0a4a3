"""A producer that is fenced while it requests its producer id repeats the request for ever.

Two instances of a service start with the same transactional.id, and InitProducerId of one gets PRODUCER_FENCED (90).
Its client takes the code for a transient one: init_transactions does not end, and each retry that succeeds fences the
other instance. A correct client reports ProducerFenced, and the instance ends.
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


class StubbornInit(InitProducerIdHandler):
    """Repeats the request after a fence."""

    def handle(self, response: Message) -> None:
        """Retry with 90 and 47."""
        assert isinstance(response, InitProducerIdResponse)
        if ErrorCode(response.error_code) in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH):
            self.retry()
        else:
            super().handle(response)


class StubbornManager(TransactionManager):
    """Requests its producer id in this way."""

    def _init_producer_id(self) -> InitProducerIdHandler:
        return StubbornInit(self, NO_PRODUCER_ID_AND_EPOCH)


DEFECT: Final = Defect(
    name="fenced-init-is-retried",
    lesson=__doc__,
    source="librdkafka, changelog of 1.9.0",
    affected="librdkafka before 1.9.0",
    anomalies=("init-transactions-traps",),
    parts={"transaction_manager": StubbornManager},
)
