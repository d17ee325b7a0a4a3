"""ShareGroupHeartbeat and ShareGroupDescribe, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from tests.differential.case import case
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_records import write_records
from tests.differential.group_requests import (
    OFFSETS_TOPIC,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    join,
    list_own_groups,
    stable_one,
)
from tests.differential.modern_requests import consumer_describe, consumer_heartbeat
from tests.differential.share_requests import (
    ONLY_NEW,
    SHARE,
    ShareConsumer,
    share_describe,
    share_group_of,
    share_heartbeat,
)
from tests.differential.steady_ids import topic_of_ordered_partitions

if TYPE_CHECKING:
    from tests.differential.probe import Probe


@case(settings=SHARE, releases=ONLY_NEW)
def requests_that_are_invalid(probe: Probe) -> None:
    group = share_group_of(probe)
    right: dict[str, Any] = {"topics": ["t"]}
    for name, member, epoch, changes in (
        ("", "m", 0, {}),
        (group, "", 0, {}),
        (group, "", 1, {}),
        (group, "x" * 36, -1, {}),
        (group, "x" * 37, 0, {}),
        (group, "m", 0, {"rack": ""}),
        (group, "m", 0, {"topics": None}),
        (group, "m", 0, {"topics": [""]}),
        (group, "m", -1, {}),
        (group, "m", -2, {}),
        (group, "m", 1, {}),
    ):
        request = share_heartbeat(name, member, epoch, **(right | changes))
        probe.exchange(request, 1, note=f"{name[-1:]} {member[:2]} {epoch} {list(changes.items())}")
    list_own_groups(probe, 5)


@case(settings=SHARE, releases=ONLY_NEW)
def one_member(probe: Probe) -> None:
    topic, other = known_topic(probe, partitions=2), known_topic(probe, "u")
    group = share_group_of(probe)
    member = ShareConsumer(probe, group, "m1", [topic])
    member.join()
    member.await_assignment(2)
    member.beat(topics=[topic], note="a full request")
    member.beat()
    probe.exchange(share_describe(group), 1)
    member.beat(topics=[topic, other], note="another topic")
    member.await_assignment(3)
    member.beat(topics=[topic, other], note="a full request")
    for epoch in (member.epoch + 1, member.epoch - 1, member.epoch - 2):
        probe.exchange(share_heartbeat(group, "m1", epoch), 1, note=f"{epoch - member.epoch:+}")
    probe.exchange(share_heartbeat(group, "stranger", member.epoch), 1)
    probe.exchange(share_heartbeat(group, "stranger", -1), 1)
    for include in (False, True):
        probe.exchange(share_describe(group, include_authorized_operations=include), 1)
    member.leave()
    member.leave(note="again")
    member.beat(note="too late")
    probe.exchange(share_describe(group), 1)
    for version in range(6):
        list_own_groups(probe, version)
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
    list_own_groups(probe, 5)
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=SHARE, releases=ONLY_NEW)
def several_members(probe: Probe) -> None:
    topic = topic_of_ordered_partitions(probe, partitions=3)
    group = share_group_of(probe)
    members = [ShareConsumer(probe, group, f"m{number}", [topic]) for number in range(1, 5)]
    members[0].join()
    members[0].await_assignment(3)
    for count in (2, 3, 4):
        members[count - 1].join()
        for each in members[:count]:
            each.beat()
        probe.exchange(share_describe(group), 1, note=f"{count} members")
    for count in (1, 2, 3):
        members[count - 1].leave()
        for each in members[count:]:
            each.beat()
        probe.exchange(share_describe(group), 1, note=f"{count} have left")


@case(settings=SHARE, releases=ONLY_NEW)
def members_that_change_their_topics(probe: Probe) -> None:
    topic, other, third = (known_topic(probe, suffix) for suffix in ("t", "u", "v"))
    group = share_group_of(probe)
    first, second = ShareConsumer(probe, group, "m1", [topic]), ShareConsumer(probe, group, "m2", [topic, other])
    first.join()
    first.await_assignment(1)
    second.join()
    second.await_assignment(2)
    second.beat(topics=[other], note="a topic less, to which the other member subscribes")
    first.beat()
    second.beat(topics=[third], note="another topic")
    second.await_assignment(1)
    first.beat()
    probe.exchange(share_describe(group), 1)
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=SHARE, releases=ONLY_NEW)
def groups_of_another_type(probe: Probe) -> None:
    topic = known_topic(probe)
    ids = {topic: probe.topic_id(topic)}
    classic, share, consumer = group_of(probe, "classic"), share_group_of(probe, "share"), group_of(probe, "consumer")
    stable_one(probe, classic)
    ShareConsumer(probe, share, "m1", [topic]).join()
    probe.exchange(consumer_heartbeat(consumer, "m1", 0, topics=[topic], owned={}, rebalance_ms=10_000), 1)
    probe.exchange(share_heartbeat(classic, "m", 0, topics=[topic]), 1, note="a classic group")
    probe.exchange(share_heartbeat(consumer, "m", 0, topics=[topic]), 1, note="a consumer group")
    probe.exchange(share_heartbeat(classic, "m", 1), 1, note="a classic group")
    probe.exchange(consumer_heartbeat(share, "m1", 0, topics=[topic], owned={}, rebalance_ms=10_000), 1)
    probe.exchange(consumer_heartbeat(share, "m1", 1), 1)
    probe.exchange(join(share), 9)
    probe.exchange(join(share, member_id="m1"), 5)
    for version in (8, 9, 10):
        probe.exchange(commit(share, (topic, {0: 1}), ids=ids), version)
        probe.exchange(fetch_offsets(share, (topic, [0]), ids=ids), version)
        probe.exchange(fetch_offsets(share, everything=True), version)
    probe.exchange(offset_delete(share, (topic, [0])), 0)
    probe.exchange(DeleteGroupsRequest(groups_names=[share]), 2)
    for version in (0, 5, 6):
        probe.exchange(describe_groups(share), version)
    probe.exchange(consumer_describe(share), 1)
    probe.exchange(share_describe(classic, consumer, share, "", "unknown"), 1)
    for types in (["share"], ["Share"], ["classic", "share"]):
        list_own_groups(probe, 5, types=types)
    for states in (["Stable"], ["Empty"], ["Assigning"]):
        list_own_groups(probe, 5, states=states)


@case(settings=(*SHARE, ("group.share.max.size", "1")), releases=ONLY_NEW)
def groups_that_are_full(probe: Probe) -> None:
    topic = known_topic(probe)
    group = share_group_of(probe)
    ShareConsumer(probe, group, "m1", [topic]).join()
    ShareConsumer(probe, group, "m2", [topic]).join()
