"""A broker's requests to transaction coordinators, to verify that partitions are in a transaction, or to add them
(KIP-890). Mirrors AddPartitionsToTxnManager.

A broker has one request per coordinator in flight. Meanwhile others wait, at most one per transactional id: of two with
the same epoch the earlier one fails with NETWORK_EXCEPTION, which its producer repeats; an older epoch is fenced.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from broker_sim.coordinators.runtime.coordinator_record import Log
from broker_sim.topic_partition import TopicPartition
from protocol_specs.api_key import ApiKey
from protocol_specs.error_codes import ErrorCode
from protocol_specs.message import factory
from protocol_specs.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
    from broker_sim.links.node_links import NodeLinks
    from broker_sim.metadata.metadata_cache import MetadataCache
    from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
    from protocol_specs.releases import Release

__all__ = ["PartitionErrors", "PartitionVerifier", "VerifierHost"]

BATCHES_SINCE: Final = 4
_TOPIC: Final = Log.TRANSACTION_STATE.value
_ADD_PARTITIONS_TO_TXN: Final = ApiKey.ADD_PARTITIONS_TO_TXN
"""A constant, because looking up a member of an enum is slow."""

PartitionErrors = dict[TopicPartition, ErrorCode]
"""The partitions that are not in the transaction, each with the reason."""


class VerifierHost(Protocol):
    """The parts of its broker that the verifier uses."""

    id: int
    links: NodeLinks
    metadata_cache: MetadataCache
    protocol: Release


_request: Final = factory(AddPartitionsToTxnRequest, "transactions")
_transaction: Final = factory(
    AddPartitionsToTxnTransaction, "transactional_id", "producer_id", "producer_epoch", "verify_only", "topics"
)
_topic: Final = factory(AddPartitionsToTxnTopic, "name", "partitions")


class _Verification:
    __slots__ = ("adds", "partitions", "producer", "transactional_id", "verified")

    def __init__(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
        verified: Callable[[PartitionErrors], object],
        *,
        adds: bool,
    ) -> None:
        self.transactional_id = transactional_id
        self.producer = producer
        self.partitions = partitions
        self.verified = verified
        self.adds = adds

    def fail(self, error_code: ErrorCode) -> None:
        self.verified(dict.fromkeys(self.partitions, error_code))

    def transaction(self) -> AddPartitionsToTxnTransaction:
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for topic, index in self.partitions:
            if topic in topics:
                topics[topic].partitions.append(index)
            else:
                topics[topic] = _topic(topic, [index])
        return _transaction(self.transactional_id, *self.producer, not self.adds, list(topics.values()))


class PartitionVerifier:
    """The verifications of one broker, by coordinator."""

    def __init__(self, host: VerifierHost, partition_for: Callable[[str], int]) -> None:
        self._host = host
        self._partition_for = partition_for
        self._waiting: dict[int, dict[str, _Verification]] = {}
        self._in_flight: dict[int, None] = {}
        self._stopped = False

    def verify(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Sequence[TopicPartition],
        verified: Callable[[PartitionErrors], object],
        *,
        adds: bool,
    ) -> None:
        """Verify that partitions are in a transaction, or add them: `adds`, for transactions v2.

        `verified` is called once with the result, which a coordinator without faults returns within this call.
        """
        verification = _Verification(transactional_id, producer, partitions, verified, adds=adds)
        coordinator = self._coordinator_of(transactional_id)
        if coordinator is None:
            verification.fail(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return
        waiting = self._waiting.setdefault(coordinator, {})
        earlier = waiting.get(transactional_id)
        if earlier is not None:
            if earlier.producer.producer_epoch > producer.producer_epoch:
                verification.fail(ErrorCode.INVALID_PRODUCER_EPOCH)
                return
            same = earlier.producer.producer_epoch == producer.producer_epoch
            del waiting[transactional_id]
            earlier.fail(ErrorCode.NETWORK_EXCEPTION if same else ErrorCode.INVALID_PRODUCER_EPOCH)
        waiting[transactional_id] = verification
        self._send(coordinator)

    def stop(self) -> None:
        """End with the process: no result is returned any more."""
        self._stopped = True
        self._waiting.clear()

    def _coordinator_of(self, transactional_id: str) -> int | None:
        image = self._host.metadata_cache.image
        registration = image.partition(_TOPIC, self._partition_for(transactional_id))
        if registration is None or not image.is_active(registration.leader):
            return None
        return registration.leader

    def _send(self, coordinator: int) -> None:
        if coordinator in self._in_flight or self._stopped:
            return
        verifications = list(self._waiting.pop(coordinator).values())
        host = self._host
        served = host.protocol.api_versions.get(_ADD_PARTITIONS_TO_TXN)
        if served is None or served.highest < BATCHES_SINCE:
            for verification in verifications:
                verification.verified({})  # the coordinator cannot verify: everything is allowed
            return
        self._in_flight[coordinator] = None
        request = _request([verification.transaction() for verification in verifications])
        host.links.call(
            host.id,
            coordinator,
            request,
            lambda response, _: self._responded(coordinator, verifications, response),
            lambda _, __: self._failed(coordinator, verifications),
            version=served.highest,
        )

    def _responded(
        self, coordinator: int, verifications: list[_Verification], response: AddPartitionsToTxnResponse
    ) -> None:
        if response.error_code:
            refused = ErrorCode(response.error_code)
            not_allowed = refused is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            for verification in verifications:
                verification.fail(ErrorCode.INVALID_TXN_STATE if not_allowed else refused)
        else:
            results = {each.transactional_id: each.topic_results for each in response.results_by_transaction}
            for verification in verifications:
                errors: PartitionErrors = {}
                for topic in results[verification.transactional_id]:
                    for result in topic.results_by_partition:
                        if result.partition_error_code:
                            partition = TopicPartition(topic.name, result.partition_index)
                            errors[partition] = _for_log(result.partition_error_code)
                verification.verified(errors)
        self._send_next(coordinator)

    def _failed(self, coordinator: int, verifications: list[_Verification]) -> None:
        for verification in verifications:
            verification.fail(ErrorCode.NETWORK_EXCEPTION)
        self._send_next(coordinator)

    def _send_next(self, coordinator: int) -> None:
        del self._in_flight[coordinator]
        if coordinator in self._waiting:
            self._send(coordinator)


def _for_log(error_code: int) -> ErrorCode:
    """A producer that writes knows a fenced epoch by the error of logs."""
    return ErrorCode.INVALID_PRODUCER_EPOCH if error_code == ErrorCode.PRODUCER_FENCED else ErrorCode(error_code)
