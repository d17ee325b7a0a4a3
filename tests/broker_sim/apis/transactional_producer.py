"""A transactional producer that sends single requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, RequestAddPartitionsToTxnTopic
from protocol_specs.messages.end_txn import EndTxnRequest
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.init_producer_id import InitProducerIdRequest
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

TRANSACTIONAL_ID = "pay"
_CONFIG = {
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
}


def transactional_bench(bench: Callable[..., ApiBench], *, brokers: int = 1, **config: str) -> ApiBench:
    """Start a cluster with the topic `orders`, a partition per broker, and the transaction coordinator."""
    api = bench(brokers=brokers, topics=[TopicSpec(name="orders", partitions=brokers)], config=_CONFIG | config)
    coordinator_of(api)
    api.reactor.run_for(ms=1000)
    # The first request for a producer id makes the broker fetch its block of ids.
    first = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
    api.exchange(first, 4, broker_id=coordinator_of(api))
    api.settle()
    return api


def coordinator_of(api: ApiBench) -> int:
    """Return the id of the coordinator of TRANSACTIONAL_ID, -1 before its topic exists."""
    found = FindCoordinatorRequest(key_type=1, coordinator_keys=[TRANSACTIONAL_ID])
    return int(api.exchange(found, 4).coordinators[0].node_id)


class TransactionalProducer:
    """One instance of an application with the transactional id."""

    def __init__(self, api: ApiBench, client_id: str, *, timeout_ms: int = 60_000) -> None:
        self.api = api
        self.client_id = client_id
        self.timeout_ms = timeout_ms
        self.producer: dict[str, Any] = {"producer_id": -1, "producer_epoch": -1}
        self.sequences: dict[int, int] = {}

    def call(self, request: Any, version: int, broker_id: int | None = None) -> Any:
        """Return the response of a broker, of the coordinator without `broker_id`."""
        broker_id = coordinator_of(self.api) if broker_id is None else broker_id
        return self.api.call(request, version, broker_id=broker_id, client_id=self.client_id)

    def init(self) -> ErrorCode:
        """Send InitProducerId with the producer id and epoch of this instance, if it has them."""
        request = InitProducerIdRequest(
            transactional_id=TRANSACTIONAL_ID, transaction_timeout_ms=self.timeout_ms, **self.producer
        )
        response = self.call(request, 4)
        if response.error_code == ErrorCode.NONE:
            self.producer = {"producer_id": response.producer_id, "producer_epoch": response.producer_epoch}
            self.sequences = {}
        return ErrorCode(response.error_code)

    def send(self, *partitions: int) -> list[ErrorCode]:
        """Add partitions to the transaction and append one record to each."""
        add = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=TRANSACTIONAL_ID,
            v3_and_below_producer_id=self.producer["producer_id"],
            v3_and_below_producer_epoch=self.producer["producer_epoch"],
            v3_and_below_topics=[RequestAddPartitionsToTxnTopic(name="orders", partitions=list(partitions))],
        )
        self.call(add, 3)
        return [self.produce(partition) for partition in partitions]

    def produce(self, partition: int) -> ErrorCode:
        """Append one record as part of the transaction."""
        sequence = self.sequences.get(partition, 0)
        self.sequences[partition] = sequence + 1
        builder = RecordBatchBuilder(**self.producer, base_sequence=sequence, is_transactional=True)
        builder.append(1_767_225_600_000, None, b"v")
        data = [PartitionProduceData(index=partition, records=builder.build())]
        topics = [TopicProduceData(name="orders", partition_data=data)]
        request = ProduceRequest(transactional_id=TRANSACTIONAL_ID, acks=-1, timeout_ms=1500, topic_data=topics)
        response = self.call(request, 9, broker_id=self.api.cluster.leader_of("orders", partition))
        return ErrorCode(response.responses[0].partition_responses[0].error_code)

    def end(self, *, commit: bool = True) -> ErrorCode:
        """Commit or abort; the markers follow."""
        request = EndTxnRequest(transactional_id=TRANSACTIONAL_ID, committed=commit, **self.producer)
        return ErrorCode(self.call(request, 3).error_code)
