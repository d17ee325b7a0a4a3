"""A client's view of the cluster: its topics, the newest leader epochs, and when it is refreshed."""

from __future__ import annotations

import random
from typing import Any

import pytest

from broker_client.core.network.cluster import Node
from broker_client.core.network.metadata import LeaderIdAndEpoch, Metadata
from broker_client.errors import ProducerError
from broker_client.records import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol_specs.uuids import ZERO_UUID
from sim_runtime.backoff import ExponentialBackoff

NOW_MS = 1_000_000


@pytest.fixture
def metadata() -> Metadata:
    return Metadata(
        bootstrap=[("a", 1), ("b", 2)],
        refresh_backoff=ExponentialBackoff(100, 1_000, 2, 0, random.Random(1)),
        expire_ms=300_000,
        idle_ms=60_000,
    )


def given_response(
    *topics: tuple[str, ErrorCode | list[tuple[int, int]]], topic_id: bytes = b"i" * 16, brokers: int = 2
) -> MetadataResponse:
    """Topics by name: an error, or (leader, epoch) of each partition."""
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=node, host=f"h{node}", port=9092) for node in range(1, brokers + 1)],
        cluster_id="c",
        controller_id=1,
        topics=[
            MetadataResponseTopic(name=name, error_code=reported)
            if isinstance(reported, ErrorCode)
            else MetadataResponseTopic(
                name=name,
                topic_id=topic_id,
                error_code=0,
                partitions=[
                    MetadataResponsePartition(error_code=0, partition_index=index, leader_id=leader, leader_epoch=epoch)
                    for index, (leader, epoch) in enumerate(reported)
                ],
            )
            for name, reported in topics
        ],
    )


def update(metadata: Metadata, response: MetadataResponse, now_ms: int = NOW_MS, version: int = 12) -> Any:
    pending = metadata.new_update(now_ms)
    metadata.update(response, version=version, pending=pending, now_ms=now_ms)
    return pending


def test_the_bootstrap_cluster_is_the_first_version_and_an_update_is_due(metadata: Metadata) -> None:
    assert metadata.update_version == 1
    assert [node.id for node in metadata.cluster.nodes.values()] == [-1, -2]
    assert metadata.time_to_next_update_ms(NOW_MS) == 0
    assert metadata.new_update(NOW_MS).request.topics == []


def test_new_topics_are_requested_alone_once_the_rest_is_known(metadata: Metadata) -> None:
    metadata.add("t", NOW_MS)
    pending = update(metadata, given_response(("t", [(1, 0)])))
    assert not pending.partial
    assert metadata.time_to_next_update_ms(NOW_MS) == 300_000
    metadata.add("u", NOW_MS)
    assert metadata.time_to_next_update_ms(NOW_MS) == 0
    pending = metadata.new_update(NOW_MS)
    assert pending.partial
    assert [topic.name for topic in pending.request.topics or ()] == ["u"]
    metadata.update(given_response(("u", [(2, 0)])), version=12, pending=pending, now_ms=NOW_MS)
    assert list(metadata.cluster.topics) == ["t", "u"]


def test_a_topic_added_during_a_request_is_in_the_next_one(metadata: Metadata) -> None:
    update(metadata, given_response())
    metadata.add("t", NOW_MS)
    pending = metadata.new_update(NOW_MS)
    metadata.add("u", NOW_MS)
    metadata.update(given_response(("t", [(1, 0)])), version=12, pending=pending, now_ms=NOW_MS)
    assert [topic.name for topic in metadata.new_update(NOW_MS).request.topics or ()] == ["u"]


def test_an_idle_topic_leaves_at_an_update(metadata: Metadata) -> None:
    metadata.add("t", NOW_MS)
    update(metadata, given_response(("t", [(1, 0)])))
    update(metadata, given_response(("t", [(1, 0)])), NOW_MS + 59_999)
    assert "t" in metadata.cluster.topics
    update(metadata, given_response(("t", [(1, 0)])), NOW_MS + 60_000)
    assert metadata.topics == ()
    assert "t" not in metadata.cluster.topics


