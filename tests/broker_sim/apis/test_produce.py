from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.apis.handler_result import NoResponse
from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_spec import TopicSpec
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol_specs.records.batch_builder import RecordBatchBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

TOPIC = TopicSpec(name="orders", partitions=2)
REPLICATED = TopicSpec(name="orders", partitions=1, replication_factor=3)
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def batch(records: int = 1, **options: Any) -> bytes:
    builder = RecordBatchBuilder(**options)
    for _ in range(records):
        builder.append(1_767_225_600_000, b"k", b"v")
    return builder.build()


def produce(*partitions: tuple[int, bytes | None], acks: int = -1, topic: str = "orders", **fields: Any) -> Any:
    data = [PartitionProduceData(index=index, records=records) for index, records in partitions]
    topics = [TopicProduceData(name=topic, topic_id=fields.pop("topic_id", bytes(16)), partition_data=data)]
    return ProduceRequest(acks=acks, timeout_ms=1500, topic_data=topics, **fields)


def raw_response(bench: Any, request: Any, version: int = 9) -> Any:
    """Return the handler's result, NoResponse included."""
    return bench.call(request, version)


def reported(response: Any) -> list[tuple[int, int, int]]:
    return [
        (partition.index, partition.error_code, partition.base_offset)
        for topic in response.responses
        for partition in topic.partition_responses
    ]


def end(bench: Any, partition: int = 0) -> int:
    return int(bench.cluster.log_of(1, "orders", partition).log_end_offset)


def test_batches_are_appended_and_their_offsets_returned(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TOPIC])
    assert reported(api.exchange(produce((0, batch(2)), (1, batch())), 9)) == [(0, 0, 0), (1, 0, 0)]
    assert reported(api.exchange(produce((0, batch()), acks=1), 9)) == [(0, 0, 2)]


@pytest.mark.parametrize("version", range(3, 14))
def test_every_served_version_responds(bench: Callable[..., Any], version: int) -> None:
    api = bench(topics=[TOPIC])
    topic_id = api.cluster.controller.image.topics["orders"].topic_id
    assert reported(api.exchange(produce((0, batch()), (7, batch()), topic_id=topic_id), version)) == [
        (0, 0, 0),
        (7, UNKNOWN, -1),
    ]


def test_the_last_record_set_of_a_partition_wins_and_gets_one_response(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TOPIC])
    assert reported(api.exchange(produce((0, batch()), (0, batch(5))), 9)) == [(0, 0, 0)]
    assert end(api) == 5


def test_a_refused_record_set_wins_over_a_good_one_which_is_written(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TOPIC])
    assert reported(api.exchange(produce((0, b""), (0, batch())), 9)) == [(0, ErrorCode.INVALID_RECORD, -1)]
    assert end(api) == 1


def test_wrong_acks_are_refused_where_the_partition_exists(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TOPIC])
    returned = api.exchange(produce((0, batch()), (5, batch()), acks=2), 9)
    assert reported(returned) == [(0, ErrorCode.INVALID_REQUIRED_ACKS, -1), (5, UNKNOWN, -1)]
    assert end(api) == 0


def test_acks_0_has_no_response(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TOPIC])
    assert raw_response(api, produce((0, batch()), acks=0)) is NoResponse.NO_OP
    assert end(api) == 1


@pytest.mark.parametrize("bad", [(9, batch()), (1, b"")])
def test_an_error_under_acks_0_closes_the_connection_and_keeps_what_was_good(
    bench: Callable[..., Any], bad: tuple[int, bytes]
) -> None:
    api = bench(topics=[TOPIC])
    assert raw_response(api, produce((0, batch()), bad, acks=0)) is NoResponse.CLOSE_CONNECTION
    assert end(api) == 1


def test_null_records_get_no_response_from_4_3(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TOPIC])
    assert raw_response(api, produce((0, None), (1, batch()), acks=1)) is NoResponse.STAY_MUTED
    assert end(api, 1) == 0, "the good partition of the request is not written either"


