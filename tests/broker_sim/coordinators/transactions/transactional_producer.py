"""The requests of one transactional producer to a cluster on virtual time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from broker_sim.topic_partition import TopicPartition
from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, RequestAddPartitionsToTxnTopic
from protocol_specs.messages.end_txn import EndTxnRequest
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder
from protocol_specs.records.batch_peek import iterate_batches
from protocol_specs.records.record_set import read_any_record_set

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.cluster import Cluster
    from broker_sim.coordinators.transactions.transaction_metadata import TransactionMetadata
    from sim_runtime.virtual_reactor import VirtualReactor

ORDERS = TopicPartition("orders", 0)
BILLS = TopicPartition("bills", 0)
TOPICS = [TopicSpec(name="orders", replication_factor=3), TopicSpec(name="bills", replication_factor=3)]
RETRIED = (14, 15, 16, 51)
TRIES_MAX = 100


class Api(Protocol):
    """A cluster on virtual time, and requests to its brokers."""

    cluster: Cluster
    reactor: VirtualReactor

    def exchange(self, request: Any, version: int, *, broker_id: int) -> Any:
        """Return the response of a broker."""


def error_of(response: Any) -> int:
    """Return the error of a response that has one for the whole request."""
    return int(response.error_code)


def _error_of_added(response: Any) -> int:
    return int(response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)


class TransactionalProducer:
    """The requests of one producer; errors that Kafka's producers repeat are repeated."""

    def __init__(self, api: Api, transactional_id: str = "t") -> None:
        self.api = api
        self.id = transactional_id
        self.producer_id = -1
        self.epoch = -1
        self._sequences: dict[TopicPartition, int] = {}

    @property
    def coordinator(self) -> int:
        """The broker that coordinates the id."""
        request = FindCoordinatorRequest(key_type=1, key=self.id)
        for _ in range(TRIES_MAX):
            response = self.api.exchange(request, 1, broker_id=self.alive)
            if not response.error_code:
                return int(response.node_id)
            self.api.reactor.run_for(ms=50)
        raise AssertionError(f"no coordinator of {self.id}: {response}")

    def _until_served(self, request: Any, version: int, error_of: Callable[[Any], int] = error_of) -> Any:
        for _ in range(TRIES_MAX):
            response = self.api.exchange(request, version, broker_id=self.coordinator)
            if error_of(response) not in RETRIED:
                return response
            self.api.reactor.run_for(ms=50)
        raise AssertionError(f"{request} is not served: {response}")

    @property
    def alive(self) -> int:
        """A broker that runs."""
        return next(broker.id for broker in self.api.cluster.brokers.values() if broker.alive)

    def _version(self, request: Any, version: int) -> int:
        """Return the version, or the highest one that the release has."""
        release = self.api.cluster.brokers[self.alive].release
        return min(version, release.api_versions[request.API_KEY].highest)

    def init(self, timeout_ms: int = 60_000, *, given: tuple[int, int] = (-1, -1)) -> Any:
        """Initialize; go on with the producer of the response."""
        request = InitProducerIdRequest(
            transactional_id=self.id, transaction_timeout_ms=timeout_ms, producer_id=given[0], producer_epoch=given[1]
        )
        response = self._until_served(request, self._version(request, 4))
        if not response.error_code:
            self._take(response)
        return response

    def _take(self, response: Any) -> None:
        self.producer_id, self.epoch = response.producer_id, response.producer_epoch
        self._sequences.clear()

    def add(self, *partitions: TopicPartition) -> int:
        """Add partitions; return the error."""
        topics = [RequestAddPartitionsToTxnTopic(name=topic, partitions=[index]) for topic, index in partitions]
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=topics,
        )
        return _error_of_added(self._until_served(request, self._version(request, 3), _error_of_added))

    def send(self, partition: TopicPartition, value: bytes = b"v", *, version: int = 9, again: bool = False) -> int:
        """Write one record; return the error. A batch that is sent `again` is the one before."""
        sequence = self._sequences.get(partition, 0) - again
        builder = RecordBatchBuilder(
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        builder.append(self.api.cluster.brokers[self.alive].now_ms(), None, value)
        data = PartitionProduceData(index=partition.partition, records=builder.build())
        request = ProduceRequest(
            transactional_id=self.id,
            acks=-1,
            timeout_ms=1000,
            topic_data=[TopicProduceData(name=partition.topic, partition_data=[data])],
        )
        response = self.api.exchange(request, self._version(request, version), broker_id=self.leader(partition))
        error = int(response.responses[0].partition_responses[0].error_code)
        if not error:
            self._sequences[partition] = sequence + 1
        return error

    def end(self, *, commit: bool, version: int = 3) -> Any:
        """End the transaction; from version 5 on go on with the producer of the response."""
        request = EndTxnRequest(
            transactional_id=self.id, producer_id=self.producer_id, producer_epoch=self.epoch, committed=commit
        )
        response = self._until_served(request, self._version(request, version))
        if version >= 5 and not response.error_code:
            self._take(response)
        return response

    @property
    def metadata(self) -> TransactionMetadata:
        """The state of the transactional id, as its coordinator has it."""
        metadata = self.api.cluster.brokers[self.coordinator].coordinators.transactions.metadata_of(self.id)
        assert metadata is not None
        return metadata

    def state(self) -> str:
        """The state of the transaction."""
        return self.metadata.state.label

    def leader(self, partition: TopicPartition) -> int:
        """The leader of a partition."""
        image = self.api.cluster.brokers[self.alive].metadata_cache.image
        registration = image.partition(*partition)
        assert registration is not None
        return registration.leader

    def read(self, partition: TopicPartition, *, committed: bool = True) -> list[bytes]:
        """Read a partition from its beginning as a consumer does: markers and aborted records are dropped."""
        values: list[bytes] = []
        offset, dropped = 0, set[int]()
        while True:
            wanted = FetchPartition(partition=partition.partition, fetch_offset=offset, partition_max_bytes=1 << 20)
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                isolation_level=int(committed),
                topics=[FetchTopic(topic=partition.topic, partitions=[wanted])],
            )
            response = self.api.exchange(request, self._version(request, 12), broker_id=self.leader(partition))
            data = response.responses[0].partitions[0]
            assert not data.error_code
            if not data.records:
                return values
            aborted = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or [])
            for header, view in iterate_batches(bytes(data.records)):
                while aborted and aborted[0][0] <= header.last_offset:
                    dropped.add(aborted.pop(0)[1])
                if header.is_control:
                    dropped.discard(header.producer_id)
                elif not (header.is_transactional and header.producer_id in dropped):
                    values += [bytes(record.value or b"") for record in read_any_record_set(bytes(view))]
                offset = header.last_offset + 1
