"""ListGroups, DescribeGroups, DeleteGroups and OffsetDelete, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from protocol_specs.messages.describe_groups import DescribeGroupsRequest
from protocol_specs.messages.list_groups import ListGroupsRequest
from protocol_specs.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.differential.case import case
from tests.differential.group_requests import (
    NO_DELAY,
    Member,
    await_state,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    list_own_groups,
    stable_one,
    stable_pair,
    subscription,
)
from tests.differential.requests import all_versions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def offset_delete(group: str, *topics: tuple[str, list[int]]) -> OffsetDeleteRequest:
    """An OffsetDelete of topics with their partitions."""
    return OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(
                name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
            )
            for name, indexes in topics
        ],
    )


@case(settings=NO_DELAY)
def groups_are_described_in_the_order_of_the_request(probe: Probe) -> None:
    group_of(probe)
    names = [f"{probe.name}-{number}" for number in (1, 2, 1, 3, 2, 4, 5, 1)]
    probe.exchange(describe_groups(*names, "", names[0]), 5)


@case(settings=(*NO_DELAY, ("group.max.size", "99")))
def groups_are_listed_in_the_order_of_a_hash_table(probe: Probe) -> None:
    """The cluster is the case's own: the size of the table depends on the number of groups."""
    topic = probe.topic()
    group_of(probe)
    groups = [f"{probe.name}-{number}" for number in range(10)]
    for count, group in enumerate(groups, 1):
        probe.quiet(commit(group, (topic, {0: 1})), 8)
        if count in {3, 7, 10}:
            probe.exchange(ListGroupsRequest(), 4, note=f"{count} groups")
    probe.exchange(DeleteGroupsRequest(groups_names=groups[3:9]), 2)
    probe.exchange(ListGroupsRequest(), 4, note="after deletions")


@case(settings=NO_DELAY)
def groups_of_every_state_are_listed(probe: Probe) -> None:
    topic = probe.topic()
    group_of(probe)
    probe.exchange(commit(f"{probe.name}-simple", (topic, {0: 1})), 8)
    stable_one(probe, f"{probe.name}-stable", protocol_type="connect")
    left = stable_one(probe, f"{probe.name}-empty")
    left.leave()
    completing = Member(probe, f"{probe.name}-completing")
    completing.join()
    first, _ = stable_pair(probe, f"{probe.name}-preparing")
    first.start_join()
    await_state(probe, first.group, "PreparingRebalance")
    Member(probe, f"{probe.name}-pending").learn_id()
    for version in all_versions(ListGroupsRequest):
        list_own_groups(probe, version)
        for states in (
            ["Stable"],
            ["stable"],
            ["EMPTY", "PreparingRebalance"],
            ["CompletingRebalance"],
            ["Dead"],
            ["none"],
            [""],
            ["Assigning"],
            ["Reconciling"],
            ["NotReady"],
        ):
            list_own_groups(probe, version, states=states, note=str(states))
        for types in (["classic"], ["Classic"], ["consumer"], ["share"], ["streams"], ["none"], [""], ["unknown"]):
            if version >= 5:
                list_own_groups(probe, version, types=types, note=str(types))
        if version >= 5:
            list_own_groups(probe, version, types=["classic", "consumer"], states=["Empty"], note="both")
    for suffix in ("simple", "stable", "empty", "completing", "preparing", "pending"):
        for version in all_versions(DescribeGroupsRequest):
            request = describe_groups(f"{probe.name}-{suffix}", include_authorized_operations=True)
            probe.exchange(request, version, note=suffix)


@case(settings=NO_DELAY)
def groups_that_cannot_be_described(probe: Probe) -> None:
    group = group_of(probe)
    for version in all_versions(DescribeGroupsRequest):
        for operations in (False, True):
            for groups in ([group], [""], [], [group, group], [group, "", f"{group}-2"]):
                request = describe_groups(*groups, include_authorized_operations=operations)
                probe.exchange(request, version, note=f"{len(groups)} {operations}")


@case(settings=NO_DELAY)
def static_members_are_described(probe: Probe) -> None:
    group = group_of(probe)
    member = stable_one(probe, group, instance="an instance")
    for version in all_versions(DescribeGroupsRequest):
        probe.exchange(describe_groups(group), version)
    member.heartbeat()


@case(settings=NO_DELAY)
def groups_are_deleted(probe: Probe) -> None:
    topic = probe.topic()
    for version in all_versions(DeleteGroupsRequest):
        simple, empty, stable = (group_of(probe, f"{name}{version}") for name in ("simple", "empty", "stable"))
        probe.exchange(commit(simple, (topic, {0: 1})), 8)
        stable_one(probe, empty).leave()
        member = stable_one(probe, stable)
        pending = group_of(probe, f"pending{version}")
        Member(probe, pending).learn_id()
        for groups in ([], [""], ["unknown"], [simple, empty, stable, "unknown", ""], [pending], [simple], [empty]):
            probe.exchange(DeleteGroupsRequest(groups_names=groups), version, note=f"{len(groups)} groups")
        twice = group_of(probe, f"twice{version}")
        probe.exchange(commit(twice, (topic, {0: 1})), 8)
        probe.exchange(DeleteGroupsRequest(groups_names=[twice, twice]), version, note="twice")
        member.heartbeat()
        for group in (simple, empty, stable, twice):
            probe.exchange(describe_groups(group), 5)
            probe.exchange(fetch_offsets(group, everything=True), 7)
    list_own_groups(probe, 4)


