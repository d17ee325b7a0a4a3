"""A Produce request to any partitions: which records are appended, which are refused, and the response.

The slow path of `produce`: several partitions, old formats, transactions, errors and fault rules. Mirrors
KafkaApis.handleProduceRequest and ProduceRequest.getErrorResponse.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias

from twisted.internet.defer import Deferred

from broker_sim.apis.auto_topic_creation import is_internal
from broker_sim.apis.handler_result import NoResponse
from broker_sim.apis.leader_endpoints import LeaderEndpoints
from broker_sim.apis.partition_order import (
    immutable_order,
    mutable_order,
    partition_hash,
    partition_hash_with_id,
)
from broker_sim.apis.produce_validation import (
    INTERNAL_TOPICS,
    TOPIC_IDS_LOWEST,
    VALID_ACKS,
    is_plain_batch,
    is_unreadable,
    partition_error,
    producer_ids_readable,
    transactional_batch,
    whole_request_error,
)
from broker_sim.apis.transaction_verification import VERIFICATION, Support, Verified, verified
from broker_sim.log.append_results import PartitionAppend
from broker_sim.replication.append_events import note_completion
from broker_sim.security.acl import AclOperation, ResourceType
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.java_hash import computed_order
from protocol_specs.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from protocol_specs.uuids import ZERO_UUID, to_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from broker_sim.apis.handler_result import Response
    from broker_sim.apis.request_context import RequestContext
    from broker_sim.coordinators.transactions.producers import ProducerIdAndEpoch
    from protocol_specs.message import Buffer, Message
    from protocol_specs.messages.produce import ProduceRequest

__all__ = ["ProducePartitions", "error_response", "transaction_support"]

CURRENT_LEADER_LOWEST: Final = 10
ADMIN_CLIENT_ID: Final = "__admin_client"
ABORTABLE_LOWEST: Final = 11
ADDS_PARTITIONS_LOWEST: Final = 12
TWO_PRODUCERS: Final = "Transactional records contained more than one producer ID"
NOT_ADDED: Final = "Partition was not added to the transaction"
UNVERIFIED: Final = "Unable to verify the partition has been added to the transaction."
_UNVERIFIED: Final = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)

PartitionOutcome: TypeAlias = "tuple[bytes, PartitionAppend]"
"""The result of a partition, with its topic's id."""

# Constants, because looking up a member of an enum is slow.
_NONE: Final = ErrorCode.NONE
_DEFAULT: Final = Support.DEFAULT
_ABORTABLE: Final = Support.ABORTABLE
_ADDS_PARTITIONS: Final = Support.ADDS_PARTITIONS


