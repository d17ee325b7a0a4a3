"""DescribeLogDirs, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from protocol_specs.records.compression import CompressionCodec
from tests.differential.case import case
from tests.differential.requests import TIME_MS, all_versions, batch, fill, idempotent, timed

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def dirs(*topics: tuple[str, list[int]]) -> DescribeLogDirsRequest:
    """A request for these partitions."""
    return DescribeLogDirsRequest(
        topics=[DescribableLogDirTopic(topic=topic, partitions=partitions) for topic, partitions in topics]
    )


def named(response: Any) -> Any:
    """Return the response without the values of the machine: paths, and the size of its disk."""
    for result in response["results"]:
        result["logDir"] = "<log dir>" if result["logDir"].startswith("/") else result["logDir"]
        for field in ("totalBytes", "usableBytes"):
            if field in result:
                result[field] = "<bytes>" if result[field] >= 0 else result[field]
    return response


@case()
def every_version(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    fill(probe, topic, batch(b"a", b"b", b"c"), partition=1)
    for version in all_versions(DescribeLogDirsRequest):
        probe.exchange(dirs((topic, [0, 1, 2])), version, only=named)
        probe.exchange(dirs((topic, [1])), version, only=named)


@case()
def what_does_not_exist(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    for version in all_versions(DescribeLogDirsRequest):
        for requested in ((f"{probe.name}-none", [0]), (topic, [2, -1]), ("", [0]), ("x" * 250, [0]), (topic, [])):
            probe.exchange(dirs(requested), version, only=named, note=f"{requested[0][:20]} {requested[1]}")
        probe.exchange(dirs(), version, only=named, note="an empty list")


@case()
def named_twice(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    probe.exchange(dirs((topic, [0, 0, 1])), 4, only=named)
    probe.exchange(dirs((topic, [0]), (topic, [1])), 4, only=named, note="the topic twice")
    probe.exchange(dirs((topic, [0]), (f"{probe.name}-none", [0]), (topic, [0])), 4, only=named)


@case()
def all_of_them(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    fill(probe, topic, batch(b"a"))

    def own(response: Any) -> Any:
        for result in named(response)["results"]:
            result["topics"] = [each for each in result["topics"] if each["name"] == topic]
        return response

    for version in all_versions(DescribeLogDirsRequest):
        probe.exchange(DescribeLogDirsRequest(topics=None), version, only=own)


@case()
def sizes(probe: Probe) -> None:
    topic = probe.topic(segment_ms="1")
    for records in (
        batch(b"a" * 100),
        timed(TIME_MS + 10, TIME_MS + 20),
        idempotent(77, 0, 0),
        batch(b"b", time_ms=TIME_MS + 50),
    ):
        fill(probe, topic, records)
        probe.exchange(dirs((topic, [0])), 4, only=named)
    appended = probe.topic("appended", message_timestamp_type="LogAppendTime")
    fill(probe, appended, batch(b"a", b"b"))
    probe.exchange(dirs((appended, [0])), 4, only=named)
    rebuilt = probe.topic("rebuilt", compression_type="uncompressed")
    fill(probe, rebuilt, batch(b"a" * 500, b"b" * 500, codec=CompressionCodec.LZ4))
    probe.exchange(dirs((rebuilt, [0])), 4, only=named)


@case(brokers=3)
def a_broker_without_the_replica(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    leaders = {each.partition_index: each.leader_id for each in probe.await_topic(topic, 3).topics[0].partitions}
    probe.write(requests_to_the_first_broker=3)

    def count(response: Any) -> Any:
        found = [each["partitionIndex"] for result in response["results"] for each in result["topics"][0]["partitions"]]
        return sorted(found) == sorted(index for index, leader in leaders.items() if leader == 1)

    probe.exchange(dirs((topic, [0, 1, 2])), 4, only=count)
