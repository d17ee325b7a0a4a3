from __future__ import annotations

from broker_sim.metadata.metadata_image import (
    NO_LEADER,
    BrokerRegistration,
    MetadataImage,
    PartitionRegistration,
    TopicImage,
)
from broker_sim.topic_partition import TopicPartition


def registration(leader: int) -> PartitionRegistration:
    return PartitionRegistration(replicas=(1, 2), isr=(1, 2), leader=leader, leader_epoch=0, partition_epoch=0)


def topic(name: str, topic_id: int = 1) -> TopicImage:
    partitions = (registration(1), registration(2))
    return TopicImage(name=name, topic_id=bytes([topic_id] * 16), partitions=partitions, configs={})


def broker(broker_id: int, *, fenced: bool = False, leaving: bool = False) -> BrokerRegistration:
    return BrokerRegistration(
        id=broker_id, host="h", port=1, rack=None, fenced=fenced, epoch=1, in_controlled_shutdown=leaving
    )


EMPTY = MetadataImage.empty("cluster")


def test_topics_are_found_by_name_and_by_id() -> None:
    image = EMPTY.with_topics([topic("a", 1), topic("b", 2)])
    assert image.topic("a") is image.topics_by_id[bytes([1] * 16)]
    assert image.topic("c") is None
    assert list(image.topics) == ["a", "b"]


def test_a_topic_made_anew_leaves_no_trace_of_its_old_id() -> None:
    image = EMPTY.with_topic(topic("a", 1)).with_topic(topic("a", 2))
    assert list(image.topics_by_id) == [bytes([2] * 16)]
    assert image.without_topics(["a"]) == EMPTY


def test_a_partition_is_there_only_within_the_topics_range() -> None:
    image = EMPTY.with_topic(topic("a"))
    assert image.partition("a", 1) is not None
    assert image.partition("a", 2) is image.partition("a", -1) is image.partition("b", 0) is None


def test_changed_partitions_replace_their_topic_and_no_other() -> None:
    image = EMPTY.with_topics([topic("a", 1), topic("b", 2)])
    changed = image.with_partitions({TopicPartition("a", 1): registration(NO_LEADER)})
    assert [partition.leader for partition in changed.topics["a"].partitions] == [1, NO_LEADER]
    assert changed.topics["a"].partitions[0] is image.topics["a"].partitions[0]
    assert changed.topics["b"] is image.topics["b"]
    assert changed.topics_by_id[bytes([1] * 16)] is changed.topics["a"]
    assert image.topics["a"].partitions[1].leader == 2


def test_only_who_is_neither_fenced_nor_leaving_is_active() -> None:
    image = EMPTY.with_broker(broker(1)).with_broker(broker(2, fenced=True)).with_broker(broker(3, leaving=True))
    assert [image.is_active(broker_id) for broker_id in (1, 2, 3, 4)] == [True, False, False, False]
    assert [alive.id for alive in image.alive_brokers()] == [1, 3]
    assert image.without_broker(2).brokers.keys() == {1, 3}
