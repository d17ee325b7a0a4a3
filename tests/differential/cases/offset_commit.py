"""OffsetCommit, as raw probes see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from protocol_specs.messages.offset_commit import OffsetCommitRequest
from tests.differential.case import case
from tests.differential.group_requests import (
    NO_DELAY,
    Member,
    await_state,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    heartbeat,
    join,
    list_own_groups,
    stable_one,
    stable_pair,
)
from tests.differential.probe import attempts
from tests.differential.requests import all_versions, metadata

if TYPE_CHECKING:
    from tests.differential.probe import Probe

UNKNOWN_ID = b"an unknown topic"


@case(settings=NO_DELAY)
def without_members_in_every_version(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    ids = {topic: probe.topic_id(topic)}
    for version in all_versions(OffsetCommitRequest):
        group = group_of(probe, f"v{version}")
        request = commit(group, (topic, {0: 5, 1: 7}), metadata_text="about it", leader_epoch=0, ids=ids)
        probe.exchange(request, version)
        probe.exchange(fetch_offsets(group, (topic, [0, 1, 2])), 8 if probe.release == "4.3.1" else 7, note="committed")
        probe.exchange(describe_groups(group), 5)


@case(settings=NO_DELAY)
def topics_and_partitions_that_are_unknown(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    ids = {topic: probe.topic_id(topic), "unknown": UNKNOWN_ID}
    for version in all_versions(OffsetCommitRequest):
        for topics in (
            [(topic, {0: 1, 1: 2, -1: 3})],
            [("unknown", {0: 1}), (topic, {0: 1})],
            [("", {0: 1})],
            [("bad/name", {0: 1})],
            [(topic, {})],
            [(topic, {0: 1}), (topic, {0: 2})],
            [],
        ):
            probe.exchange(commit(group, *topics, ids=ids), version, note=str([name[-7:] for name, _ in topics]))
    probe.exchange(fetch_offsets(group, everything=True), 7)


@case(settings=NO_DELAY)
def groups_that_have_no_members(probe: Probe) -> None:
    topic = probe.topic()
    ids = {topic: probe.topic_id(topic)}
    wanted = (topic, {0: 1})
    group = group_of(probe)
    for version in all_versions(OffsetCommitRequest):
        for generation, member_id in ((0, ""), (5, ""), (0, "stranger"), (5, "stranger"), (-1, "stranger"), (-2, "")):
            request = commit(group, wanted, generation=generation, member_id=member_id, ids=ids)
            probe.exchange(request, version, note=f"{generation} {member_id}")
        probe.exchange(commit("", wanted, ids=ids), version, note="an empty group id")
        if version >= 7:
            probe.exchange(commit(group, wanted, instance="i", ids=ids), version, note="static")
    list_own_groups(probe, 4)
    probe.exchange(describe_groups(group), 5)
    # The offsets of the group without a name go with their topic: other cases share it.
    probe.quiet(DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 3)


@case(settings=NO_DELAY)
def members_in_every_version(probe: Probe) -> None:
    topic = probe.topic()
    ids = {topic: probe.topic_id(topic)}
    wanted = (topic, {0: 1})
    member = stable_one(probe, group_of(probe))
    for version in all_versions(OffsetCommitRequest):
        member.commit(wanted, version=version, ids=ids)
        for generation in (0, 2, 99, -1, -2):
            member.commit(wanted, version=version, generation=generation, ids=ids, note=f"generation {generation}")
        member.commit(wanted, version=version, member_id="stranger", ids=ids, note="unknown")
        member.commit(wanted, version=version, member_id="", ids=ids, note="an empty id")
        member.commit(wanted, version=version, member_id="", generation=-1, ids=ids, note="not a member")
        if version >= 7:
            member.commit(wanted, version=version, instance="i", ids=ids, note="an unknown instance")
            member.commit(wanted, version=version, instance="i", member_id="", generation=-1, ids=ids, note="only that")
    member.leave()
    member.commit(wanted, note="after it has left")
    member.commit(wanted, member_id="", generation=-1, note="an empty group")
    member.commit(wanted, member_id="", note="an empty group, with a generation")


@case(settings=NO_DELAY)
def offsets_and_metadata_of_any_size(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    for version in (2, 5, 6, 9):
        for offset in (0, -1, -2, 2**63 - 1, -(2**63)):
            probe.exchange(commit(group, (topic, {0: offset})), version, note=str(offset))
            probe.exchange(fetch_offsets(group, (topic, [0])), 7)
        for text in (None, "", "x" * 4096, "x" * 4097, "ä" * 2048, "ä" * 4097):
            request = commit(group, (topic, {0: 3}), metadata_text=text)
            probe.exchange(request, version, note="none" if text is None else f"{len(text)} characters")
            probe.exchange(fetch_offsets(group, (topic, [0])), 7)
    for epoch in (-1, 0, 7, -2, 2**31 - 1):
        probe.exchange(commit(group, (topic, {0: 3}), leader_epoch=epoch), 9, note=f"epoch {epoch}")
        probe.exchange(fetch_offsets(group, (topic, [0])), 7)


@case(settings=(*NO_DELAY, ("offset.metadata.max.bytes", "10")))
def metadata_that_is_too_long(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    group = group_of(probe)
    member = stable_one(probe, group)
    for text in ("0123456789", "01234567890"):
        member.commit((topic, {0: 1, 1: 2, 9: 3}), metadata_text=text)
        probe.exchange(fetch_offsets(group, everything=True), 7)


@case(settings=NO_DELAY)
def retention_times(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    for version in (2, 3, 4):
        for retention_ms in (0, 1, 86_400_000, -2, 2**63 - 1):
            request = commit(group, (topic, {0: version}), retention_ms=retention_ms)
            probe.exchange(request, version, note=str(retention_ms))
            probe.exchange(fetch_offsets(group, (topic, [0])), 7)


@case(releases=("3.7.2",), settings=NO_DELAY)
def version_0_without_zookeeper(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    for name, partitions in ((topic, {0: 1}), (topic, {9: 1}), ("unknown", {0: 1})):
        probe.exchange(commit(group, (name, partitions)), 0)
        probe.exchange(fetch_offsets(group, (name, list(partitions))), 0)
    for timestamp in (-1, 0, 1_700_000_000_000):
        probe.exchange(commit(group, (topic, {0: 2}), timestamp=timestamp), 1, note=str(timestamp))


@case(settings=NO_DELAY)
def commits_in_a_rebalance(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    first, second = stable_pair(probe, group)
    parked = first.start_join(note="the leader rejoins")
    await_state(probe, group, "PreparingRebalance")
    second.commit((topic, {0: 1}), note="preparing")
    second.commit((topic, {0: 1}), generation=9, note="preparing, another generation")
    probe.exchange(commit(group, (topic, {0: 9})), 9, note="preparing, not a member")
    second.join()
    first.finish_join(parked)
    for version in (2, 6, 7, 9):
        second.commit((topic, {0: 2}), version=version, note="completing")
    second.commit((topic, {0: 2}), generation=1, note="completing, the previous generation")
    second.commit((topic, {0: 2}), member_id="stranger", note="completing, unknown")
    first.sync({})
    second.commit((topic, {0: 3}), note="stable")
    probe.exchange(fetch_offsets(group, everything=True), 7)


@case(settings=NO_DELAY)
def a_member_that_has_not_joined(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    member = Member(probe, group)
    member.learn_id()
    for generation in (-1, 0, 1):
        member.commit((topic, {0: 1}), generation=generation, note=f"pending, generation {generation}")
    probe.exchange(commit(group, (topic, {0: 1})), 9, note="not a member")
    probe.exchange(heartbeat(group, 0, member.id), 4)
    member.join()
    member.commit((topic, {0: 1}), note="before its sync")


@case(settings=NO_DELAY)
def a_simple_group_becomes_a_group_with_members(probe: Probe) -> None:
    topic = probe.topic()
    group = group_of(probe)
    probe.exchange(commit(group, (topic, {0: 1})), 8)
    list_own_groups(probe, 4)
    probe.exchange(describe_groups(group), 5)
    probe.exchange(join(group, member_id="stranger"), 9)
    member = stable_one(probe, group)
    probe.exchange(fetch_offsets(group, everything=True), 7)
    member.leave()
    probe.exchange(commit(group, (topic, {0: 2})), 8)
    probe.exchange(describe_groups(group), 5)
    list_own_groups(probe, 4)


@case(settings=NO_DELAY)
def topics_that_are_deleted(probe: Probe) -> None:
    topic, other = probe.topic(), probe.topic("u")
    group = group_of(probe)
    probe.exchange(commit(group, (topic, {0: 1}), (other, {0: 2})), 8)
    probe.quiet(DeleteTopicsRequest(topic_names=[topic], timeout_ms=5_000), 5)
    for _ in attempts(f"{topic} to be gone"):
        response = probe.quiet(metadata(topic), 12)
        if response.topics[0].error_code:  # type: ignore[union-attr]
            break
    for _ in attempts("its offsets to be gone"):
        found = probe.quiet(fetch_offsets(group, everything=True), 7)
        if len(found.topics) == 1:  # type: ignore[union-attr]
            break
    probe.exchange(fetch_offsets(group, everything=True), 7)
    probe.exchange(fetch_offsets(group, (topic, [0]), (other, [0])), 7)
    probe.exchange(commit(group, (topic, {0: 3}), (other, {0: 3})), 8)
    probe.topic()
    probe.exchange(fetch_offsets(group, (topic, [0])), 7, note="another of its name")


@case(settings=NO_DELAY)
def bodies_that_are_wrong(probe: Probe) -> None:
    group_of(probe)
    for version, body, note in (
        (2, b"", "empty"),
        (2, b"\0\1g\xff\xff\xff\xff\0\0\xff\xff\xff\xff\xff\xff\xff\xff", "no topics"),
        (2, b"\xff\xff\xff\xff\xff\xff\0\0\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0", "a null group"),
        (2, b"\0\1g\xff\xff\xff\xff\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "null topics"),
        (8, b"\2g\xff\xff\xff\xff\1\0\1\0", "no topics, flexible"),
        (8, b"\2g\xff\xff\xff\xff\0\0\1\0", "a null member id"),
    ):
        probe.raw_body(8, version, body, note=note)


@case(settings=NO_DELAY, releases=("4.3.1",))
def topics_by_id(probe: Probe) -> None:
    topic, other = probe.topic(partitions=2), probe.topic("u")
    ids = {topic: probe.topic_id(topic), other: probe.topic_id(other)}
    group = group_of(probe)
    for chosen in (
        ids,
        {topic: ids[topic]},
        {},
        {topic: ids[other], other: ids[topic]},
        {topic: b"x" * 16, other: ids[other]},
        {topic: ids[topic], other: ids[topic]},
    ):
        probe.exchange(commit(group, (topic, {0: 1, 5: 1}), (other, {0: 2}), ids=chosen), 10, note=str(len(chosen)))
        probe.exchange(fetch_offsets(group, (topic, [0, 5]), (other, [0]), ids=chosen), 10, note=str(len(chosen)))
    probe.exchange(fetch_offsets(group, everything=True), 10)
    probe.exchange(fetch_offsets(group, everything=True), 9)
    probe.exchange(commit(group, (topic, {}), ids=ids), 10, note="no partitions")
    probe.exchange(commit(group, ids=ids), 10, note="no topics")
