"""DescribeQuorum, as raw probes see it: offsets and times are the metadata log's of the moment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from tests.differential.case import case
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe

METADATA_TOPIC = "__cluster_metadata"


def of(*topics: tuple[str, tuple[int, ...]]) -> DescribeQuorumRequest:
    """A request for partitions by topic."""
    return DescribeQuorumRequest(
        topics=[
            TopicData(topic_name=name, partitions=[PartitionData(partition_index=index) for index in partitions])
            for name, partitions in topics
        ]
    )


def steady(response: dict[str, Any]) -> dict[str, Any]:
    """Return the response without volatile values: the log's end, its leader's epoch, and the times of fetches."""
    for partition in [each for topic in response["topics"] for each in topic["partitions"]]:
        for named in [partition, *partition["currentVoters"], *partition["observers"]]:
            for name in ("leaderEpoch", "highWatermark", "logEndOffset"):
                if named.get(name, 0) > 0:
                    named[name] = "<of the moment>"
            for name in ("lastFetchTimestamp", "lastCaughtUpTimestamp"):
                if named.get(name, 0) > 0:
                    named[name] = "<now>"
    return response


@case()
def every_version(probe: Probe) -> None:
    for version in all_versions(DescribeQuorumRequest):
        probe.exchange(of((METADATA_TOPIC, (0,))), version, only=steady)


@case()
def other_topics_and_partitions(probe: Probe) -> None:
    for version in range(3):
        for topics, note in (
            ((("other", (0,)),), "another topic"),
            (((METADATA_TOPIC, (1,)),), "partition 1"),
            (((METADATA_TOPIC, (-1,)),), "partition -1"),
            (((METADATA_TOPIC, ()),), "no partition"),
            (((METADATA_TOPIC, (0, 1)),), "two partitions"),
            (((METADATA_TOPIC, (0, 0)),), "the same partition twice"),
            (((METADATA_TOPIC, (0,)), ("other", (0,))), "a topic more"),
            (((METADATA_TOPIC, (0,)), (METADATA_TOPIC, (0,))), "the topic twice"),
            ((("other", (0, 1)), ("another", (7,))), "two other topics"),
            ((("", (0,)),), "an empty name"),
            ((("other", ()),), "another topic, no partition"),
            (((METADATA_TOPIC.upper(), (0,)),), "in upper case"),
        ):
            probe.exchange(of(*topics), version, note=note, only=steady)


@case()
def no_topics(probe: Probe) -> None:
    for version in range(3):
        probe.exchange(of(), version, only=steady)


@case()
def a_topic_that_exists(probe: Probe) -> None:
    topic = probe.topic()
    for version in range(3):
        probe.exchange(of((topic, (0,))), version, only=steady)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for body, note in (
        (b"", "empty"),
        (b"\0\0", "null topics"),
        (b"\1\0", "no topics"),
        (b"\1\0more", "more bytes"),
        (b"\1", "no tags"),
        (b"\2\0\1\0\0", "null topic name"),
        (b"\2\6other\0\0\0", "null partitions"),
        (b"\7\6other", "six topics, one is there"),
    ):
        for version in (0, 1):
            probe.raw_body(55, version, body, note=note, only=steady)
