from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from broker_sim.config.broker_config import BrokerConfig
from broker_sim.controller.topics import TopicCreation, create_topics, delete_topics
from broker_sim.metadata.metadata_image import BrokerRegistration, MetadataImage, PartitionRegistration, TopicImage
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol_specs.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol_specs.uuids import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from protocol_specs.messages.create_topics import CreatableTopicResult

ID_1 = b"\1" * 16


def image(*topics: str, brokers: int = 3, fenced: tuple[int, ...] = ()) -> MetadataImage:
    made = MetadataImage.empty("cluster")
    for broker_id in range(1, brokers + 1):
        made = made.with_broker(
            BrokerRegistration(id=broker_id, host="h", port=1, rack=None, fenced=broker_id in fenced, epoch=1)
        )
    partition = PartitionRegistration(replicas=(1,), isr=(1,), leader=1, leader_epoch=0, partition_epoch=0)
    images = [
        TopicImage(name=name, topic_id=bytes([index + 1]) * 16, partitions=(partition,), configs={})
        for index, name in enumerate(topics)
    ]
    return made.with_topics(images)


def topic(
    name: str = "new",
    partitions: int = 1,
    factor: int = 1,
    *,
    assignments: Sequence[tuple[int, list[int]]] = (),
    configs: Mapping[str, str | None] | None = None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        assignments=[CreatableReplicaAssignment(partition_index=i, broker_ids=b) for i, b in assignments],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
    )


def create(
    *topics: CreatableTopic,
    at: MetadataImage | None = None,
    release: str = "4.3.1",
    timeout_ms: int = 1000,
    validate_only: bool = False,
) -> TopicCreation:
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)
    config = BrokerConfig.parse({}, release=release).with_dynamic({"min.insync.replicas": "1"}, {})
    return create_topics(request, image=image() if at is None else at, config=config, random=Random(5))


def only(creation: TopicCreation) -> CreatableTopicResult:
    (result,) = creation.response.topics
    return result


# Creation


def test_created_topic_has_active_replicas_in_sync_and_the_first_of_them_as_leader() -> None:
    creation = create(topic(partitions=4, factor=3), at=image(fenced=(2,)))
    (made,) = creation.topics
    for partition in made.partitions:
        assert sorted(partition.replicas) == [1, 2, 3]
        assert partition.isr == tuple(replica for replica in partition.replicas if replica != 2)
        assert (partition.leader, partition.leader_epoch) == (partition.isr[0], 0)
    result = only(creation)
    assert (result.error_code, result.num_partitions, result.replication_factor) == (0, 4, 3)
    assert result.topic_id == made.topic_id != ZERO_UUID


def test_counts_of_minus_one_are_the_brokers_defaults() -> None:
    (made,) = create(topic(partitions=-1, factor=-1)).topics
    assert len(made.partitions) == 1
    assert len(made.partitions[0].replicas) == 1


def test_returned_configs_are_sorted_and_name_their_sources() -> None:
    result = only(create(topic(configs={"retention.ms": " 5 "})))
    assert result.configs is not None
    names = [entry.name for entry in result.configs]
    assert names == sorted(names)
    assert len(names) == 33
    sources = {entry.name: (entry.value, entry.config_source) for entry in result.configs}
    assert sources["retention.ms"] == (" 5 ", 1)
    assert sources["min.insync.replicas"] == ("1", 3)
    assert sources["segment.bytes"] == ("1073741824", 5)


def test_validation_alone_creates_nothing() -> None:
    creation = create(topic(), validate_only=True)
    assert only(creation).error_code == ErrorCode.NONE
    assert creation.topics == []


