from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis.handler_result import NoResponse
from broker_sim.faults.grammar import parse_rule
from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC = TopicSpec(name="orders", partitions=3)
PHASES = ["before_append", "after_append", "after_replication"]


class PendingProduce:
    """One Produce to both partitions under one rule."""

    def __init__(self, api: Any, phase: str, act: Any, partition: int = 0) -> None:
        self.api = api
        self.faults = api.cluster.faults
        select = {"api": "Produce", "topic": "orders", "partition": partition}
        self.faults.add(parse_rule({"name": "rule", "select": select, "phase": phase, "act": act}))
        builder = RecordBatchBuilder()
        builder.append(1_767_225_600_000, b"k", b"v")
        partitions = [PartitionProduceData(index=index, records=builder.build()) for index in range(2)]
        topics = [TopicProduceData(name="orders", partition_data=partitions)]
        self.request = ProduceRequest(acks=-1, timeout_ms=1500, topic_data=topics)
        calls = PlainCalls(api.cluster.brokers[1])
        self.context = calls.context(self.request, 9)
        self.response: Any = self.context.origin
        calls.accept(self.context)

    @property
    def ends(self) -> list[int]:
        return [self.api.cluster.log_of(1, "orders", partition).log_end_offset for partition in range(2)]

    def result(self) -> Any:
        return self.api.reactor.run_until(self.response, deadline_ms=5000)

    def errors(self) -> dict[int, int]:
        [topic] = self.result().responses
        return {partition.index: partition.error_code for partition in topic.partition_responses}


@pytest.fixture
def produce(bench: Callable[..., Any]) -> Callable[..., PendingProduce]:
    return lambda *arguments, **options: PendingProduce(bench(topics=[TOPIC]), *arguments, **options)


@pytest.mark.parametrize("phase", PHASES)
def test_an_error_is_returned_for_the_partition_of_the_rule(produce: Callable[..., PendingProduce], phase: str) -> None:
    pending = produce(phase, {"error": "NOT_LEADER_OR_FOLLOWER"})
    assert pending.errors() == {0: ErrorCode.NOT_LEADER_OR_FOLLOWER, 1: 0}
    assert pending.ends == ([0, 1] if phase == "before_append" else [1, 1])


@pytest.mark.parametrize("phase", PHASES)
def test_a_disconnect_sends_no_response_and_keeps_appended_records(
    produce: Callable[..., PendingProduce], phase: str
) -> None:
    pending = produce(phase, "disconnect", partition=1)
    assert pending.result() is NoResponse.CLOSE_CONNECTION
    assert pending.ends == ([0, 0] if phase == "before_append" else [1, 1])


@pytest.mark.parametrize("phase", PHASES)
def test_a_dropped_response_is_appended_all_the_same(produce: Callable[..., PendingProduce], phase: str) -> None:
    pending = produce(phase, "drop_response")
    assert pending.result() is NoResponse.LOST
    assert pending.ends == [1, 1]


@pytest.mark.parametrize("phase", PHASES)
def test_a_hold_waits_until_it_is_released(produce: Callable[..., PendingProduce], phase: str) -> None:
    pending = produce(phase, "hold")
    pending.api.reactor.run_for(ms=1000)
    assert not pending.response.called
    assert pending.ends == ([0, 0] if phase == "before_append" else [1, 1])
    assert pending.context.handler_held is (phase != "after_replication")
    pending.faults.release("rule")
    assert pending.errors() == {0: 0, 1: 0}
    assert not pending.context.handler_held


def test_a_rule_for_another_partition_changes_nothing(produce: Callable[..., PendingProduce]) -> None:
    pending = produce("before_append", "disconnect", partition=2)
    assert pending.errors() == {0: 0, 1: 0}


@pytest.mark.parametrize("version", [9, 13])
@pytest.mark.parametrize("phase", PHASES)
def test_a_producer_is_that_of_the_partitions_batch(bench: Callable[..., Any], phase: str, version: int) -> None:
    api = bench(topics=[TOPIC])
    select = {"producer_id": 7, "producer_epoch": 1, "sequence": 0}
    api.cluster.faults.add(parse_rule({"name": "rule", "select": select, "phase": phase, "act": {"error": 6}}))
    topic_id = api.cluster.brokers[1].metadata_cache.image.topics["orders"].topic_id
    partitions = []
    for index, producer_id in enumerate((5, 7)):
        builder = RecordBatchBuilder(producer_id=producer_id, producer_epoch=1, base_sequence=0)
        builder.append(1_767_225_600_000, b"k", b"v")
        partitions.append(PartitionProduceData(index=index, records=builder.build()))
    data = TopicProduceData(topic_id=topic_id, partition_data=partitions)
    if version < 13:
        data = TopicProduceData(name="orders", partition_data=partitions)
    [topic] = api.exchange(ProduceRequest(acks=-1, timeout_ms=1500, topic_data=[data]), version).responses
    errors = {partition.index: partition.error_code for partition in topic.partition_responses}
    assert errors == {0: 0, 1: ErrorCode.NOT_LEADER_OR_FOLLOWER}