@case(settings=NO_DELAY)
def offsets_of_simple_groups_are_deleted(probe: Probe) -> None:
    topic, other = probe.topic(partitions=2), probe.topic("u")
    group = group_of(probe)
    for name in (group, "", "unknown"):
        probe.exchange(offset_delete(name, (topic, [0])), 0, note=f"no group {name[:1]}")
        probe.exchange(offset_delete(name), 0, note="no topics")
        probe.exchange(offset_delete(name, ("unknown", [0])), 0, note="an unknown topic")
    probe.exchange(commit(group, (topic, {0: 1, 1: 2}), (other, {0: 3})), 8)
    probe.exchange(offset_delete(group, (topic, [0, 7, -1]), ("unknown", [0])), 0, note="some are unknown")
    probe.exchange(fetch_offsets(group, everything=True), 7)
    probe.exchange(offset_delete(group, (topic, [])), 0, note="no partitions")
    probe.exchange(offset_delete(group, (topic, [0])), 0, note="it is deleted already")
    probe.exchange(offset_delete(group, (topic, [1, 1]), (other, [0])), 0, note="the others")
    probe.exchange(fetch_offsets(group, everything=True), 7)
    probe.exchange(describe_groups(group), 5)
    list_own_groups(probe, 4)


@case(settings=NO_DELAY)
def offsets_of_groups_with_members_are_deleted(probe: Probe) -> None:
    topic, other = probe.topic(), probe.topic("u")
    for number, (protocol_type, data) in enumerate(
        (
            ("consumer", subscription(topic)),
            ("consumer", subscription(topic, version=1)),
            ("consumer", subscription(topic) + b"more"),
            ("consumer", b""),
            ("connect", subscription(topic)),
        )
    ):
        group = group_of(probe, f"g{number}")
        member = Member(probe, group, protocol_type=protocol_type, protocols=(("range", data),))
        member.join(note=f"{protocol_type} {data!r}")
        probe.exchange(offset_delete(group, (topic, [0]), (other, [0])), 0, note="completing")
        member.sync({member.id: b"a"})
        member.commit((topic, {0: 1}), (other, {0: 2}))
        probe.exchange(offset_delete(group, (topic, [0, 5]), (other, [0])), 0, note="stable")
        probe.exchange(fetch_offsets(group, everything=True), 7)
        member.leave()
        probe.exchange(offset_delete(group, (topic, [0])), 0, note="empty")
        probe.exchange(fetch_offsets(group, everything=True), 7)


@case(settings=NO_DELAY)
def bodies_that_are_wrong(probe: Probe) -> None:
    group_of(probe)
    for api_key, version, body, note in (
        (15, 0, b"", "empty DescribeGroups"),
        (15, 0, b"\xff\xff\xff\xff", "null groups"),
        (15, 0, b"\0\0\0\1\xff\xff", "a null group"),
        (42, 0, b"\xff\xff\xff\xff", "null groups"),
        (42, 2, b"\0\0", "null groups"),
        (47, 0, b"\xff\xff\0\0\0\0", "a null group"),
        (47, 0, b"\0\1g\xff\xff\xff\xff", "null topics"),
        (16, 4, b"\0\0", "null states"),
        (12, 0, b"\0\1g", "a cut Heartbeat"),
        (13, 3, b"\0\1g\xff\xff\xff\xff", "null members"),
        (14, 0, b"\0\1g\0\0\0\1\0\1m\xff\xff\xff\xff", "null assignments"),
    ):
        probe.raw_body(api_key, version, body, note=note)


@case(settings=NO_DELAY)
def subscriptions_decide_what_is_deleted(probe: Probe) -> None:
    topics = [probe.topic(suffix) for suffix in ("t", "u", "v")]
    group = group_of(probe)
    member = Member(
        probe, group, protocols=(("range", subscription(topics[0])), ("roundrobin", subscription(topics[1])))
    )
    probe.exchange(commit(group, *((topic, {0: 1}) for topic in topics)), 8)
    everything = [(topic, [0]) for topic in topics]
    probe.exchange(offset_delete(group, *everything[2:]), 0, note="no members")
    member.join()
    probe.exchange(offset_delete(group, *everything), 0, note="completing")
    member.sync({member.id: b"all"})
    probe.exchange(offset_delete(group, *everything), 0, note="stable")
    member.protocols = (("range", b"garbage"),)
    member.join(note="garbage")
    probe.exchange(offset_delete(group, *everything), 0, note="garbage")
    member.leave()
    probe.exchange(offset_delete(group, *everything), 0, note="empty")
