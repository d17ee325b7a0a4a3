"""Transactions: describe, list, abort and fence. Mirrors DescribeTransactionsHandler and its siblings.

KIP-588, KIP-664, KIP-939, KIP-994, KIP-1152. DescribeTransactions and InitProducerId go to the coordinators of the
transactional ids, ListTransactions to every broker, DescribeProducers and WriteTxnMarkers to the leaders.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from broker_client.core.admin.all_brokers import all_broker_ids
from broker_client.core.admin.calls import AdminCalls, ItemCall, OneItemPerRequest, Outcomes
from broker_client.core.admin.coordinators import COORDINATOR_RETRIED, OF_TRANSACTIONS, CoordinatorRoute
from broker_client.core.admin.routes import BROKER, LEADER, BrokerRoute
from broker_client.core.groups.consumer_protocol import partitions_by_topic
from broker_client.errors import UnsupportedVersion, error_of
from broker_client.records import TopicPartition
from broker_client.transaction_errors import transaction_error_of
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol_specs.messages.describe_transactions import DescribeTransactionsRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.messages.list_transactions import ListTransactionsRequest
from protocol_specs.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_client.core.admin.routes import Route
    from broker_client.core.network.client_core import ClientCore
    from protocol_specs.messages import describe_producers as producers
    from protocol_specs.messages import describe_transactions as described
    from protocol_specs.messages.init_producer_id import InitProducerIdResponse
    from protocol_specs.messages.list_transactions import ListTransactionsResponse
    from protocol_specs.messages.write_txn_markers import WriteTxnMarkersResponse

__all__ = [
    "NO_DURATION",
    "AbortTransactionSpec",
    "FencedProducer",
    "ProducerState",
    "TransactionCalls",
    "TransactionDescription",
    "TransactionListing",
    "TransactionState",
]

NO_DURATION: Final = -1
"""As a duration of list_transactions: transactions of any age, and ids without one."""
_DURATION_FROM: Final = 1
_PATTERN_FROM: Final = 2
_FENCING_RETRIED: Final = (*COORDINATOR_RETRIED, ErrorCode.CONCURRENT_TRANSACTIONS)
_DESCRIBING_RETRIED: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_ABORTING_RETRIED: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REPLICA_NOT_AVAILABLE,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


class TransactionState(StrEnum):
    """The state of a transactional id. Mirrors TransactionState."""

    ONGOING = "Ongoing"
    PREPARE_ABORT = "PrepareAbort"
    PREPARE_COMMIT = "PrepareCommit"
    COMPLETE_ABORT = "CompleteAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    EMPTY = "Empty"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    UNKNOWN = "Unknown"

    @classmethod
    def parse(cls, text: str) -> TransactionState:
        """Return the state of this name; UNKNOWN for other names."""
        return next((state for state in cls if state.value == text), cls.UNKNOWN)


@dataclass(slots=True, kw_only=True, frozen=True)
class TransactionDescription:
    """A transactional id as its coordinator has it. Mirrors TransactionDescription.

    `transaction_start_time_ms` is None without an open transaction. `topic_partitions` are sorted.
    """

    coordinator_id: int
    state: TransactionState
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int | None
    topic_partitions: tuple[TopicPartition, ...]


@dataclass(slots=True, kw_only=True, frozen=True)
class TransactionListing:
    """One transactional id in a list. Mirrors TransactionListing."""

    transactional_id: str
    producer_id: int
    state: TransactionState


@dataclass(slots=True, kw_only=True, frozen=True)
class ProducerState:
    """A producer as a partition's log remembers it. Mirrors ProducerState.

    `coordinator_epoch` is that of the last marker, None before the first one; `current_transaction_start_offset` is
    None without an open transaction; `last_sequence` and `last_timestamp_ms` are -1 before the first batch.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int | None
    current_transaction_start_offset: int | None


@dataclass(slots=True, kw_only=True, frozen=True)
class AbortTransactionSpec:
    """The transaction of a producer in one partition, as describe_producers returns it. Mirrors AbortTransactionSpec.

    `coordinator_epoch` is that of the producer's state, 0 where it has none, as Kafka's tool sends it.
    """

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


@dataclass(slots=True, kw_only=True, frozen=True)
class FencedProducer:
    """The producer id and epoch that a fenced transactional id has now. Mirrors FenceProducersResult."""

    producer_id: int
    producer_epoch: int