def test_null_records_have_an_error_on_3_7(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TOPIC], release="3.7.2")
    returned = api.exchange(produce((0, None), (1, batch()), acks=1), 9)
    assert reported(returned) == [(0, ErrorCode.UNKNOWN_SERVER_ERROR, -1), (1, 0, 0)]
    assert returned.responses[0].partition_responses[0].log_start_offset == 0


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
def test_a_corrupt_first_batch_refuses_every_partition(bench: Callable[..., Any], release: str) -> None:
    api = bench(topics=[TOPIC], release=release)
    corrupt = batch()[:8] + (5).to_bytes(4, "big") + batch()[12:]
    returned = api.exchange(produce((0, batch()), (1, corrupt)), 9)
    assert reported(returned) == [(0, ErrorCode.CORRUPT_MESSAGE, -1), (1, ErrorCode.CORRUPT_MESSAGE, -1)]
    assert "Record size 5" in returned.responses[0].partition_responses[0].error_message
    assert end(api) == 0


def test_a_transaction_needs_a_coordinator_that_does_not_exist(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TOPIC])
    transactional = batch(producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    returned = api.exchange(produce((0, transactional), (1, batch()), transactional_id="tx"), 9)
    assert reported(returned) == [(0, ErrorCode.NOT_ENOUGH_REPLICAS, -1), (1, 0, 0)]


def test_an_unknown_topic_id_is_returned_by_its_id(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TOPIC])
    returned = api.exchange(produce((0, batch()), topic_id=b"\x09" * 16), 13)
    assert returned.responses[0].topic_id == b"\x09" * 16
    assert reported(returned) == [(0, ErrorCode.UNKNOWN_TOPIC_ID, -1)]


def test_the_wrong_broker_names_the_leader_and_its_endpoint(bench: Callable[..., Any]) -> None:
    api = bench(brokers=3, topics=[REPLICATED])
    leader = api.cluster.leader_of("orders", 0)
    requested = next(broker for broker in api.cluster.brokers if broker != leader)
    old = api.exchange(produce((0, batch())), 9, broker_id=requested)
    assert reported(old) == [(0, ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)]
    returned = api.exchange(produce((0, batch())), 10, broker_id=requested)
    [partition] = returned.responses[0].partition_responses
    assert (partition.current_leader.leader_id, partition.current_leader.leader_epoch) == (leader, 0)
    assert [node.node_id for node in returned.node_endpoints] == [leader]


def test_acks_all_waits_for_the_followers(bench: Callable[..., Any]) -> None:
    api = bench(brokers=3, topics=[REPLICATED])
    leader = api.cluster.leader_of("orders", 0)
    api.cluster.links.link(leader, 1 + leader % 3).set_delay(1)
    returned = PlainCalls(api.cluster.brokers[leader]).call(produce((0, batch())), 9)
    assert not returned.called
    assert reported(api.reactor.run_until(returned, deadline_ms=1000)) == [(0, 0, 0)]


def test_nothing_to_append_gets_an_empty_result(bench: Callable[..., Any]) -> None:
    api = bench(topics=[TOPIC])
    assert api.exchange(ProduceRequest(acks=7, timeout_ms=1), 9).responses == []
    assert raw_response(api, ProduceRequest(acks=0, timeout_ms=1)) is NoResponse.NO_OP


@pytest.mark.parametrize(("client_id", "error"), [("test", ErrorCode.INVALID_TOPIC_EXCEPTION), ("__admin_client", 0)])
def test_only_an_admin_client_writes_to_internal_topics(bench: Callable[..., Any], client_id: str, error: int) -> None:
    api = bench(topics=[TopicSpec(name="__consumer_offsets")])
    request = produce((0, batch()), topic="__consumer_offsets", acks=1)
    [(_, reported_error, _)] = reported(api.call(request, 9, client_id=client_id))
    assert reported_error == error
