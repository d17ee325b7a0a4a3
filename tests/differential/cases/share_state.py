"""The APIs of share group state (83 to 87) and of share group offsets (90 to 92), as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages import delete_share_group_state as deletes
from protocol_specs.messages import initialize_share_group_state as initializes
from protocol_specs.messages import read_share_group_state as reads
from protocol_specs.messages import read_share_group_state_summary as summaries
from protocol_specs.messages import write_share_group_state as writes
from protocol_specs.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from protocol_specs.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from protocol_specs.uuids import ZERO_UUID
from tests.differential.case import case
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_records import SHARE_STATE_TOPIC, write_records
from tests.differential.group_requests import OFFSETS_TOPIC, commit, group_of, list_own_groups
from tests.differential.probe import attempts
from tests.differential.requests import batch, fill
from tests.differential.share_requests import (
    ACCEPT,
    ONLY_NEW,
    SHARE,
    ShareConsumer,
    share_describe,
    share_group_of,
)

if TYPE_CHECKING:
    from tests.differential.probe import Probe

UNKNOWN_ID = b"an unknown topic"


def initialize(
    group: str, topic_id: bytes, partition: int = 0, *, state_epoch: int = 0, start: int = 0
) -> initializes.InitializeShareGroupStateRequest:
    """An InitializeShareGroupState of one partition."""
    data = initializes.PartitionData(partition=partition, state_epoch=state_epoch, start_offset=start)
    return initializes.InitializeShareGroupStateRequest(
        group_id=group, topics=[initializes.InitializeStateData(topic_id=topic_id, partitions=[data])]
    )


def read(group: str, topic_id: bytes, partition: int = 0, *, leader_epoch: int = 0) -> reads.ReadShareGroupStateRequest:
    """A ReadShareGroupState of one partition."""
    data = reads.PartitionData(partition=partition, leader_epoch=leader_epoch)
    return reads.ReadShareGroupStateRequest(
        group_id=group, topics=[reads.ReadStateData(topic_id=topic_id, partitions=[data])]
    )


def summarize(
    group: str, topic_id: bytes, partition: int = 0, *, leader_epoch: int = 0
) -> summaries.ReadShareGroupStateSummaryRequest:
    """A ReadShareGroupStateSummary of one partition."""
    data = summaries.PartitionData(partition=partition, leader_epoch=leader_epoch)
    return summaries.ReadShareGroupStateSummaryRequest(
        group_id=group, topics=[summaries.ReadStateSummaryData(topic_id=topic_id, partitions=[data])]
    )


def write(
    group: str,
    topic_id: bytes,
    *batches: tuple[int, int, int, int],
    partition: int = 0,
    state_epoch: int = 0,
    leader_epoch: int = 0,
    start: int = -1,
    complete: int = 0,
) -> writes.WriteShareGroupStateRequest:
    """A WriteShareGroupState of one partition: batches are first and last offset, state and delivery count."""
    data = writes.PartitionData(
        partition=partition,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start,
        delivery_complete_count=complete,
        state_batches=[
            writes.StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
            for first, last, state, count in batches
        ],
    )
    return writes.WriteShareGroupStateRequest(
        group_id=group, topics=[writes.WriteStateData(topic_id=topic_id, partitions=[data])]
    )


def delete(group: str, topic_id: bytes, partition: int = 0) -> deletes.DeleteShareGroupStateRequest:
    """A DeleteShareGroupState of one partition."""
    data = deletes.PartitionData(partition=partition)
    return deletes.DeleteShareGroupStateRequest(
        group_id=group, topics=[deletes.DeleteStateData(topic_id=topic_id, partitions=[data])]
    )


def describe_offsets(*groups: tuple[str, dict[str, list[int]] | None]) -> DescribeShareGroupOffsetsRequest:
    """A DescribeShareGroupOffsets of groups with topics, or all of them."""
    return DescribeShareGroupOffsetsRequest(
        groups=[
            DescribeShareGroupOffsetsRequestGroup(
                group_id=group,
                topics=None
                if topics is None
                else [
                    DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=indexes)
                    for name, indexes in topics.items()
                ],
            )
            for group, topics in groups
        ]
    )


def alter_offsets(group: str, topics: dict[str, dict[int, int]]) -> AlterShareGroupOffsetsRequest:
    """An AlterShareGroupOffsets."""
    return AlterShareGroupOffsetsRequest(
        group_id=group,
        topics=[
            AlterShareGroupOffsetsRequestTopic(
                topic_name=name,
                partitions=[
                    AlterShareGroupOffsetsRequestPartition(partition_index=index, start_offset=offset)
                    for index, offset in offsets.items()
                ],
            )
            for name, offsets in topics.items()
        ],
    )


def delete_offsets(group: str, *topics: str) -> DeleteShareGroupOffsetsRequest:
    """A DeleteShareGroupOffsets."""
    return DeleteShareGroupOffsetsRequest(
        group_id=group, topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics]
    )


def await_share_coordinator(probe: Probe, group: str, topic_id: bytes) -> None:
    """Wait until the share coordinator of a group's partition 0 knows the topic, later than the broker's metadata."""
    for _ in attempts(f"the share coordinator of {group} to know the topic"):
        response: Any = probe.quiet(summarize(group, topic_id), 0)
        if response.results[0].partitions[0].error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return


@case(settings=SHARE, releases=ONLY_NEW)
def state_of_a_partition(probe: Probe) -> None:
    topic_id = probe.topic_id(probe.topic())
    group = share_group_of(probe)
    await_share_coordinator(probe, group, topic_id)
    probe.exchange(read(group, topic_id), 0, note="nothing is there")
    for version in (0, 1):
        probe.exchange(summarize(group, topic_id), version, note="nothing is there")
        probe.exchange(write(group, topic_id), version, note="nothing is there")
    probe.exchange(delete(group, topic_id), 0, note="nothing is there")
    probe.exchange(initialize(group, topic_id, state_epoch=3, start=10), 0)
    probe.exchange(initialize(group, topic_id, state_epoch=2, start=10), 0, note="an older epoch")
    probe.exchange(read(group, topic_id, leader_epoch=5), 0)
    probe.exchange(read(group, topic_id, leader_epoch=4), 0, note="an older leader")
    for version in (0, 1):
        for leader_epoch in (4, 5, 6, -1):
            probe.exchange(summarize(group, topic_id, leader_epoch=leader_epoch), version, note=f"{leader_epoch}")
    right = {"state_epoch": 3, "leader_epoch": 5}
    probe.exchange(write(group, topic_id, (10, 14, 0, 1), (15, 19, 2, 1), **right), 0)
    probe.exchange(read(group, topic_id, leader_epoch=5), 0)
    probe.exchange(write(group, topic_id, (12, 16, 2, 2), complete=5, **right), 1, note="overlaps")
    probe.exchange(read(group, topic_id, leader_epoch=5), 0)
    probe.exchange(write(group, topic_id, (20, 24, 4, 1), start=15, **right), 1, note="another start")
    probe.exchange(read(group, topic_id, leader_epoch=5), 0)
    for changes in ({"state_epoch": 2}, {"state_epoch": 4}, {"leader_epoch": 4}, {"leader_epoch": 6}, {"start": 3}):
        probe.exchange(write(group, topic_id, (30, 31, 2, 1), **(right | changes)), 1, note=str(changes))
    probe.exchange(read(group, topic_id, leader_epoch=9), 0)
    probe.exchange(summarize(group, topic_id, leader_epoch=9), 1)
    probe.exchange(delete(group, topic_id), 0)
    probe.exchange(read(group, topic_id, leader_epoch=9), 0, note="deleted")
    write_records(probe, SHARE_STATE_TOPIC, group)


@case(settings=SHARE, releases=ONLY_NEW)
def partitions_that_do_not_exist(probe: Probe) -> None:
    topic_id = probe.topic_id(probe.topic())
    group = share_group_of(probe)
    for name, unknown, partition in (
        (group, UNKNOWN_ID, 0),
        (group, ZERO_UUID, 0),
        (group, topic_id, 7),
        (group, topic_id, -1),
        ("", topic_id, 0),
    ):
        note = f"{name[-1:]} {unknown == topic_id} {partition}"
        probe.exchange(initialize(name, unknown, partition), 0, note=note)
        probe.exchange(read(name, unknown, partition), 0, note=note)
        probe.exchange(write(name, unknown, (0, 1, 2, 1), partition=partition), 1, note=note)
        probe.exchange(summarize(name, unknown, partition), 1, note=note)
        probe.exchange(delete(name, unknown, partition), 0, note=note)
    for request in (
        initializes.InitializeShareGroupStateRequest(group_id=group, topics=[]),
        reads.ReadShareGroupStateRequest(group_id=group, topics=[]),
        writes.WriteShareGroupStateRequest(group_id=group, topics=[]),
        summaries.ReadShareGroupStateSummaryRequest(group_id=group, topics=[]),
        deletes.DeleteShareGroupStateRequest(group_id=group, topics=[]),
    ):
        probe.exchange(request, 0, note="no topics")


@case(settings=SHARE, releases=ONLY_NEW)
def offsets_of_a_group(probe: Probe) -> None:
    topic, other = known_topic(probe, partitions=2), known_topic(probe, "u")
    for partition in (0, 1):
        fill(probe, topic, batch(b"a", b"b", b"c"), partition=partition)
    group = share_group_of(probe)
    member = ShareConsumer(probe, group, "m1", [topic])
    member.join()
    member.await_assignment(2)
    topic_id = probe.topic_id(topic)
    for version in (0, 1):
        probe.exchange(describe_offsets((group, None)), version, note="before the first fetch")
    member.fetch({topic_id: {0: []}})
    member.acknowledge({topic_id: {0: [(0, 1, [ACCEPT])]}})
    for version in (0, 1):
        probe.exchange(describe_offsets((group, None)), version)
        probe.exchange(describe_offsets((group, {topic: [0, 1], "unknown": [0], other: [0]})), version)
        probe.exchange(describe_offsets(("", None), ("unknown", None), (group, {}), (group, {topic: []})), version)
    probe.exchange(alter_offsets(group, {topic: {0: 2}}), 0, note="not empty")
    probe.exchange(delete_offsets(group, topic), 0, note="not empty")
    member.leave()
    probe.exchange(alter_offsets(group, {topic: {0: 2, 1: 1, 7: 0}, "unknown": {0: 1}}), 0)
    probe.exchange(alter_offsets(group, {other: {0: 0}}), 0, note="a new topic")
    probe.exchange(alter_offsets(group, {topic: {0: -1, 1: 99}}), 0, note="out of range")
    probe.exchange(alter_offsets(group, {}), 0, note="no topics")
    probe.exchange(describe_offsets((group, None)), 1)
    probe.exchange(share_describe(group), 1)
    probe.exchange(delete_offsets(group, topic, "unknown", other), 0)
    probe.exchange(describe_offsets((group, None)), 1)
    probe.exchange(delete_offsets(group), 0, note="no topics")
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
    probe.exchange(describe_offsets((group, None)), 1)
    write_records(probe, SHARE_STATE_TOPIC, group)


@case(settings=SHARE, releases=ONLY_NEW)
def offsets_of_groups_that_are_unknown(probe: Probe) -> None:
    topic = known_topic(probe)
    new, classic = share_group_of(probe, "new"), group_of(probe, "classic")
    await_share_coordinator(probe, new, probe.topic_id(topic))
    probe.exchange(commit(classic, (topic, {0: 1})), 9)
    for group in ("", "unknown", classic):
        probe.exchange(delete_offsets(group, topic), 0, note=group[-7:])
        probe.exchange(describe_offsets((group, {topic: [0]})), 1, note=group[-7:])
    probe.exchange(alter_offsets("", {topic: {0: 1}}), 0, note="an empty group")
    probe.exchange(alter_offsets(classic, {topic: {0: 1}}), 0, note="a classic group")
    probe.exchange(alter_offsets(new, {topic: {0: 0}}), 0, note="a new group")
    list_own_groups(probe, 5)
    probe.exchange(describe_offsets((new, None)), 1)


@case(settings=SHARE, releases=ONLY_NEW)
def offsets_in_odd_ways(probe: Probe) -> None:
    topic, other = known_topic(probe, partitions=2), known_topic(probe, "u")
    group = share_group_of(probe)
    for version in (0, 1):
        for topics in (
            None,
            {},
            {topic: [1, 0, 0, 1]},
            {topic: []},
            {topic: [9, -1]},
            {"unknown": [1, 0, 0]},
            {"": [0]},
            {OFFSETS_TOPIC: [0]},
        ):
            for name in (group, "", "none"):
                probe.exchange(
                    describe_offsets((name, topics)),
                    version,
                    note=f"{name[-4:]} {topics if topics is None else len(topics)}",
                )
    for topics in (
        {},
        {topic: {}},
        {topic: {0: 5, 1: 6}},
        {topic: {0: -1}},
        {topic: {9: 1}},
        {"unknown": {0: 1}},
        {"": {0: 1}},
        {OFFSETS_TOPIC: {0: 1}},
        {topic: {0: 2**62}},
    ):
        for name in (group, "", f"{group}-x"):
            probe.exchange(alter_offsets(name, topics), 0, note=f"{name[-3:]} {list(topics.values())}")
            probe.exchange(describe_offsets((name, None)), 0)
    for topics in ((), (other,), (topic,), (topic, topic), ("unknown",), ("",), (OFFSETS_TOPIC,)):
        for name in (group, "", "none"):
            probe.exchange(delete_offsets(name, *topics), 0, note=f"{name[-4:]} {len(topics)}")
    member = ShareConsumer(probe, group, "m", [topic])
    member.join()
    probe.exchange(alter_offsets(group, {topic: {0: 1}}), 0, note="with members")
    probe.exchange(delete_offsets(group, topic), 0, note="with members")


@case(settings=SHARE, releases=ONLY_NEW)
def topics_that_are_repeated_or_empty(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    topic_id = probe.topic_id(topic)
    group = share_group_of(probe)
    await_share_coordinator(probe, group, topic_id)
    for entries in (
        [("none", [0]), ("none", [0, 1])],
        [("none", []), ("other", [1]), (topic, [])],
        [(topic, []), (topic, [])],
        [(topic, [0]), ("none", [1]), (topic, [1]), ("none", [])],
        [("", [])],
        [("", [1]), ("", [0])],
    ):
        altering, describing = alter_offsets(group, {}), describe_offsets((group, {}))
        for name, partitions in entries:
            altering.topics += alter_offsets(group, {name: dict.fromkeys(partitions, 1)}).topics
            described = describe_offsets((group, {name: partitions})).groups[0].topics
            describing.groups[0].topics = [*(describing.groups[0].topics or ()), *(described or ())]
        probe.exchange(altering, 0, note=str(entries)[:60])
        probe.exchange(describing, 1, note=str(entries)[:60])
    for make in (initialize, read, summarize, delete):
        request: Any = make(group, topic_id)
        request.topics += make(group, topic_id, 1).topics
        request.topics[0].partitions = []
        probe.exchange(request, 0, note=f"{make.__name__}: the first entry has no partitions")