class ProducePartitions:
    """The partitions of one request: those to append to, and those refused already."""

    __slots__ = (
        "by_coordinator",
        "context",
        "entries",
        "failed",
        "fails_request",
        "invalid",
        "needs_checks",
        "producers",
        "request",
        "sequences",
        "topic_ids",
        "unauthorized",
        "unknown_ids",
        "unknown_partitions",
    )

    def __init__(self, request: ProduceRequest, context: RequestContext) -> None:
        self.request = request
        self.context = context
        self.entries: dict[TopicPartition, Buffer | None] = {}
        """Records to append by partition; of two record sets for one partition the last."""
        self.failed: list[PartitionAppend] = []
        """Partitions that fail without an append, with the error that the log would have given."""
        self.unauthorized: list[PartitionAppend] = []
        """Partitions of topics to which the client may not write."""
        self.unknown_partitions: list[PartitionAppend] = []
        """Results of partitions that do not exist."""
        self.invalid: list[PartitionAppend] = []
        """Partitions whose records this version must not carry. These and the unknown ones override results."""
        self.unknown_ids: dict[bytes, dict[int, None]] = {}
        """Topic id -> partitions."""
        self.topic_ids: dict[str, bytes] = {}
        self.sequences: dict[TopicPartition, int] = {}
        """The first sequence of the records of a transaction, by partition."""
        self.producers: dict[ProducerIdAndEpoch, None] = {}
        """The producers of these records."""
        self.fails_request = False
        """True if a record set fails the whole request."""
        self.by_coordinator = False
        """True if the coordinator has verified the transaction of a partition."""
        self.needs_checks = False
        """True if a record set is more than one plain v2 batch, or a topic is internal."""

    def sort(self) -> None:
        """Sort the request's partitions into those to append and those refused here."""
        version = self.context.api_version
        image = self.context.broker.metadata_cache.image
        injected = self.context.injected_errors
        for topic in self.request.topic_data:
            if version < TOPIC_IDS_LOWEST:
                name = topic.name
                topic_image = image.topics.get(name)
            else:
                topic_image = image.topics_by_id.get(topic.topic_id)
                if topic_image is None:
                    indexes = dict.fromkeys(partition.index for partition in topic.partition_data)
                    self.unknown_ids.setdefault(topic.topic_id, {}).update(indexes)
                    self.needs_checks = True
                    continue
                name = topic_image.name
                self.topic_ids[name] = topic.topic_id
            if name in INTERNAL_TOPICS and self.context.client_id != ADMIN_CLIENT_ID:
                self.needs_checks = True
            count = 0 if topic_image is None else len(topic_image.partitions)
            denied = not self.context.may(AclOperation.WRITE, ResourceType.TOPIC, name)
            for partition in topic.partition_data:
                key = TopicPartition(name, partition.index)
                records = partition.records
                assert not isinstance(records, list)  # only an encoder takes lists
                error = _NONE
                if not is_plain_batch(records):
                    self.needs_checks = True
                    error = partition_error(records, version)
                if denied:
                    error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                    self.unauthorized.append(PartitionAppend(key, error_code=error))
                elif injected is not None and (name, partition.index) in injected:
                    error = injected[name, partition.index]
                    self.failed.append(PartitionAppend(key, error_code=error))
                elif not 0 <= partition.index < count:
                    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                    self.unknown_partitions.append(PartitionAppend(key, error_code=error))
                elif error is ErrorCode.UNKNOWN_SERVER_ERROR:
                    self.fails_request = True
                elif error:
                    self.invalid.append(PartitionAppend(key, error_code=error))
                else:
                    self.entries[key] = records

    def refuse_request(self) -> Message | NoResponse | None:
        """Return the response if an error fails the request as a whole; None if partitions may be appended to."""
        request, context = self.request, self.context
        behaviour = context.behaviour
        if behaviour.produce_without_batches_is_unreadable and is_unreadable(request, context.api_version, behaviour):
            return unreadable(context)
        refusal = whole_request_error(request)
        if refusal is not None:
            return error_response(request, context, refusal.error_code, refusal.message)
        if self.fails_request:
            return error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
        if behaviour.null_produce_records_hang:
            # Since 4.0 the producer ids of all record sets are read before any is appended.
            record_sets = [records for records in self.entries.values() if records is not None]
            if len(record_sets) < len(self.entries):
                return NoResponse.STAY_MUTED
            if not producer_ids_readable(record_sets):
                return error_response(request, context, ErrorCode.UNKNOWN_SERVER_ERROR)
        if self._reads_producers:
            for key, records in self.entries.items():
                found = transactional_batch(records)
                if found is not None:
                    producer, self.sequences[key] = found
                    self.producers[producer] = None
            if len(self.producers) > 1:
                return error_response(request, context, ErrorCode.INVALID_PRODUCER_ID_MAPPING, TWO_PRODUCERS)
        return None

    def append(
        self, on_local_append: Callable[[list[PartitionAppend]], None] | None = None
    ) -> list[PartitionAppend] | Deferred[list[PartitionAppend]]:
        """Append the records that were not refused."""
        entries = self.entries
        if not entries:
            return []
        if self.request.acks not in VALID_ACKS and not self._verifies:
            return self._with_invalid_acks()
        if not self.sequences:
            return self._append({}, on_local_append)
        [producer] = self.producers
        sequences = {key: sequence for key, sequence in self.sequences.items() if key in entries}
        support = transaction_support(self.context.api_version)
        found = verified(self.context, self.request.transactional_id, producer, sequences, support)
        return self.append_verified(found, on_local_append)

    def append_verified(
        self,
        found: Verified | Deferred[Verified],
        on_local_append: Callable[[list[PartitionAppend]], None] | None = None,
    ) -> list[PartitionAppend] | Deferred[list[PartitionAppend]]:
        """Append the records whose transactions were verified, when the verification is done."""
        if isinstance(found, Deferred):
            return found.addCallback(self._append_verified, on_local_append)
        return self._append_verified(found, on_local_append)

    def _append_verified(
        self, found: Verified, on_local_append: Callable[[list[PartitionAppend]], None] | None
    ) -> list[PartitionAppend] | Deferred[list[PartitionAppend]]:
        """Append to the partitions of the transaction; errors that older producers give up at are retriable ones."""
        self.by_coordinator = found.by_coordinator
        adds = transaction_support(self.context.api_version) is _ADDS_PARTITIONS
        replicas = self.context.broker.replica_manager
        for key, error in found.errors.items():
            del self.entries[key]
            if error in _UNVERIFIED or (error is ErrorCode.CONCURRENT_TRANSACTIONS and not adds):
                message = f"{UNVERIFIED} Underlying error: {error.name}"
                result = PartitionAppend(key, ErrorCode.NOT_ENOUGH_REPLICAS, error_message=message)
            else:
                text = NOT_ADDED if error is ErrorCode.INVALID_TXN_STATE else None
                result = PartitionAppend(key, error_code=error, error_message=text)
            self.failed.append(result)
            if replicas.journal.wants_batches:
                note_completion(replicas, result, self.request.acks, self.context.request_id)
        return self._append(found.guards, on_local_append)

    def _append(
        self,
        guards: Mapping[TopicPartition, object],
        on_local_append: Callable[[list[PartitionAppend]], None] | None,
    ) -> list[PartitionAppend] | Deferred[list[PartitionAppend]]:
        if self.request.acks not in VALID_ACKS:
            return self._with_invalid_acks()
        if self.needs_checks:
            self._refuse_internal_topics()
            if not self.entries:
                return []
        return self.context.broker.replica_manager.append_records(
            self.context.request_id,
            self.request.timeout_ms,
            self.request.acks,
            list(self.entries.items()),
            on_local_append,
            guards=guards,
        )

    def _with_invalid_acks(self) -> list[PartitionAppend]:
        return [PartitionAppend(key, error_code=ErrorCode.INVALID_REQUIRED_ACKS) for key in self.entries]

    def _refuse_internal_topics(self) -> None:
        """Refuse internal topics to every client but an admin client, after the verification of transactions.

        Mirrors ReplicaManager.appendToLocalLog.
        """
        if self.context.client_id == ADMIN_CLIENT_ID:
            return
        for key in list(self.entries):
            if is_internal(key.topic, self.context.broker.config):
                del self.entries[key]
                error = ErrorCode.INVALID_TOPIC_EXCEPTION
                self.failed.append(PartitionAppend(key, error_code=error))

    def respond(self, results: list[PartitionAppend] | NoResponse) -> Response | NoResponse:
        """Build the response; for acks=0 decide whether the connection stays open."""
        if isinstance(results, NoResponse):
            return results
        refused = self.failed or self.unauthorized or self.unknown_partitions or self.invalid or self.unknown_ids
        outcomes = [(self.topic_ids.get(result.topic_partition.topic, ZERO_UUID), result) for result in results]
        if refused or (len(outcomes) > 1 and not self._by_id):
            outcomes = self._in_order(outcomes)
        if self.request.acks == 0:
            return self._close_on_error(outcomes)
        leaders: LeaderEndpoints | None = None
        groups: dict[str | bytes, TopicProduceResponse] = {}
        for topic_id, result in outcomes:
            topic, index = result.topic_partition
            group = groups.get(topic or topic_id)
            if group is None:
                group = groups[topic or topic_id] = TopicProduceResponse(name=topic, topic_id=topic_id)
            shaped = PartitionProduceResponse(
                index=index,
                error_code=result.error_code,
                base_offset=result.base_offset,
                log_append_time_ms=result.log_append_time_ms,
                log_start_offset=result.log_start_offset,
            )
            group.partition_responses.append(shaped)
            if result.error_code:
                shaped.error_code = self.context.behaviour.known(result.error_code)
                leaders = leaders or LeaderEndpoints(self.context)
                self._add_details(shaped, result, leaders)
        response = ProduceResponse(responses=list(groups.values()))
        if leaders is not None and leaders.nodes:
            response.node_endpoints = [
                NodeEndpoint(node_id=node.id, host=node.host, port=node.port, rack=node.rack)
                for node in leaders.listed()
            ]
        return response

    def _add_details(self, shaped: PartitionProduceResponse, result: PartitionAppend, leaders: LeaderEndpoints) -> None:
        """Add the details of an error: its text, the records that caused it, or the current leader."""
        shaped.error_message = result.error_message
        if (
            result.error_code is ErrorCode.UNKNOWN_SERVER_ERROR
            and self.request.transactional_id is None  # else null records fail before the append
            and self.entries.get(result.topic_partition, b"") is None
        ):
            hosted = self.context.broker.replica_manager.partitions.get(result.topic_partition)
            shaped.log_start_offset = -1 if hosted is None else hosted.log.log_start_offset
        shaped.record_errors = [
            BatchIndexAndErrorMessage(batch_index=error.batch_index, batch_index_error_message=error.message)
            for error in result.record_errors
        ]
        if result.error_code is ErrorCode.NOT_LEADER_OR_FOLLOWER and self.context.api_version >= CURRENT_LEADER_LOWEST:
            leader_id, leader_epoch = leaders.of(result.topic_partition)
            shaped.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)

    @property
    def _by_id(self) -> bool:
        return self.context.behaviour.produce_responds_by_topic_id

    @property
    def _reads_producers(self) -> bool:
        """True if the batches of one transaction must have one producer, which is verified.

        Since 3.8 they must also where the configuration disables the verification.
        """
        if self.request.transactional_id is None:
            return False
        enabled = self.context.behaviour.transactions_are_verified and self.context.broker.config[VERIFICATION]
        return self._verifies or bool(enabled)

    @property
    def _verifies(self) -> bool:
        """True if all record sets are read before any is appended, in order to find those of transactions."""
        return self.context.behaviour.null_produce_records_hang

    def _in_order(self, results: list[PartitionOutcome]) -> list[PartitionOutcome]:
        """Return all outcomes in the order in which Kafka's maps list them.

        Since 4.1 topic ids are in the keys of these maps. They differ between clusters, so that partitions which they
        alone would order keep the order of the request.
        """
        by_id = self._by_id
        results = [*self._identified(self.failed), *results]
        unauthorized = self._identified(self.unauthorized)
        unknown_partitions = [*self._identified(self.unknown_partitions), *self._unknown_ids()]
        invalid = self._identified(self.invalid)
        if by_id and not (unauthorized or unknown_partitions or invalid):
            return results
        hash_of = _hash_with_id if by_id else _hash
        results = self._identified([result for _, result in results])
        merged = _keyed(results if by_id else mutable_order(results, hash_of))
        for refused in (unauthorized, unknown_partitions, invalid):
            merged.update(_keyed(mutable_order(list(_keyed(refused).values()), hash_of)))
        # A broker that verifies transactions first adds the results to a map of their errors. That is immutable unless
        # the coordinator has verified a partition.
        verified = self._verifies or (self._reads_producers and self.request.acks in VALID_ACKS)
        is_immutable = not self.by_coordinator and (verified or not results)
        order = immutable_order if is_immutable else mutable_order
        return order(list(merged.values()), hash_of)

    def _identified(self, results: list[PartitionAppend]) -> list[PartitionOutcome]:
        """Pair each result with its topic's id if the id is part of the key."""
        if not self._by_id:
            return [(ZERO_UUID, result) for result in results]
        topics = self.context.broker.metadata_cache.image.topics
        images = [topics.get(result.topic_partition.topic) for result in results]
        return [
            (ZERO_UUID if image is None else image.topic_id, result)
            for image, result in zip(images, results, strict=True)
        ]

    def _unknown_ids(self) -> list[PartitionOutcome]:
        error = ErrorCode.UNKNOWN_TOPIC_ID
        return [
            (topic_id, PartitionAppend(TopicPartition("", index), error_code=error))
            for topic_id, indexes in self.unknown_ids.items()
            for index in indexes
        ]

    def _close_on_error(self, outcomes: list[PartitionOutcome]) -> NoResponse:
        errors = [
            f"{result.topic_partition if result.topic_partition.topic else f'topic id {to_text(topic_id)}'}"
            f": {result.error_code.name}"
            for topic_id, result in outcomes
            if result.error_code
        ]
        if errors:
            return self.context.disconnect(f"error in a Produce with acks=0: {', '.join(errors)}")
        return NoResponse.NO_OP


