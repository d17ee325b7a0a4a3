from __future__ import annotations

from typing import Any

import pytest

from broker_sim.control.events import BatchAppended, ProduceCompleted
from protocol_specs.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder

PARTITIONS_OF_1 = (0, 1)


def batch(records: int = 1) -> bytes:
    builder = RecordBatchBuilder(producer_id=7, producer_epoch=0, base_sequence=4)
    for number in range(records):
        builder.append(1, None, b"%d" % number)
    return bytes(builder.build())


def produce(*partitions: int, acks: int = 1, records: int = 1) -> ProduceRequest:
    data = [PartitionProduceData(index=each, records=batch(records)) for each in partitions]
    return ProduceRequest(
        acks=acks, timeout_ms=5_000, topic_data=[TopicProduceData(name="orders", partition_data=data)]
    )


def leader_client(network: Any) -> tuple[Any, list[int]]:
    """A client of the leader of partition 0, and the partitions that the same broker leads."""
    leader = network.cluster.leader_of("orders", 0)
    led = [index for index in (0, 1) if network.cluster.leader_of("orders", index) == leader]
    return network.connect_to(leader), led


def codes(response: Any) -> dict[int, int]:
    return {each.index: each.error_code for topic in response.responses for each in topic.partition_responses}


def end(network: Any, partition: int) -> int:
    leader = network.cluster.leader_of("orders", partition)
    return int(network.cluster.log_of(leader, "orders", partition).log_end_offset)


@pytest.fixture
def led_by_one(network: Any) -> Any:
    network.world.run_until(network.cluster.admin.reassign("orders", 1, network.cluster.admin.replicas_of("orders", 0)))
    network.run(5_000)
    for topic_partition in (0, 1):
        leader = network.cluster.admin.replicas_of("orders", 0)[0]
        if network.cluster.leader_of("orders", topic_partition) != leader:
            network.world.run_until(network.cluster.admin.elect_leader("orders", topic_partition))
    return network


def test_a_refused_partition_does_not_reach_the_broker(led_by_one: Any) -> None:
    network = led_by_one
    network.rule({"error": "CORRUPT_MESSAGE"}, phase="before_append", select={"topic": "orders", "partition": 1})
    client, led = leader_client(network)
    assert led == [0, 1]
    assert codes(network.call(client, produce(0, 1), 9)) == {0: 0, 1: 2}
    assert (end(network, 0), end(network, 1)) == (1, 0)
    assert codes(network.call(client, produce(1), 9)) == {1: 2}
    assert codes(network.call(client, produce(0), 9)) == {0: 0}


def test_an_error_after_the_append_hides_what_is_stored(network: Any) -> None:
    network.rule(
        {"error": "NOT_ENOUGH_REPLICAS_AFTER_APPEND"}, phase="after_append", select={"api": "Produce", "nth": 1}
    )
    client, _ = leader_client(network)
    assert codes(network.call(client, produce(0), 9)) == {0: 20}
    assert codes(network.call(client, produce(0), 9)) == {0: 0}
    assert end(network, 0) == 1, "the second request is the repetition of a batch that is stored"


@pytest.mark.parametrize("phase", ["before_append", "after_append", "after_replication"])
@pytest.mark.parametrize(("act", "is_open"), [("disconnect", False), ("drop_response", True)])
def test_a_rule_takes_the_response(network: Any, phase: str, act: str, is_open: bool) -> None:
    network.rule(act, phase=phase, select={"api": "Produce"})
    client, _ = leader_client(network)
    assert network.call(client, produce(0), 9) is None
    assert (client.ended_ms is None) == is_open
    stored = act == "drop_response" or phase != "before_append"
    assert end(network, 0) == stored


@pytest.mark.parametrize("phase", ["before_append", "after_append"])
def test_a_partition_waits(network: Any, phase: str) -> None:
    network.rule("hold", phase=phase, select={"api": "Produce", "nth": 1}, until={"delay_ms": 5_000})
    client, _ = leader_client(network)
    assert network.call(client, produce(0), 9) is None
    network.run(5_000)
    assert len(client.frames) == 1


def test_requests_without_partitions_have_the_phase_once(network: Any) -> None:
    network.rule({"error": "UNSUPPORTED_VERSION"}, phase="before_append", select={"api": "ApiVersions"})
    client = network.connect_to()
    network.exchange(client)
    assert client.frames[0][4:6] == b"\x00\x23"


def test_reads_are_refused_by_partition(network: Any) -> None:
    network.rule({"error": "UNKNOWN_LEADER_EPOCH"}, phase="before_append", select={"api": "Fetch", "partition": 0})
    client, _ = leader_client(network)
    partitions = [FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)]
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic="orders", partitions=partitions)])
    response = network.call(client, request, 11)
    assert [each.error_code for topic in response.responses for each in topic.partitions] == [75]


@pytest.mark.parametrize("acks", [0, 1])
def test_batches_and_their_responses_are_events(network: Any, acks: int) -> None:
    client, _ = leader_client(network)
    network.call(client, produce(0, acks=acks, records=3), 9)
    events = network.proxy.journal.events
    [appended] = [event for event in events if isinstance(event, BatchAppended)]
    [completed] = [event for event in events if isinstance(event, ProduceCompleted)]
    assert (appended.topic, appended.partition, appended.records) == ("orders", 0, 3)
    assert (completed.acks, completed.error_code, completed.required_offset - completed.base_offset) == (acks, 0, 3)
    assert network.proxy.faults.progress.acked_records == 3


def test_sequences_select_in_a_partition_by_its_topic_id(network: Any) -> None:
    from protocol_specs.messages.metadata import MetadataRequest

    network.rule({"error": "CORRUPT_MESSAGE"}, phase="before_append", select={"api": "Produce", "sequence": 4})
    client, _ = leader_client(network)
    metadata = network.call(client, MetadataRequest(topics=None), 12)
    [topic_id] = [topic.topic_id for topic in metadata.topics if topic.name == "orders"]
    request = produce(0)
    request.topic_data[0].topic_id = topic_id
    assert codes(network.call(client, request, 13)) == {0: 2}