REFUSED = [
    (topic(partitions=0), 37, "Number of partitions was set to an invalid non-positive value."),
    (topic(partitions=-2), 37, "Number of partitions was set to an invalid non-positive value."),
    (topic(partitions=0, factor=0), 38, "Replication factor must be larger than 0, or -1 to use the default value."),
    (topic(factor=-2), 38, "Replication factor must be larger than 0, or -1 to use the default value."),
    (
        topic(factor=4),
        38,
        (
            "Unable to replicate the partition 4 time(s): The target replication factor of 4 cannot be reached because "
            "only 3 broker(s) are registered or some brokers have all their log directories cordoned."
        ),
    ),
    (topic("old"), 36, "Topic 'old' already exists."),
    (topic("old", 0), 36, "Topic 'old' already exists."),
    (topic("."), 17, "Topic name is invalid: '.' is not allowed"),
    (topic("o_l.d"), 17, "Topic 'o_l.d' collides with existing topic: o.l.d"),
    (
        topic(assignments=[(0, [1])], factor=-1),
        42,
        "A manual partition assignment was specified, but numPartitions was not set to -1.",
    ),
    (
        topic(assignments=[(0, [1])]),
        42,
        "A manual partition assignment was specified, but replication factor was not set to -1.",
    ),
    (topic(configs={"nope": "1"}), 40, "Unknown topic config name: nope"),
    (topic(partitions=0, configs={"nope": "1"}), 40, "Unknown topic config name: nope"),
    (topic(configs={"retention.ms": "x", "nope": "1"}), 40, "Unknown topic config name: nope"),
    (
        topic(configs={"segment.ms": None, "nope": None}),
        40,
        "Null value not supported for topic configs: segment.ms,nope",
    ),
    (
        topic(configs={"retention.ms": "y", "cleanup.policy": "x", "segment.ms": "x"}),
        40,
        "Invalid value x for configuration segment.ms: Not a number of type LONG",
    ),
    (
        topic(configs={"min.cleanable.dirty.ratio": "2"}),
        40,
        "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
    ),
    (
        topic(configs={"compression.gzip.level": "0"}),
        40,
        "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
    ),
    (
        topic(configs={"remote.storage.enable": "true"}),
        40,
        "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage.",
    ),
    (
        topic(configs={"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}),
        40,
        "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)",
    ),
    (topic("__cluster_metadata"), 42, "Creation of internal topic __cluster_metadata is prohibited."),
]


@pytest.mark.parametrize(("requested", "error_code", "message"), REFUSED)
def test_bad_topic_is_refused_in_kafkas_words(requested: CreatableTopic, error_code: int, message: str) -> None:
    creation = create(requested, at=image("old", "o.l.d"))
    result = only(creation)
    assert (result.error_code, result.error_message) == (error_code, message)
    assert (result.num_partitions, result.replication_factor, result.topic_id) == (-1, -1, ZERO_UUID)
    assert creation.topics == []


@pytest.mark.parametrize(
    ("assignments", "message"),
    [
        ([(1, [1])], "partitions should be a consecutive 0-based integer sequence"),
        ([(0, [1]), (0, [1])], "Found multiple manual partition assignments for partition 0"),
        ([(0, [1, 1])], "The manual partition assignment includes the broker 1 more than once."),
        ([(0, [1, 9])], "The manual partition assignment includes broker 9, but no such broker is registered."),
        ([(0, [])], "The manual partition assignment includes an empty replica list."),
        (
            [(0, [1]), (1, [1, 3])],
            (
                "The manual partition assignment includes a partition with 2 replica(s), but this is not consistent "
                "with previous partitions, which have 1 replica(s)."
            ),
        ),
        (
            [(0, [2])],
            (
                "All brokers specified in the manual partition assignment for partition 0 are fenced or in controlled "
                "shutdown."
            ),
        ),
    ],
)
def test_bad_assignment_is_refused_in_kafkas_words(assignments: list[tuple[int, list[int]]], message: str) -> None:
    result = only(create(topic(partitions=-1, factor=-1, assignments=assignments), at=image(fenced=(2,))))
    assert (result.error_code, result.error_message) == (39, message)


def test_assignments_may_come_in_any_order() -> None:
    requested = topic(partitions=-1, factor=-1, assignments=[(1, [3, 1]), (0, [2, 3])])
    (made,) = create(requested).topics
    assert [partition.replicas for partition in made.partitions] == [(2, 3), (3, 1)]


def test_duplicates_are_refused_once_and_after_the_others() -> None:
    creation = create(topic("z"), topic("y"), topic("ok"), topic("z"), topic("y"))
    responses = [(result.name, result.error_code, result.error_message) for result in creation.response.topics]
    assert responses == [("ok", 0, None), ("y", 42, "Duplicate topic name."), ("z", 42, "Duplicate topic name.")]


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_request_without_time_is_timed_out_topic_by_topic(timeout_ms: int) -> None:
    creation = create(topic("d"), topic("a b"), topic("d"), timeout_ms=timeout_ms)
    assert [(each.name, each.error_code) for each in creation.response.topics] == [("d", 7), ("a b", 7), ("d", 7)]
    assert creation.topics == []


def test_duplicates_alone_need_no_time() -> None:
    assert only(create(topic("d"), topic("d"), timeout_ms=0)).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("partitions", "message"),
    [
        (10_000, "Unable to perform excessively large batch operation."),
        (10_001, "Excessively large number of partitions per request."),
        (2**31 - 1, "Excessively large number of partitions per request."),
    ],
)
def test_too_many_partitions_refuse_the_whole_request(partitions: int, message: str) -> None:
    creation = create(topic("big", partitions))
    assert (only(creation).error_code, only(creation).error_message) == (44, message)
    assert creation.topics == []


def test_as_many_partitions_as_fit_are_created() -> None:
    assert len(create(topic("big", 9_999)).topics[0].partitions) == 9_999


def test_3_7_prohibits_the_metadata_topic_in_its_own_way() -> None:
    result = only(create(topic("__cluster_metadata"), release="3.7.2"))
    assert (result.error_code, result.error_message) == (29, "Authorization failed.")


# Deletion


def deletion(*requested: tuple[str | None, bytes], timeout_ms: int = 1000) -> list[tuple[str | None, bytes, int]]:
    topics = [DeleteTopicState(name=name, topic_id=topic_id) for name, topic_id in requested]
    request = DeleteTopicsRequest(topics=topics, timeout_ms=timeout_ms)
    deletion = delete_topics(request, image=image("one", "two"))
    deleted = [result.name for result in deletion.response.responses if result.error_code == 0]
    assert deleted == deletion.names
    return [(result.name, result.topic_id, result.error_code) for result in deletion.response.responses]


def test_topics_are_deleted_by_name_and_by_id_and_returned_with_both() -> None:
    assert deletion(("two", ZERO_UUID), (None, ID_1)) == [("one", ID_1, 0), ("two", b"\2" * 16, 0)]


@pytest.mark.parametrize(
    ("requested", "response"),
    [
        ([("nope", ZERO_UUID)], ("nope", ZERO_UUID, 3)),
        ([(None, b"\7" * 16)], (None, b"\7" * 16, 100)),
        ([("one", ID_1)], ("one", ID_1, 42)),
        ([(None, ZERO_UUID)], (None, ZERO_UUID, 42)),
        ([("one", ZERO_UUID)] * 2, ("one", ZERO_UUID, 42)),
        ([("one", ZERO_UUID)] * 3, ("one", ZERO_UUID, 42)),
        ([(None, ID_1)] * 2, (None, ID_1, 42)),
        ([("one", ZERO_UUID), (None, ID_1)], ("one", ID_1, 42)),
    ],
)
def test_bad_deletion_is_refused(
    requested: list[tuple[str | None, bytes]], response: tuple[str | None, bytes, int]
) -> None:
    assert deletion(*requested) == [response]


def test_deletion_without_time_is_timed_out() -> None:
    assert deletion(("one", ZERO_UUID), (None, ID_1), timeout_ms=0) == [("one", ZERO_UUID, 7), (None, ID_1, 7)]


def test_deletion_that_needs_no_look_up_is_never_late() -> None:
    assert deletion(("one", ID_1), timeout_ms=0) == [("one", ID_1, 42)]
    assert deletion(("one", ZERO_UUID), ("one", ZERO_UUID), timeout_ms=0) == [("one", ZERO_UUID, 42)]


def test_old_versions_name_topics_in_their_own_field() -> None:
    request = DeleteTopicsRequest(topic_names=["one", "nope"], timeout_ms=1000)
    deletion = delete_topics(request, image=image("one"))
    assert [(each.name, each.error_code) for each in deletion.response.responses] == [("nope", 3), ("one", 0)]


def test_3_7_counts_the_partitions_of_topics_that_can_be_made() -> None:
    requested = (topic("known", 10_001), topic("a/b", 10_001), topic("new", 10_001, factor=9))
    made = create(*requested, at=image("known"), release="3.7.2")
    assert {result.error_code for result in made.response.topics} == {
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.INVALID_REPLICATION_FACTOR,
    }
    assert only(create(topic("new", 10_001), release="3.7.2")).error_code == ErrorCode.POLICY_VIOLATION
    counted = create(*requested, at=image("known")).response.topics
    assert {result.error_code for result in counted} == {ErrorCode.POLICY_VIOLATION}
