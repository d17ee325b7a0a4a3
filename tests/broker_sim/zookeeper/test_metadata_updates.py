from __future__ import annotations

from typing import Any

from broker_sim.metadata.metadata_image import MetadataImage
from broker_sim.zookeeper.leader_and_isr import LEADER_DURING_DELETE
from broker_sim.zookeeper.metadata_updates import PARTITION_INDEX_MAX, updated
from broker_sim.zookeeper.zookeeper_behaviour import id_of_name
from protocol_specs.messages.update_metadata import (
    RequestUpdateMetadataPartitionState,
    UpdateMetadataBroker,
    UpdateMetadataEndpoint,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from protocol_specs.uuids import ZERO_UUID

EMPTY = MetadataImage.empty("c")
ID = b"\5" * 16


def update(
    *partitions: tuple[int, int], brokers: tuple[int, ...] = (1, 2), topic_id: bytes = ZERO_UUID
) -> UpdateMetadataRequest:
    """Partitions of topic `t` as (index, leader)."""
    states: list[Any] = [
        RequestUpdateMetadataPartitionState(
            partition_index=index,
            controller_epoch=1,
            leader=leader,
            leader_epoch=3,
            isr=[1],
            zk_version=0,
            replicas=[1, 2],
        )
        for index, leader in partitions
    ]
    return UpdateMetadataRequest(
        topic_states=[UpdateMetadataTopicState(topic_name="t", topic_id=topic_id, partition_states=states)],
        live_brokers=[
            UpdateMetadataBroker(
                id=each,
                endpoints=[UpdateMetadataEndpoint(port=9000 + each, host="h", listener="PLAINTEXT")],
                rack=None,
            )
            for each in brokers
        ],
    )


def leaders(image: MetadataImage) -> list[int]:
    return [each.leader for each in image.topics["t"].partitions]


def test_brokers_are_replaced_and_partitions_put_beside_those_that_are_known() -> None:
    image = updated(EMPTY, update((0, 1), (1, 2)), {"t": {"retention.ms": "1"}})
    image = updated(image, update((1, 1), brokers=(1,)), {})
    assert leaders(image) == [1, 1]
    assert [(each.id, each.port) for each in image.brokers.values()] == [(1, 9001)]


def test_the_id_of_a_topic_without_one_is_derived_from_its_name() -> None:
    assert updated(EMPTY, update((0, 1)), {}).topics["t"].topic_id == id_of_name("t")
    image = updated(EMPTY, update((0, 1), topic_id=ID), {})
    assert image.topics_by_id[ID].name == "t"
    assert updated(image, update((0, 2)), {}).topics["t"].topic_id == ID


def test_a_topic_of_another_id_is_another_topic() -> None:
    image = updated(EMPTY, update((0, 1), (1, 1), topic_id=ID), {})
    image = updated(image, update((0, 2), topic_id=b"\6" * 16), {})
    assert leaders(image) == [2]
    assert ID not in image.topics_by_id


def test_partitions_that_are_being_deleted_are_forgotten_and_with_the_last_one_the_topic() -> None:
    image = updated(EMPTY, update((0, 1), (1, 2)), {})
    image = updated(image, update((1, LEADER_DURING_DELETE)), {})
    assert leaders(image) == [1]
    image = updated(image, update((0, LEADER_DURING_DELETE)), {})
    assert image.topics == {}
    assert image.topics_by_id == {}


def test_a_partition_missing_from_all_updates_has_no_leader() -> None:
    assert leaders(updated(EMPTY, update((2, 1)), {})) == [-1, -1, 1]


def test_partitions_that_cannot_be_are_left_out() -> None:
    assert updated(EMPTY, update((PARTITION_INDEX_MAX + 1, 1), (-1, 1), (2**31 - 1, 1)), {}).topics == {}