def _keyed(outcomes: Iterable[PartitionOutcome]) -> dict[tuple[bytes, TopicPartition], PartitionOutcome]:
    return {(topic_id, result.topic_partition): (topic_id, result) for topic_id, result in outcomes}


def _hash(outcome: PartitionOutcome) -> int:
    return partition_hash(outcome[1].topic_partition)


def _hash_with_id(outcome: PartitionOutcome) -> int:
    return partition_hash_with_id(outcome[1].topic_partition, outcome[0])


def transaction_support(version: int) -> Support:
    """Return what a version of Produce supports of transactions."""
    if version >= ADDS_PARTITIONS_LOWEST:
        return _ADDS_PARTITIONS
    return _ABORTABLE if version >= ABORTABLE_LOWEST else _DEFAULT


def unreadable(context: RequestContext) -> NoResponse:
    """Return the result of a request that older brokers cannot read."""
    if context.behaviour.unreadable_requests_are_ignored:
        return NoResponse.NO_OP
    return context.disconnect("a Produce whose record sets cannot be read")


def error_response(
    request: ProduceRequest, context: RequestContext, error_code: ErrorCode, message: str | None = None
) -> Message | NoResponse:
    """Return one error for every partition; nothing is sent for acks=0. Mirrors ProduceRequest.getErrorResponse.

    Kafka computes the sizes of the record sets for it, so that a request with null records gets no response.
    """
    if request.acks == 0:
        return context.disconnect(f"error {error_code.name} in a Produce with acks=0")
    by_id = context.behaviour.produce_responds_by_topic_id
    keys: dict[tuple[bytes, TopicPartition], None] = {}
    for topic in request.topic_data:
        for partition in topic.partition_data:
            if partition.records is None:
                return NoResponse.STAY_MUTED
            keys[topic.topic_id, TopicPartition(topic.name, partition.index)] = None
    ordered = computed_order(
        list(keys), lambda key: partition_hash_with_id(key[1], key[0]) if by_id else partition_hash(key[1])
    )
    groups: dict[tuple[bytes, str], TopicProduceResponse] = {}
    for topic_id, (name, index) in ordered:
        group = groups.setdefault((topic_id, name), TopicProduceResponse(name=name, topic_id=topic_id))
        group.partition_responses.append(
            PartitionProduceResponse(index=index, error_code=error_code, base_offset=-1, error_message=message)
        )
    return ProduceResponse(responses=list(groups.values()))
