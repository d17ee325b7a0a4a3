from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

NOT_REQUESTED = -(2**31)


def make_request(*topics: tuple[str | None, bytes], **fields: Any) -> MetadataRequest:
    named = [MetadataRequestTopic(name=name, topic_id=topic_id) for name, topic_id in topics]
    return MetadataRequest(topics=named, **fields)


def names(response: Any) -> list[tuple[int, str | None]]:
    return [(topic.error_code, topic.name) for topic in response.topics]


@pytest.fixture
def api(bench: Callable[..., ApiBench]) -> ApiBench:
    return bench(brokers=3, topics=[TopicSpec(name="orders", partitions=2, replication_factor=3)])


def id_of(api: ApiBench, name: str) -> bytes:
    return api.cluster.controller.image.topics[name].topic_id


def test_brokers_partitions_and_the_cluster_are_returned(api: ApiBench) -> None:
    response = api.exchange(make_request(("orders", ZERO_UUID)), 12, broker_id=2)
    assert [node.node_id for node in response.brokers] == [1, 2, 3]
    assert (response.cluster_id, response.controller_id) == (api.cluster.cluster_id, 2)
    (topic,) = response.topics
    assert topic.topic_id == id_of(api, "orders")
    assert [(each.partition_index, each.leader_id, each.replica_nodes) for each in topic.partitions] == [
        (0, 1, [1, 2, 3]),
        (1, 2, [2, 3, 1]),
    ]


@pytest.mark.parametrize(("version", "topics"), [(0, []), (1, None), (9, None)])
def test_all_topics_are_requested_with_an_empty_list_in_v0_and_null_later(
    api: ApiBench, version: int, topics: list[MetadataRequestTopic] | None
) -> None:
    assert names(api.exchange(MetadataRequest(topics=topics), version)) == [(0, "orders")]


def test_an_empty_list_requests_no_topics(api: ApiBench) -> None:
    assert names(api.exchange(make_request(), 9)) == []


def test_unknown_topic_is_created_in_the_background_and_there_the_next_time(api: ApiBench) -> None:
    assert names(api.exchange(make_request(("new", ZERO_UUID)), 12)) == [(3, "new")]
    api.settle()
    assert names(api.exchange(make_request(("new", ZERO_UUID)), 12)) == [(0, "new")]


@pytest.mark.parametrize("version", [4, 12])
def test_client_may_forbid_the_creation(api: ApiBench, version: int) -> None:
    request = make_request(("new", ZERO_UUID), allow_auto_topic_creation=False)
    assert names(api.exchange(request, version)) == [(3, "new")]
    api.settle()
    assert "new" not in api.cluster.controller.image.topics


def test_broker_may_forbid_the_creation(bench: Callable[..., ApiBench]) -> None:
    api = bench(config={"auto.create.topics.enable": "false"})
    api.exchange(make_request(("new", ZERO_UUID)), 12)
    api.settle()
    assert not api.cluster.controller.image.topics


@pytest.mark.parametrize("allowed", [True, False])
@pytest.mark.parametrize("name", ["a b", "", ".", "x" * 250])
def test_illegal_name_is_17(api: ApiBench, name: str, allowed: bool) -> None:
    request = make_request((name, ZERO_UUID), allow_auto_topic_creation=allowed)
    assert names(api.exchange(request, 12)) == [(17, name)]


def test_known_topics_come_before_missing_ones_and_each_once(api: ApiBench) -> None:
    request = make_request(
        ("nope", ZERO_UUID), ("orders", ZERO_UUID), ("nope", ZERO_UUID), allow_auto_topic_creation=False
    )
    assert names(api.exchange(request, 12)) == [(0, "orders"), (3, "nope")]


def test_one_id_makes_the_broker_look_at_ids_alone(api: ApiBench) -> None:
    request = make_request((None, id_of(api, "orders")), ("nope", ZERO_UUID), ("orders", b"\7" * 16))
    response = api.exchange(request, 12)
    assert names(response) == [(100, None), (0, "orders")]
    assert response.topics[0].topic_id == b"\7" * 16


@pytest.mark.parametrize(("version", "name"), [(10, "orders"), (11, None)])
def test_ids_before_v12_fail_the_whole_request(api: ApiBench, version: int, name: str | None) -> None:
    response = api.exchange(make_request((name, id_of(api, "orders"))), version)
    assert names(response) == [(42, name or "")]
    assert (response.brokers, response.cluster_id, response.controller_id) == ([], None, -1)


def test_null_name_without_an_id_fails_the_whole_request(api: ApiBench) -> None:
    response = api.exchange(make_request((None, ZERO_UUID), ("orders", ZERO_UUID)), 13)
    assert (response.error_code, names(response)) == (-1, [(-1, ""), (-1, "orders")])


def test_authorized_operations_are_returned_on_request(api: ApiBench) -> None:
    request = make_request(
        ("orders", ZERO_UUID),
        ("nope", ZERO_UUID),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    response = api.exchange(request, 8)
    assert response.cluster_authorized_operations == 8096
    assert [topic.topic_authorized_operations for topic in response.topics] == [3576, 3576]
    quiet = api.exchange(make_request(("orders", ZERO_UUID)), 8)
    assert quiet.cluster_authorized_operations == quiet.topics[0].topic_authorized_operations == NOT_REQUESTED


def test_fenced_broker_is_offline_and_not_listed(api: ApiBench) -> None:
    api.cluster.kill(3)
    api.reactor.run_for(ms=30_000)
    response = api.exchange(make_request(("orders", ZERO_UUID)), 12)
    assert [node.node_id for node in response.brokers] == [1, 2]
    partition = response.topics[0].partitions[0]
    assert (partition.error_code, partition.offline_replicas) == (0, [3])
    assert 3 not in partition.isr_nodes


def test_partition_without_leader_is_5(bench: Callable[..., ApiBench]) -> None:
    api = bench(brokers=2, topics=[TopicSpec(name="lonely", partitions=2, replication_factor=1)])
    api.cluster.kill(2)
    api.reactor.run_for(ms=30_000)
    first, second = api.exchange(make_request(("lonely", ZERO_UUID)), 12).topics[0].partitions
    assert (first.error_code, first.leader_id) == (0, 1)
    assert (second.error_code, second.leader_id, second.replica_nodes) == (5, -1, [2])


@pytest.mark.parametrize(("release", "internal"), [("4.3.1", True), ("3.7.2", False)])
def test_share_state_is_internal_in_4_alone(bench: Callable[..., ApiBench], release: str, internal: bool) -> None:
    api = bench(release=release)
    request = make_request(("__share_group_state", ZERO_UUID), ("__consumer_offsets", ZERO_UUID))
    assert [topic.is_internal for topic in api.exchange(request, 12).topics] == [internal, True]
