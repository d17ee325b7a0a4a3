"""The contents of a transaction: partitions and offsets. Mirrors AddPartitionsToTxn-, AddOffsetsToTxn- and
TxnOffsetCommitHandler.

With KIP-890's protocol partitions and groups join by being written to, and only TxnOffsetCommit is left of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.consumer_errors import CommitFailed
from broker_client.core.transactions.transaction_handlers import (
    LAST_VERSION_BEFORE_TRANSACTION_V2,
    CoordinatorType,
    TxnRequestHandler,
)
from broker_client.core.transactions.transaction_outcomes import Outcome, outcome_of
from broker_client.errors import BrokerError, ProducerError
from broker_client.records import TopicPartition
from broker_client.transaction_errors import topics_authorization_failed
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from protocol_specs.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    RequestAddPartitionsToTxnTopic,
)
from protocol_specs.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_client.consumer_groups import ConsumerGroupMetadata, OffsetAndMetadata
    from broker_client.core.transactions.transaction_manager import TransactionManager
    from broker_client.core.transactions.transactional_request_result import TransactionalRequestResult
    from protocol_specs.message import Message

__all__ = ["AddOffsetsToTxnHandler", "AddPartitionsToTxnHandler", "TxnOffsetCommitHandler"]

# The transaction before may still be completing: the first partition does not wait out a whole back-off.
ADD_PARTITIONS_RETRY_BACKOFF_MS: Final = 20
_LAST_VERSION_OF_CLIENTS: Final = 3
_NO_LEADER_EPOCH: Final = -1


class AddPartitionsToTxnHandler(TxnRequestHandler):
    """Partitions join before anything is written to them."""

    REQUEST = AddPartitionsToTxnRequest
    highest_version = _LAST_VERSION_OF_CLIENTS

    def __init__(self, manager: TransactionManager, partitions: Iterable[TopicPartition]) -> None:
        super().__init__(manager, manager.new_result("AddPartitionsToTxn"))
        self.partitions = list(partitions)
        self.producer = manager.producer_id_and_epoch
        self._is_first_concurrent = False

    @property
    def retry_backoff_ms(self) -> int:
        """Short for the first partition of a transaction that must wait for the one before."""
        if self._is_first_concurrent:
            return min(self.manager.retry_backoff_ms, ADD_PARTITIONS_RETRY_BACKOFF_MS)
        return self.manager.retry_backoff_ms

    def request(self, version: int) -> AddPartitionsToTxnRequest:  # noqa: ARG002
        """By topic."""
        topics: dict[str, RequestAddPartitionsToTxnTopic] = {}
        for topic, partition in self.partitions:
            topics.setdefault(topic, RequestAddPartitionsToTxnTopic(name=topic)).partitions.append(partition)
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.manager.transactional_id,
            v3_and_below_producer_id=self.producer.producer_id,
            v3_and_below_producer_epoch=self.producer.epoch,
            v3_and_below_topics=list(topics.values()),
        )

    def handle(self, response: Message) -> None:
        """All join, or none."""
        assert isinstance(response, AddPartitionsToTxnResponse)
        self._is_first_concurrent = False
        errors = {
            TopicPartition(topic.name, partition.partition_index): ErrorCode(partition.partition_error_code)
            for topic in response.results_by_topic_v3_and_below
            for partition in topic.results_by_partition
        }
        unauthorized: list[str] = []
        failed = False
        for key, code in errors.items():
            if code is ErrorCode.NONE:
                continue
            outcome = outcome_of(self.REQUEST, code)
            if outcome is Outcome.UNAUTHORIZED_TOPIC:
                unauthorized.append(key.topic)
            elif outcome in (Outcome.NOT_ATTEMPTED, Outcome.UNEXPECTED):
                failed = True
            else:
                concurrent = code is ErrorCode.CONCURRENT_TRANSACTIONS
                self._is_first_concurrent = concurrent and not self.manager.has_partitions
                self.act(outcome, code)
                return
        self.manager.partitions_no_longer_pending(errors)
        if unauthorized:
            self.abortable_error(topics_authorization_failed(set(unauthorized)))
        elif failed:
            listed = ", ".join(f"{key}: {code.name}" for key, code in errors.items())
            self.abortable_error(ProducerError(f"partitions could not join the transaction: {listed}"))
        else:
            self.manager.partitions_added(errors)
            self.result.done()


class AddOffsetsToTxnHandler(TxnRequestHandler):
    """A group joins; its offsets follow in a TxnOffsetCommit, whose end is this call's end."""

    REQUEST = AddOffsetsToTxnRequest

    def __init__(
        self,
        manager: TransactionManager,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
    ) -> None:
        super().__init__(manager, manager.new_result("AddOffsetsToTxn"))
        self.offsets = offsets
        self.group = group
        self.producer = manager.producer_id_and_epoch

    def request(self, version: int) -> AddOffsetsToTxnRequest:  # noqa: ARG002
        """The group's name alone."""
        return AddOffsetsToTxnRequest(
            transactional_id=self.manager.transactional_id,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
            group_id=self.group.group_id,
        )

    def handle(self, response: Message) -> None:
        """Go on with the offsets."""
        assert isinstance(response, AddOffsetsToTxnResponse)
        code = ErrorCode(response.error_code)
        if code is ErrorCode.NONE:
            self.manager.enqueue(TxnOffsetCommitHandler(self.manager, self.result, self.offsets, self.group))
            self.manager.transaction_started = True
        else:
            message = self.group.group_id if code is ErrorCode.GROUP_AUTHORIZATION_FAILED else None
            self.act(outcome_of(self.REQUEST, code), code, message)


