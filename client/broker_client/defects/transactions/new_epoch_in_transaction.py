"""A sequence error within a transaction makes the client request a new epoch and go on: all earlier writes are lost.

Two quick moves of a leader, and a batch gets OUT_OF_ORDER_SEQUENCE_NUMBER (45). InitProducerId heals that for an
idempotent producer. For a transactional id it also aborts the open transaction, and what follows is a new one under
the new epoch. The commit succeeds, and contains only what was sent after the error. A correct client makes the
transaction abortable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.batching.producer_batch import NO_PRODUCER_ID_AND_EPOCH, ProducerIdAndEpoch
from broker_client.core.transactions.transaction_handlers import InitProducerIdHandler
from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.defects.defect import Defect
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.init_producer_id import InitProducerIdResponse

if TYPE_CHECKING:
    from broker_client.core.batching.producer_batch import ProducerBatch
    from protocol_specs.message import Message


class InitInTransaction(InitProducerIdHandler):
    """Requests a new epoch at once, and leaves the state of the transaction as it is."""

    def __init__(self, manager: BumpingManager) -> None:
        super().__init__(manager, NO_PRODUCER_ID_AND_EPOCH)
        self._bumping = manager

    def handle(self, response: Message) -> None:
        """Continue under the new epoch."""
        assert isinstance(response, InitProducerIdResponse)
        code = ErrorCode(response.error_code)
        if code is not ErrorCode.NONE:
            super().handle(response)
            return
        self._bumping.continue_with(ProducerIdAndEpoch(producer_id=response.producer_id, epoch=response.producer_epoch))
        self.result.done()


class BumpingManager(TransactionManager):
    """Heals a gap in the sequences as a producer without transactions does."""

    def can_retry(self, batch: ProducerBatch, code: ErrorCode, log_start_offset: int) -> bool:
        """Request a new epoch after 45."""
        if super().can_retry(batch, code, log_start_offset):
            return True
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            self.enqueue(InitInTransaction(self))
            return True
        return False

    def continue_with(self, producer: ProducerIdAndEpoch) -> None:
        """Number everything in flight anew; partitions join again."""
        self.producer_id_and_epoch = producer
        for entry in self._partitions.values():
            entry.start_sequences_at_beginning(producer)
        if not self.is_transaction_v2_enabled:
            self._new_partitions.update(self.partitions_in_transaction)
            self.partitions_in_transaction.clear()


DEFECT: Final = Defect(
    name="new-epoch-in-transaction",
    lesson=__doc__,
    source="librdkafka#3575",
    affected="librdkafka before 1.8.2",
    anomalies=("mid-txn-epoch-bump-loss",),
    parts={"transaction_manager": BumpingManager},
)