def test_an_older_leader_epoch_never_replaces_a_newer(metadata: Metadata) -> None:
    metadata.add("t", NOW_MS)
    update(metadata, given_response(("t", [(1, 5)])))
    update(metadata, given_response(("t", [(2, 4)])))
    assert metadata.cluster.leader_for(TopicPartition("t", 0)) == Node(1, "h1", 9092)
    update(metadata, given_response(("t", [(2, 6)])))
    assert metadata.cluster.leader_epoch_for(TopicPartition("t", 0)) == 6


def test_an_older_leader_epoch_is_not_believed_after_a_rebootstrap(metadata: Metadata) -> None:
    metadata.add("t", NOW_MS)
    update(metadata, given_response(("t", [(1, 6), (2, 3)]), topic_id=ZERO_UUID))
    metadata.rebootstrap()
    update(metadata, given_response(("t", [(2, 5), (2, 3)]), topic_id=ZERO_UUID))
    assert metadata.cluster.partition(TopicPartition("t", 0)) is None
    assert metadata.cluster.leader_epoch_for(TopicPartition("t", 1)) == 3


def test_a_topic_that_was_made_anew_starts_its_epochs_anew(metadata: Metadata) -> None:
    metadata.add("t", NOW_MS)
    update(metadata, given_response(("t", [(1, 5)])))
    update(metadata, given_response(("t", [(2, 0)]), topic_id=b"j" * 16))
    assert metadata.cluster.leader_epoch_for(TopicPartition("t", 0)) == 0


def test_epochs_of_old_brokers_are_not_believed(metadata: Metadata) -> None:
    metadata.add("t", NOW_MS)
    update(metadata, given_response(("t", [(1, 5)])), version=8)
    assert metadata.cluster.leader_epoch_for(TopicPartition("t", 0)) == -1


def test_a_newer_leader_from_a_response_is_taken_and_an_older_is_not(metadata: Metadata) -> None:
    key = TopicPartition("t", 0)
    metadata.add("t", NOW_MS)
    update(metadata, given_response(("t", [(1, 5)])))
    assert metadata.update_leaders({key: LeaderIdAndEpoch(leader_id=2, leader_epoch=5)}, []) == ()
    assert metadata.update_leaders({key: LeaderIdAndEpoch(leader_id=9, leader_epoch=6)}, []) == ()
    reported = Node(9, "h9", 9092)
    assert metadata.update_leaders({key: LeaderIdAndEpoch(leader_id=9, leader_epoch=6)}, [reported]) == (key,)
    assert metadata.cluster.leader_for(key) == reported


def test_failed_updates_back_off_exponentially(metadata: Metadata) -> None:
    pauses = []
    for _ in range(6):
        metadata.failed_update(NOW_MS)
        pauses.append(metadata.time_to_next_update_ms(NOW_MS))
    assert pauses == [100, 200, 400, 800, 1_000, 1_000]


def test_responses_without_news_back_off_too(metadata: Metadata) -> None:
    metadata.add("t", NOW_MS)
    pauses = []
    for _ in range(4):
        update(metadata, given_response(("t", ErrorCode.LEADER_NOT_AVAILABLE)))
        pauses.append(metadata.time_to_next_update_ms(NOW_MS))
    assert pauses == [100, 200, 400, 800]
    assert metadata.topic_error("t") is ErrorCode.LEADER_NOT_AVAILABLE


def test_waiters_are_notified_once_of_the_next_change(metadata: Metadata) -> None:
    reported: list[str] = []
    metadata.on_change(lambda: reported.append("a"))
    forgotten = lambda: reported.append("never")  # noqa: E731
    metadata.on_change(forgotten)
    metadata.forget(forgotten)
    update(metadata, given_response())
    update(metadata, given_response())
    metadata.on_change(lambda: reported.append("fatal"))
    metadata.fatal_error(ProducerError("bad"))
    assert str(metadata.take_fatal_error()) == "bad"
    assert metadata.take_fatal_error() is None
    metadata.on_change(lambda: reported.append("close"))
    metadata.close()
    metadata.on_change(lambda: reported.append("closed already"))
    assert reported == ["a", "fatal", "close", "closed already"]


def test_rebootstrap_begins_again_from_the_addresses(metadata: Metadata) -> None:
    metadata.add("t", NOW_MS)
    update(metadata, given_response(("t", [(1, 0)])))
    metadata.rebootstrap()
    assert metadata.cluster.is_bootstrap
    assert metadata.time_to_next_update_ms(NOW_MS + 101) == 0
    assert metadata.topics == ("t",)
