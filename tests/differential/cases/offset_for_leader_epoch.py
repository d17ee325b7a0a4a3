"""OffsetForLeaderEpoch, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.differential.case import case
from tests.differential.requests import all_versions, batch, fill

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def end_of(
    topic: str, *epochs: int, partition: int = 0, current: int = -1, replica: int = -1
) -> OffsetForLeaderEpochRequest:
    """A request for the ends of epochs of one partition."""
    partitions = [
        OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
        for epoch in epochs
    ]
    return OffsetForLeaderEpochRequest(
        replica_id=replica, topics=[OffsetForLeaderTopic(topic=topic, partitions=partitions)]
    )


@case()
def every_version(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a", b"b"))
    for version in all_versions(OffsetForLeaderEpochRequest):
        probe.exchange(end_of(topic, 0), version)


@case()
def an_empty_log(probe: Probe) -> None:
    topic = probe.topic()
    for epoch in (0, 1, -1):
        probe.exchange(end_of(topic, epoch), 4, note=str(epoch))


@case()
def epochs(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a", b"b"))
    for epoch in (-1, -2, 0, 1, 2, 99, 2_147_483_647, -2_147_483_648):
        for version in (2, 4):
            probe.exchange(end_of(topic, epoch), version, note=str(epoch))


@case()
def current_leader_epochs(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a", b"b"))
    for current in (-1, -2, 0, 1, 99):
        for version in (2, 3, 4):
            probe.exchange(end_of(topic, 0, current=current), version, note=str(current))


@case()
def replica_ids(probe: Probe) -> None:
    topic = probe.topic()
    for replica in (-2, -1, 0, 1, 5, -3):
        for version in (3, 4):
            probe.exchange(end_of(topic, 0, replica=replica), version, note=str(replica))


@case()
def unknown_topics_and_partitions(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    for version in (2, 3, 4):
        probe.exchange(end_of(f"{probe.name}-none", 0), version)
        probe.exchange(end_of("", 0), version)
        probe.exchange(end_of("a b", 0), version)
        probe.exchange(end_of(topic, 0, partition=2), version)
        probe.exchange(end_of(topic, 0, partition=-1), version)


@case()
def several_at_once(probe: Probe) -> None:
    topics = [probe.topic("a", partitions=2), probe.topic("b")]
    fill(probe, topics[0], batch(b"a"), partition=1)
    request = end_of(topics[0], 0)
    request.topics[0].partitions.append(OffsetForLeaderPartition(partition=1, current_leader_epoch=-1, leader_epoch=0))
    request.topics += end_of(topics[1], 0).topics + end_of(f"{probe.name}-none", 0).topics
    for version in (2, 4):
        probe.exchange(request, version)


@case()
def the_same_twice(probe: Probe) -> None:
    topic = probe.topic()
    probe.exchange(end_of(topic, 0, 0), 4, note="partition")
    probe.exchange(end_of(topic, 0, 5), 4, note="partition, another epoch")
    request = end_of(topic, 0)
    request.topics += end_of(topic, 5).topics
    probe.exchange(request, 4, note="topic")


@case()
def nothing(probe: Probe) -> None:
    topic = probe.topic()
    for version in all_versions(OffsetForLeaderEpochRequest):
        probe.exchange(OffsetForLeaderEpochRequest(topics=[], replica_id=-1), version)
        probe.exchange(end_of(topic), version)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in (
        (2, b"", "empty"),
        (2, b"\xff\xff\xff\xff", "null topics"),
        (2, b"\0\0\0\1\xff\xff\0\0\0\0", "null topic"),
        (2, b"\0\0\0\1\0\1t\xff\xff\xff\xff", "null partitions"),
        (2, b"\0\0\0\1\0\1t\0\0\0\1\0\0\0\0", "the partition is cut"),
        (4, b"\xff\xff\xff\xff\0\0", "null topics"),
        (4, b"\xff\xff\xff\xff\1\0more", "more bytes"),
    ):
        probe.raw_body(23, version, body, note=note)
