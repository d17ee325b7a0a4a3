"""Topics as older releases create and describe them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_sim.threaded_cluster import ThreadedCluster
    from tests.broker_sim.config.conftest import RawClient

    Start = Callable[..., ThreadedCluster]
    Connect = Callable[[ThreadedCluster], RawClient]


@pytest.mark.parametrize(
    ("release", "version", "error"),
    [
        ("0.10.2", 0, ErrorCode.REQUEST_TIMED_OUT),
        ("2.0", 2, ErrorCode.REQUEST_TIMED_OUT),
        ("2.1", 2, ErrorCode.INVALID_REQUEST),
        ("2.1", 3, ErrorCode.TOPIC_DELETION_DISABLED),
        ("4.3", 3, ErrorCode.TOPIC_DELETION_DISABLED),
    ],
)
def test_a_deletion_that_is_switched_off_has_an_error_since_2_1(
    start: Start, connect: Connect, release: str, version: int, error: ErrorCode
) -> None:
    cluster = start(release, "orders:1:1", delete_topic_enable="false")
    client = connect(cluster)
    request = DeleteTopicsRequest(topic_names=["orders"], timeout_ms=50)
    assert client.call(request, version, DeleteTopicsResponse).responses[0].error_code == error
    requested = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    assert client.call(requested, 0, MetadataResponse).topics[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize("release", ["0.10.1", "1.1", "2.8", "3.7"])
def test_a_new_topics_logs_have_its_configurations(start: Start, connect: Connect, release: str) -> None:
    cluster = start(release)
    topic = CreatableTopic(
        name="compacted",
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(name="cleanup.policy", value="compact")],
    )
    client = connect(cluster)
    created = client.call(CreateTopicsRequest(topics=[topic], timeout_ms=5000), 0, CreateTopicsResponse)
    assert created.topics[0].error_code == ErrorCode.NONE
    requested = MetadataRequest(topics=[MetadataRequestTopic(name="compacted")])
    for _ in range(1000):
        if client.call(requested, 0, MetadataResponse).topics[0].partitions:
            break
    log = cluster.cluster.log_of(1, "compacted", 0)
    assert log is not None
    assert log.config.compact


def test_a_topic_that_is_not_there_is_named_where_deletion_is_switched_off(start: Start, connect: Connect) -> None:
    request = DeleteTopicsRequest(topic_names=["nothing"], timeout_ms=50)
    response = connect(start("0.10.2", "orders:1:1")).call(request, 0, DeleteTopicsResponse).responses[0]
    assert response.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("release", ["0.8.0", "0.9", "1.1", "3.7", "4.3"])
def test_an_empty_list_requests_all_topics_in_metadata_v0(start: Start, connect: Connect, release: str) -> None:
    response = connect(start(release, "a:1:1", "b:1:1")).call(MetadataRequest(topics=[]), 0, MetadataResponse)
    assert sorted(topic.name or "" for topic in response.topics) == ["a", "b"]


@pytest.mark.parametrize(
    ("release", "error"),
    [
        ("0.8.0", ErrorCode.LEADER_NOT_AVAILABLE),
        ("0.10.2", ErrorCode.LEADER_NOT_AVAILABLE),
        ("2.8", ErrorCode.LEADER_NOT_AVAILABLE),
        ("3.7", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("4.3", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ],
)
def test_a_request_for_an_unknown_topic_creates_it(
    start: Start, connect: Connect, release: str, error: ErrorCode
) -> None:
    client = connect(start(release))
    requested = MetadataRequest(topics=[MetadataRequestTopic(name="new")])
    assert client.call(requested, 0, MetadataResponse).topics[0].error_code == error
    for _ in range(1000):
        response = client.call(requested, 0, MetadataResponse).topics[0]
        if response.error_code == ErrorCode.NONE:
            break
    assert [partition.leader_id for partition in response.partitions] == [1]
