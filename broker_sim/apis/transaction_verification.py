"""The verification of a transaction before its records are appended (KIP-890). Mirrors ReplicaManager's
maybeSendPartitionsToTransactionCoordinator.

A partition in which the producer's transaction is open needs none. The others are sent to the transaction coordinator;
with transactions v2 it adds them. The log gives a guard before the request, and takes the records with it alone: a
marker in between makes it invalid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from twisted.internet.defer import Deferred

from broker_sim.log.append_results import RecordsRefused
from broker_sim.replication.partition import Partition
from protocol_specs.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.transactions.partition_verifier import PartitionErrors
    from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
    from broker_sim.topic_partition import TopicPartition

__all__ = ["VERIFICATION", "Support", "Verified", "verified"]

VERIFICATION: Final = "transaction.partition.verification.enable"
_RETRY_BACKOFF: Final = "add.partitions.to.txn.retry.backoff.ms"
_RETRY_BACKOFF_MAX: Final = "add.partitions.to.txn.retry.backoff.max.ms"


class Support(Enum):
    """The features of transactions that the version of a request supports. Mirrors TransactionSupportedOperation."""

    DEFAULT = "errors of the first transactions"
    ABORTABLE = "TRANSACTION_ABORTABLE (KIP-1050)"
    ADDS_PARTITIONS = "partitions are added by the request itself (KIP-890, transactions v2)"


_ADDS_PARTITIONS: Final = Support.ADDS_PARTITIONS
"""A constant, because looking up a member of an enum is slow."""


@dataclass(slots=True)
class Verified:
    """`errors` has the partitions that must not be appended to, `guards` what the append needs for others.

    `by_coordinator` is True if the coordinator has verified a partition, and not the producer state alone.
    """

    errors: PartitionErrors = field(default_factory=dict)
    guards: dict[TopicPartition, Any] = field(default_factory=dict)
    by_coordinator: bool = False


def verified(
    context: RequestContext,
    transactional_id: str | None,
    producer: ProducerIdAndEpoch,
    sequences: Mapping[TopicPartition, int],
    support: Support,
) -> Verified | Deferred[Verified]:
    """Verify the partitions of `sequences`, which are the first sequences of their records."""
    config = context.broker.config
    adds = support is _ADDS_PARTITIONS
    result = Verified()
    if not adds and not (config.behaviour.transactions_are_verified and config[VERIFICATION]):
        return result
    for topic_partition, sequence in sequences.items():
        partition = context.broker.replica_manager.get_partition(topic_partition)
        if not isinstance(partition, Partition):
            result.errors[topic_partition] = partition
            continue
        try:
            guard = partition.start_verification(
                producer.producer_id, producer.producer_epoch, sequence, supports_epoch_bump=adds
            )
        except RecordsRefused as refused:
            result.errors[topic_partition] = refused.error_code
            continue
        if guard is not None:
            result.guards[topic_partition] = guard
    if not result.guards:
        return result
    result.by_coordinator = True
    return _Verification(context, transactional_id or "", producer, support, result).run()


class _Verification:
    """The request to the coordinator, repeated while a former transaction ends."""

    def __init__(
        self,
        context: RequestContext,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        support: Support,
        result: Verified,
    ) -> None:
        self._broker = context.broker
        self._transactional_id = transactional_id
        self._producer = producer
        self._support = support
        self._result = result
        self._started_s = self._broker.reactor.seconds()
        self._completed = False
        self._waiting: Deferred[Verified] | None = None

    def run(self) -> Verified | Deferred[Verified]:
        """Return the result, a Deferred if it is not there within the call."""
        self._request()
        if self._completed:
            return self._result
        self._waiting = Deferred()
        return self._waiting

    def _request(self) -> None:
        self._broker.coordinators.verifier.verify(
            self._transactional_id,
            self._producer,
            list(self._result.guards),
            self._verified,
            adds=self._support is _ADDS_PARTITIONS,
        )

    def _verified(self, errors: PartitionErrors) -> None:
        if self._support is _ADDS_PARTITIONS and ErrorCode.CONCURRENT_TRANSACTIONS in errors.values():
            backoff_s = self._number(_RETRY_BACKOFF) / 1000
            waited_s = self._broker.reactor.seconds() - self._started_s
            if waited_s + backoff_s < self._number(_RETRY_BACKOFF_MAX) / 1000:
                self._broker.reactor.callLater(backoff_s, self._request)
                return
        for partition, error_code in errors.items():
            unsupported = error_code is ErrorCode.TRANSACTION_ABORTABLE and self._support is Support.DEFAULT
            self._result.errors[partition] = ErrorCode.INVALID_TXN_STATE if unsupported else error_code
            del self._result.guards[partition]
        self._completed = True
        if self._waiting is not None:
            self._waiting.callback(self._result)

    def _number(self, name: str) -> int:
        value = self._broker.config[name]
        assert isinstance(value, int)
        return value