class TxnOffsetCommitHandler(TxnRequestHandler):
    """Offsets, to the group's coordinator; a repeated request has all offsets of the first again."""

    REQUEST = TxnOffsetCommitRequest

    def __init__(
        self,
        manager: TransactionManager,
        result: TransactionalRequestResult,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        group: ConsumerGroupMetadata,
    ) -> None:
        super().__init__(manager, result)
        self.group = group
        self.producer = manager.producer_id_and_epoch
        pending = manager.pending_offset_commits
        pending.update(offsets)
        self.offsets = dict(pending)
        if not manager.is_transaction_v2_enabled:
            self.highest_version = LAST_VERSION_BEFORE_TRANSACTION_V2

    @property
    def coordinator(self) -> tuple[CoordinatorType, str]:
        """The group's."""
        return CoordinatorType.GROUP, self.group.group_id

    def request(self, version: int) -> TxnOffsetCommitRequest:  # noqa: ARG002
        """By topic."""
        topics: dict[str, TxnOffsetCommitRequestTopic] = {}
        for (topic, partition), given in self.offsets.items():
            epoch = _NO_LEADER_EPOCH if given.leader_epoch is None else given.leader_epoch
            topics.setdefault(topic, TxnOffsetCommitRequestTopic(name=topic)).partitions.append(
                TxnOffsetCommitRequestPartition(
                    partition_index=partition,
                    committed_offset=given.offset,
                    committed_leader_epoch=epoch,
                    committed_metadata=given.metadata,
                )
            )
        return TxnOffsetCommitRequest(
            transactional_id=self.manager.transactional_id,
            group_id=self.group.group_id,
            producer_id=self.producer.producer_id,
            producer_epoch=self.producer.epoch,
            generation_id=self.group.generation_id,
            member_id=self.group.member_id,
            group_instance_id=self.group.group_instance_id,
            topics=list(topics.values()),
        )

    def handle(self, response: Message) -> None:
        """Partitions that may succeed later are requested again, with the others."""
        assert isinstance(response, TxnOffsetCommitResponse)
        pending = self.manager.pending_offset_commits
        looked_up = False
        for topic in response.topics:
            for partition in topic.partitions:
                code = ErrorCode(partition.error_code)
                if code is ErrorCode.NONE:
                    pending.pop(TopicPartition(topic.name, partition.partition_index), None)
                    continue
                outcome = outcome_of(self.REQUEST, code)
                if outcome is Outcome.FIND_COORDINATOR_AND_RETRY and not looked_up:
                    looked_up = True
                    self.look_up_coordinator()
                elif outcome not in (Outcome.RETRY, Outcome.FIND_COORDINATOR_AND_RETRY):
                    self._give_up(outcome, code)
                    pending.clear()
                    return
        if pending:
            self.retry()
        else:
            self.result.done()

    def fail(self, error: ProducerError) -> None:
        """The offsets are not this transaction's any more."""
        self.manager.pending_offset_commits.clear()
        super().fail(error)

    def _give_up(self, outcome: Outcome, code: ErrorCode) -> None:
        if outcome is Outcome.COMMIT_FAILED:
            text = f"the consumer is not the member of group {self.group.group_id!r} that it was: {code.name}"
            self.abortable_error(CommitFailed(text))
        elif code is ErrorCode.GROUP_AUTHORIZATION_FAILED:
            self.abortable_error(BrokerError(code, f"not authorized to access group {self.group.group_id!r}"))
        else:
            self.act(outcome, code)