class TransactionCalls:
    """Call everything on the reactor's thread."""

    _calls: AdminCalls
    _core: ClientCore

    async def describe_transactions(self, transactional_ids: Sequence[str]) -> dict[str, TransactionDescription]:
        """Transactional ids as their coordinators have them; raises ItemsFailed by id."""
        route = _by_transactional_id()

        def take(response: Any, _: list[str], outcomes: Outcomes[str, TransactionDescription]) -> None:
            for one in response.transaction_states:
                name = one.transactional_id
                value = _description(one, route.node_id(name)) if name in outcomes.open else None
                OF_TRANSACTIONS.take_code(outcomes, name, name, one.error_code, None, value)

        call = ItemCall(
            kind=DescribeTransactionsRequest,
            route=route,
            build=lambda _version, ids, _timeout_ms: DescribeTransactionsRequest(transactional_ids=ids),
            take=take,
        )
        return await self._calls.settle(transactional_ids, call)

    async def list_transactions(
        self,
        *,
        states: Sequence[TransactionState] = (),
        producer_ids: Sequence[int] = (),
        duration_ms: int = NO_DURATION,
        transactional_id_pattern: str | None = None,
    ) -> dict[str, TransactionListing]:
        """Transactional ids of all brokers, sorted; raises ItemsFailed by broker id."""

        def build(version: int, broker_ids: list[int], timeout_ms: int) -> ListTransactionsRequest:
            del broker_ids, timeout_ms
            if duration_ms >= 0 and version < _DURATION_FROM:
                raise UnsupportedVersion(
                    f"transactions are selected by duration from ListTransactions v{_DURATION_FROM} (Kafka 3.8) on, "
                    f"the node speaks v{version}"
                )
            if transactional_id_pattern is not None and version < _PATTERN_FROM:
                raise UnsupportedVersion(
                    f"transactional ids are selected by pattern from ListTransactions v{_PATTERN_FROM} (Kafka 4.1) on, "
                    f"the node speaks v{version}"
                )
            return ListTransactionsRequest(
                state_filters=list(states),
                producer_id_filters=list(producer_ids),
                duration_filter=duration_ms,
                transactional_id_pattern=transactional_id_pattern,
            )

        def take(
            response: ListTransactionsResponse,
            broker_ids: list[int],
            outcomes: Outcomes[int, list[TransactionListing]],
        ) -> None:
            (broker_id,) = broker_ids
            listings = [
                TransactionListing(
                    transactional_id=one.transactional_id,
                    producer_id=one.producer_id,
                    state=TransactionState.parse(one.transaction_state),
                )
                for one in response.transaction_states
            ]
            loading = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,)
            outcomes.take(broker_id, response.error_code, None, listings, retried=loading)

        call = ItemCall(kind=ListTransactionsRequest, route=BROKER, build=build, take=take)
        by_broker = await self._calls.settle(await all_broker_ids(self._calls), call)
        found = {one.transactional_id: one for listings in by_broker.values() for one in listings}
        return {name: found[name] for name in sorted(found)}

    async def describe_producers(
        self, partitions: Sequence[TopicPartition], *, broker_id: int | None = None
    ) -> dict[TopicPartition, tuple[ProducerState, ...]]:
        """Producers that the leaders, or one broker, remember; raises ItemsFailed by partition."""
        route: Route[TopicPartition] = LEADER if broker_id is None else BrokerRoute(lambda _: broker_id)
        # Another broker is not tried in the place of a named one, so that its NOT_LEADER_OR_FOLLOWER is final.
        retried = _DESCRIBING_RETRIED if broker_id is None else (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,)

        def build(version: int, keys: list[TopicPartition], timeout_ms: int) -> DescribeProducersRequest:
            del version, timeout_ms
            return DescribeProducersRequest(
                topics=[
                    TopicRequest(name=name, partition_indexes=numbers)
                    for name, numbers in partitions_by_topic(keys).items()
                ]
            )

        def take(
            response: producers.DescribeProducersResponse,
            _: list[TopicPartition],
            outcomes: Outcomes[TopicPartition, tuple[ProducerState, ...]],
        ) -> None:
            for topic in response.topics:
                for one in topic.partitions:
                    key = TopicPartition(topic.name, one.partition_index)
                    states = tuple(map(_producer_state, one.active_producers))
                    outcomes.take(key, one.error_code, one.error_message, states, retried=retried, topic=topic.name)

        call = ItemCall(kind=DescribeProducersRequest, route=route, build=build, take=take)
        return await self._calls.settle([TopicPartition.of(key) for key in partitions], call)

    async def abort_transaction(self, spec: AbortTransactionSpec) -> None:
        """Write an abort marker to the partition's leader, past the coordinator; raises ItemsFailed by partition."""
        key = TopicPartition.of(spec.topic_partition)

        def build(version: int, keys: list[TopicPartition], timeout_ms: int) -> WriteTxnMarkersRequest:
            del version, keys, timeout_ms
            marker = WritableTxnMarker(
                producer_id=spec.producer_id,
                producer_epoch=spec.producer_epoch,
                coordinator_epoch=spec.coordinator_epoch,
                transaction_result=False,
                topics=[WritableTxnMarkerTopic(name=key.topic, partition_indexes=[key.partition])],
            )
            return WriteTxnMarkersRequest(markers=[marker])

        def take(
            response: WriteTxnMarkersResponse, _: list[TopicPartition], outcomes: Outcomes[TopicPartition, None]
        ) -> None:
            codes = [
                one.error_code
                for marker in response.markers
                if marker.producer_id == spec.producer_id
                for topic in marker.topics
                if topic.name == key.topic
                for one in topic.partitions
                if one.partition_index == key.partition
            ]
            for code in map(ErrorCode.for_code, codes):
                if code is ErrorCode.NONE:
                    outcomes.succeed(key, None)
                elif code in _ABORTING_RETRIED:
                    outcomes.retry(key, error_of(code, f"the marker of {spec}", topic=key.topic))
                else:
                    outcomes.fail(key, transaction_error_of(code, f"the marker of {spec}"))

        call = ItemCall(kind=WriteTxnMarkersRequest, route=LEADER, build=build, take=take)
        await self._calls.settle([key], call)

    async def fence_producers(self, transactional_ids: Sequence[str]) -> dict[str, FencedProducer]:
        """Take a new producer epoch of each transactional id; raises ItemsFailed by id."""
        # Java has no option of its own for it: the coordinator appends the epoch with the time-out of a request.
        transaction_timeout_ms = self._core.options.network.request_timeout_ms

        def build(version: int, ids: list[str], timeout_ms: int) -> InitProducerIdRequest:
            del timeout_ms
            if len(ids) > 1:
                raise OneItemPerRequest(f"InitProducerId v{version} has one transactional id per request")
            return InitProducerIdRequest(transactional_id=ids[0], transaction_timeout_ms=transaction_timeout_ms)

        def take(response: InitProducerIdResponse, ids: list[str], outcomes: Outcomes[str, FencedProducer]) -> None:
            (name,) = ids
            value = FencedProducer(producer_id=response.producer_id, producer_epoch=response.producer_epoch)
            OF_TRANSACTIONS.take_code(outcomes, name, name, response.error_code, None, value, retried=_FENCING_RETRIED)

        call = ItemCall(kind=InitProducerIdRequest, route=_by_transactional_id(), build=build, take=take)
        return await self._calls.settle(transactional_ids, call)


def _by_transactional_id() -> CoordinatorRoute[str]:
    return CoordinatorRoute(OF_TRANSACTIONS, lambda transactional_id: transactional_id)


def _description(one: described.TransactionState, coordinator_id: int) -> TransactionDescription:
    start_ms = one.transaction_start_time_ms
    partitions = [TopicPartition(topic.topic, number) for topic in one.topics for number in topic.partitions]
    return TransactionDescription(
        coordinator_id=coordinator_id,
        state=TransactionState.parse(one.transaction_state),
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
        transaction_timeout_ms=one.transaction_timeout_ms,
        transaction_start_time_ms=None if start_ms < 0 else start_ms,
        topic_partitions=tuple(sorted(partitions)),
    )


def _producer_state(one: producers.ProducerState) -> ProducerState:
    start = one.current_txn_start_offset
    return ProducerState(
        producer_id=one.producer_id,
        producer_epoch=one.producer_epoch,
        last_sequence=one.last_sequence,
        last_timestamp_ms=one.last_timestamp,
        coordinator_epoch=None if one.coordinator_epoch < 0 else one.coordinator_epoch,
        current_transaction_start_offset=None if start < 0 else start,
    )
