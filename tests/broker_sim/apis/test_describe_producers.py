from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

TIME_MS = 1_767_225_600_000


def produce(api: Any, producer_id: int, epoch: int, sequence: int, *, count: int = 1) -> None:
    builder = RecordBatchBuilder(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    for _ in range(count):
        builder.append(TIME_MS, b"k", b"v")
    topics = [TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=builder.build())])]
    response = api.exchange(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics), 9)
    assert response.responses[0].partition_responses[0].error_code == 0


def describe(api: Any, *indexes: int, topic: str = "orders") -> Any:
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=list(indexes))])
    return api.exchange(request, 0).topics[0].partitions


def test_each_producer_is_described_with_its_last_sequence_epoch_and_time(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TopicSpec(name="orders")])
    produce(api, 9, 2, 0, count=3)
    produce(api, 4, 0, 7)
    [partition] = describe(api, 0)
    assert partition.error_code == ErrorCode.NONE
    described = [
        (each.producer_id, each.producer_epoch, each.last_sequence, each.last_timestamp, each.current_txn_start_offset)
        for each in partition.active_producers
    ]
    assert described == [(4, 0, 7, TIME_MS, -1), (9, 2, 2, TIME_MS, -1)]


def test_partitions_that_do_not_exist_are_unknown(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TopicSpec(name="orders")])
    returned = describe(api, 0, 1, -1, 0)
    assert [(each.partition_index, each.error_code) for each in returned] == [(0, 0), (1, 3), (-1, 3), (0, 0)]
    [unknown] = describe(api, 0, topic="payments")
    assert (unknown.error_code, unknown.error_message) == (3, "This server does not host this topic-partition.")


def test_names_that_no_topic_can_have_are_refused(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TopicSpec(name="orders")])
    [refused] = describe(api, 0, topic="a b")
    assert refused.error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    assert refused.error_message.startswith("Topic name is invalid: 'a b' contains")
