"""DeleteRecords, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from tests.differential.case import case
from tests.differential.cases.cluster import placed
from tests.differential.requests import (
    TIME_MS,
    all_versions,
    batch,
    fetch,
    fill,
    list_offsets,
    produce,
    read_back,
    timed,
    wanted,
)

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def before(topic: str, *offsets: tuple[int, int], timeout_ms: int = 5_000) -> DeleteRecordsRequest:
    """A request for (partition, offset) pairs of one topic."""
    partitions = [DeleteRecordsPartition(partition_index=index, offset=offset) for index, offset in offsets]
    return DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=partitions)], timeout_ms=timeout_ms)


def many(*requests: DeleteRecordsRequest) -> DeleteRecordsRequest:
    """The topics of several requests in one."""
    return DeleteRecordsRequest(topics=[topic for each in requests for topic in each.topics], timeout_ms=5_000)


@case()
def every_version(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, *(batch(b"%d" % number) for number in range(5)))
    for version in all_versions(DeleteRecordsRequest):
        probe.exchange(before(topic, (0, version + 1)), version)


@case()
def offsets_of_all_kinds(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a", b"b", b"c"), batch(b"d", b"e"))
    for offset in (0, 1, 1, 0, 3, 4, 5, 6, 99, -2, -3, 2**63 - 1, -(2**63), -1, -1, 5, 0):
        probe.exchange(before(topic, (0, offset)), 2, note=str(offset))


@case()
def an_empty_log(probe: Probe) -> None:
    topic = probe.topic()
    for offset in (0, -1, 1, -2):
        probe.exchange(before(topic, (0, offset)), 2, note=str(offset))


@case()
def what_does_not_exist(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a"))
    for version in all_versions(DeleteRecordsRequest):
        for name, index in ((f"{probe.name}-none", 0), (topic, 1), (topic, -1), ("", 0), ("a b", 0), ("x" * 250, 0)):
            probe.exchange(before(name, (index, 0)), version, note=f"{name[:20]} {index}")
    probe.exchange(before("__consumer_offsets_x", (0, 0)), 2)
    probe.exchange(before("__cluster_metadata", (0, 0)), 2)


@case()
def nothing_at_all(probe: Probe) -> None:
    topic = probe.topic()
    for version in all_versions(DeleteRecordsRequest):
        probe.exchange(DeleteRecordsRequest(topics=[], timeout_ms=1_000), version)
        probe.exchange(before(topic), version, note="no partitions")


@case()
def named_twice(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    fill(probe, topic, batch(b"a", b"b", b"c"))
    probe.exchange(before(topic, (0, 1), (0, 2)), 2)
    probe.exchange(before(topic, (0, 99), (0, 2)), 2, note="a bad offset, then a good one")
    probe.exchange(before(topic, (0, 2), (0, 99)), 2, note="a good offset, then a bad one")
    probe.exchange(many(before(topic, (0, 2)), before(topic, (1, 0))), 2, note="the topic twice")
    probe.exchange(many(before(topic, (0, 2)), before(topic, (0, 3))), 2, note="topic and partition twice")


@case()
def good_and_bad_ones(probe: Probe) -> None:
    one, two = probe.topic("one", partitions=2), probe.topic("two")
    fill(probe, one, batch(b"a", b"b"))
    fill(probe, two, batch(b"a", b"b"))
    probe.exchange(many(before(one, (0, 1), (1, 1), (2, 1)), before(two, (0, 2)), before("none-such", (0, 0))), 2)


@case()
def timeouts(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a", b"b", b"c", b"d"))
    for number, timeout_ms in enumerate((0, -1, -(2**31), 2**31 - 1), 1):
        probe.exchange(before(topic, (0, number), timeout_ms=timeout_ms), 2, note=str(timeout_ms))


@case()
def cleanup_policies(probe: Probe) -> None:
    for policy in ("compact", "compact,delete", "delete,compact", "delete"):
        topic = probe.topic(policy.replace(",", "-"), cleanup_policy=policy)
        fill(probe, topic, batch(b"a", b"b"))
        for offset in (1, 9, -2, -1):
            probe.exchange(before(topic, (0, offset)), 2, note=f"{policy} {offset}")


@case(releases=("4.3.1",))
def no_cleanup_policy(probe: Probe) -> None:
    topic = probe.topic(cleanup_policy="")
    fill(probe, topic, batch(b"a", b"b"))
    probe.exchange(before(topic, (0, 1)), 2)


@case()
def internal_topics(probe: Probe) -> None:
    for name in ("__consumer_offsets", "__transaction_state", "__share_group_state"):
        probe.exchange(before(name, (99, 0)), 2, note=name)


@case()
def what_readers_see_after(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, batch(b"a", b"b", b"c"), batch(b"d", b"e"))
    probe.exchange(before(topic, (0, 2)), 2)
    for offset in (0, 1, 2, 3, 5, 6):
        read_back(probe, topic, offset, note=str(offset))
    for version in (4, 5, 7, 11):
        probe.exchange(fetch(topic, wanted(1)), version, note="below the start")
        probe.exchange(fetch(topic, wanted(2)), version, note="at the start")
    probe.exchange(produce(topic, batch(b"f")), 9)
    for version in range(12):
        probe.exchange(list_offsets(topic, -2, max_num_offsets=5), version, note="earliest")
        probe.exchange(list_offsets(topic, -1, max_num_offsets=5), version, note="latest")
    probe.exchange(before(topic, (0, -1)), 2)
    read_back(probe, topic, 6, note="the end")
    probe.exchange(produce(topic, batch(b"g")), 9)


@case()
def times_after(probe: Probe) -> None:
    topic = probe.topic()
    fill(probe, topic, timed(TIME_MS, TIME_MS + 100, TIME_MS + 50), timed(TIME_MS + 20, TIME_MS + 10))
    times = (0, TIME_MS, TIME_MS + 5, TIME_MS + 20, TIME_MS + 50, TIME_MS + 60, TIME_MS + 100, TIME_MS + 101, -3, -4)
    for offset in (1, 2, 3, 4, 5):
        probe.exchange(before(topic, (0, offset)), 2, note=str(offset))
        for time_ms in times:
            shown = time_ms - TIME_MS if time_ms > 0 else time_ms
            probe.exchange(list_offsets(topic, time_ms), 8, note=f"{offset}: {shown}")


@case()
def segments_after(probe: Probe) -> None:
    """Offsets by time and of version 0 wait until retention has deleted them (see the cases about retention)."""
    topic = probe.topic(segment_ms="1")
    fill(probe, topic, *(timed(TIME_MS + 10 * number) for number in range(4)))
    probe.exchange(before(topic, (0, 2)), 2)
    probe.exchange(list_offsets(topic, -2, max_num_offsets=9), 0, note="old style")
    for offset in range(5):
        read_back(probe, topic, offset, note=str(offset))
    for time_ms in (TIME_MS + 20, TIME_MS + 30, TIME_MS + 31):
        probe.exchange(list_offsets(topic, time_ms), 5, note=str(time_ms - TIME_MS))


@case(brokers=3)
def followers_are_waited_for(probe: Probe) -> None:
    name, _ = placed(probe, "t", [1, 2, 3])
    fill(probe, name, batch(b"a", b"b", b"c"))
    for offset, timeout_ms in ((1, 0), (2, -1)):
        probe.exchange(before(name, (0, offset), timeout_ms=timeout_ms), 2, note=f"timeout {timeout_ms}")
        probe.exchange(before(name, (0, offset)), 2, note="in time")
        probe.exchange(before(name, (0, offset), timeout_ms=timeout_ms), 2, note="nothing to wait for")
    probe.exchange(before(name, (0, -1)), 2)
    for broker in (1, 2, 3):
        connection = probe.connect(broker)
        probe.exchange(list_offsets(name, -2, replica_id=-2), 5, on=connection, note=f"broker {broker}")


@case(brokers=3)
def brokers_that_do_not_lead(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    leaders = {each.partition_index: each.leader_id for each in probe.await_topic(topic, 3).topics[0].partitions}
    others = [index for index, leader in leaders.items() if leader != 1]
    probe.exchange(
        before(topic, (others[0], 0)), 2, only=lambda response: response["topics"][0]["partitions"][0]["errorCode"]
    )
