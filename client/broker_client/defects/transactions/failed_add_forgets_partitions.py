"""A partition that may not join makes the client forget those that have joined: the commit sends no EndTxn.

The first partition has joined and has records. AddPartitionsToTxn for a second one is refused, and the client clears
its list of partitions. At the commit it finds nothing to end and reports success. The coordinator aborts the open
transaction after transaction.timeout.ms, and the records are lost. A correct client makes the transaction abortable,
and sends EndTxn for every partition that has joined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_client.core.producer.sender import Sender
from broker_client.core.transactions.transaction_content_handlers import AddPartitionsToTxnHandler
from broker_client.core.transactions.transaction_manager import TransactionManager
from broker_client.defects.defect import Defect
from broker_client.defects.queued_batches import fail_queued
from broker_client.errors import TopicAuthorizationFailed
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnResponse

if TYPE_CHECKING:
    from broker_client.records import TopicPartition
    from protocol_specs.message import Message


class ForgetfulAdd(AddPartitionsToTxnHandler):
    """Forgets every partition of the transaction when one is refused."""

    def handle(self, response: Message) -> None:
        """Take a refusal for the end of the transaction's contents."""
        assert isinstance(response, AddPartitionsToTxnResponse)
        codes = {
            ErrorCode(partition.partition_error_code)
            for topic in response.results_by_topic_v3_and_below
            for partition in topic.results_by_partition
        }
        if ErrorCode.TOPIC_AUTHORIZATION_FAILED not in codes:
            super().handle(response)
            return
        assert isinstance(self.manager, ForgetfulManager), "it makes these handlers alone"
        self.manager.forget_partitions(self.partitions)
        self.result.fail(TopicAuthorizationFailed(self.partitions[0].topic))


class ForgetfulManager(TransactionManager):
    """Adds partitions in this way."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.refused: list[TopicPartition] = []

    def forget_partitions(self, refused: list[TopicPartition]) -> None:
        """Take the transaction for empty; the records of the refused partitions fail."""
        self.partitions_no_longer_pending(refused)
        self.partitions_in_transaction.clear()
        self.transaction_started = False
        self.refused += refused

    def _add_partitions(self) -> AddPartitionsToTxnHandler:
        return ForgetfulAdd(self, super()._add_partitions().partitions)


class RefusingSender(Sender):
    """Fails the records of refused partitions, and nothing else."""

    def run_once(self, now_ms: int) -> int:
        """Fail them first. A producer without transactions has none."""
        if isinstance(self.transactions, ForgetfulManager):
            for key in self.transactions.refused:
                fail_queued(self.accumulator, TopicAuthorizationFailed(key.topic), key.topic, key.partition)
            self.transactions.refused.clear()
        return super().run_once(now_ms)


DEFECT: Final = Defect(
    name="failed-add-forgets-partitions",
    lesson=__doc__,
    source="franz-go, changelog of 1.21.4",
    affected="franz-go before 1.21.4",
    anomalies=("commit-without-endtxn",),
    parts={"transaction_manager": ForgetfulManager, "sender": RefusingSender},
)
