"""Offsets, descriptions and deletion of consumer groups, and classic members in them, as raw probes see them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from tests.differential.case import case
from tests.differential.cases.describe_configs import describe
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.config_requests import DELETE, GROUP, SET, await_value, incremental
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_records import write_records
from tests.differential.group_requests import (
    OFFSETS_TOPIC,
    Member,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    heartbeat,
    join,
    leave,
    list_own_groups,
    stable_one,
    subscription,
    sync,
)
from tests.differential.modern_requests import AT_ONCE, Consumer, consumer_describe, consumer_heartbeat
from tests.differential.steady_ids import draw_member_id

if TYPE_CHECKING:
    from tests.differential.probe import Probe

ONLY_NEW = ("4.3.1",)


@case(settings=AT_ONCE)
def offsets_of_members(probe: Probe) -> None:
    topic, other = known_topic(probe, partitions=2), known_topic(probe, "u")
    ids = {topic: probe.topic_id(topic), other: probe.topic_id(other)}
    group = group_of(probe)
    member = Consumer(probe, group, "m1", [topic])
    member.join()
    for version in range(1 if probe.release == "3.7.2" else 2, 11):
        for member_id, generation in (
            ("m1", member.epoch),
            ("m1", member.epoch + 1),
            ("m1", member.epoch - 1),
            ("m1", -1),
            ("stranger", member.epoch),
            ("", -1),
            ("", member.epoch),
        ):
            request = commit(group, (topic, {0: version}), member_id=member_id, generation=generation, ids=ids)
            probe.exchange(request, version, note=f"{member_id} {generation}")
    for version in (8, 9, 10):
        for member_id, epoch in (
            ("m1", member.epoch),
            ("m1", member.epoch + 1),
            ("m1", member.epoch - 1),
            ("m1", -1),
            ("stranger", member.epoch),
            (None, -1),
            ("", -1),
            (None, member.epoch),
        ):
            request = fetch_offsets(group, (topic, [0, 1]), member_id=member_id, member_epoch=epoch, ids=ids)
            probe.exchange(request, version, note=f"{member_id} {epoch}")
    probe.exchange(offset_delete(group, (topic, [0]), (other, [0]), ("unknown", [0])), 0)
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
    member.leave()
    probe.exchange(commit(group, (topic, {0: 9}), member_id="m1", generation=member.epoch), 9, note="it has left")
    probe.exchange(commit(group, (topic, {0: 9})), 9, note="an empty group")
    probe.exchange(offset_delete(group, (topic, [1])), 0)
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
    probe.exchange(fetch_offsets(group, everything=True), 7)
    list_own_groups(probe, 4)
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def descriptions(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    classic = stable_one(probe, group_of(probe, "classic"))
    for version in (0, 1):
        for operations in (False, True):
            for groups in ([], [""], [group], [classic.group], [group, group], [group, classic.group, ""]):
                request = ConsumerGroupDescribeRequest(group_ids=groups, include_authorized_operations=operations)
                probe.exchange(request, version, note=f"{len(groups)} {operations}")
    member = Consumer(probe, group, "m1", [topic, "unknown"], rack="a rack", instance="i", assignor="range")
    member.join()
    for version in (0, 1):
        for operations in (False, True):
            probe.exchange(consumer_describe(group, include_authorized_operations=operations), version)
    for version in range(7):
        probe.exchange(describe_groups(group), version)
    for types in (["consumer"], ["Consumer"], ["classic"], ["consumer", "classic"]):
        list_own_groups(probe, 5, types=types)
    for states in (["stable"], ["Assigning"], ["reconciling"]):
        list_own_groups(probe, 5, states=states)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def a_classic_member_joins(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    member = Consumer(probe, group, "m1", [topic])
    member.join()
    member.report()
    probe.exchange(join(group, protocol_type="connect"), 9, note="another type")
    probe.exchange(join(group, protocols=(("range", b"garbage"),)), 9, note="garbage")
    probe.exchange(join(group, protocols=()), 9, note="no protocols")
    classic = Member(probe, group, protocols=(("range", subscription(topic, version=1)),))
    classic.learn_id()
    classic.id = draw_member_id(probe, group, beside=member.id)
    classic.join(note="with an id")
    probe.exchange(consumer_describe(group), 1)
    classic.sync()
    member.beat(note="it has to revoke")
    member.report()
    classic.heartbeat()
    classic.join(note="after the heartbeat")
    classic.sync()
    classic.heartbeat()
    classic.commit((topic, {0: 5}))
    classic.commit((topic, {0: 5}), generation=99, note="another generation")
    classic.commit((topic, {0: 5}), version=6, note="an old version")
    probe.exchange(consumer_describe(group), 1)
    probe.exchange(describe_groups(group), 5)
    member.leave(note="the last member of the new protocol leaves")
    probe.exchange(consumer_describe(group), 1)
    probe.exchange(describe_groups(group), 5)
    classic.heartbeat()
    classic.join(note="in a classic group")
    classic.sync({classic.id: b"all"})
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def a_classic_member_waits_for_the_next_assignment(probe: Probe) -> None:
    topic = known_topic(probe, partitions=3)
    group = group_of(probe)
    members = [Consumer(probe, group, name, [topic]) for name in ("m1", "m2")]
    for member in members:
        member.join()
    classic = Member(probe, group, protocols=(("range", subscription(topic, version=1)),))
    classic.learn_id()
    classic.id = draw_member_id(probe, group, beside="m1")
    classic.join(note="with an id")
    members[1].leave(note="the group has a new epoch, but no assignment of that epoch")
    probe.exchange(consumer_describe(group), 1, note="the assignment is older")
    classic.heartbeat(note="before the next assignment")
    classic.sync(note="before the next assignment")
    members[0].beat(note="makes the assignment")
    classic.heartbeat(note="after the next assignment")
    classic.sync(note="after the next assignment")
    probe.exchange(consumer_describe(group), 1, note="the assignment is new")


@case(settings=AT_ONCE, releases=ONLY_NEW)
def a_classic_member_joins_with_an_id_of_its_own(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    Consumer(probe, group, "m1", [topic]).join()
    right = subscription(topic, version=1)
    request = join(group, member_id="stranger", protocols=(("range", right),))
    classic: Any = probe.exchange(request, 9, note="an unknown member")
    probe.exchange(consumer_describe(group), 1)
    probe.exchange(heartbeat(group, classic.generation_id, "stranger"), 4)
    probe.exchange(sync(group, classic.generation_id, "stranger"), 5)
    for protocols in ((("range", right), ("roundrobin", right)), (("range", b"garbage"),), (("range", b""),)):
        request = join(group, member_id="other", protocols=protocols)
        probe.exchange(request, 9, note=str([(name, data[-3:]) for name, data in protocols]))
    probe.exchange(leave(group, ("stranger", None), ("m1", None), ("none", None)), 5)
    probe.exchange(consumer_describe(group), 1)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def a_classic_group_is_upgraded(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    topic_id = probe.topic_id(topic)
    group = group_of(probe)
    classic = Member(probe, group, protocols=(("range", subscription(topic, version=1)),))
    classic.id = draw_member_id(probe, group, beside="m1")
    classic.join()
    assignment = (
        b"\0\1\0\0\0\1" + len(topic).to_bytes(2, "big") + topic.encode() + b"\0\0\0\2\0\0\0\0\0\0\0\1\xff\xff\xff\xff"
    )
    classic.sync({classic.id: assignment})
    member = Consumer(probe, group, "m1", [topic])
    member.join()
    probe.exchange(consumer_describe(group), 1)
    classic.heartbeat()
    classic.commit((topic, {0: 5}))
    classic.join()
    classic.sync()
    member.beat()
    member.beat(owned={topic_id: [0]}, note="it owns one")
    probe.exchange(consumer_describe(group), 1)
    classic.leave()
    member.beat()
    probe.exchange(consumer_describe(group), 1)
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=(*AT_ONCE, ("group.consumer.migration.policy", "disabled")), releases=ONLY_NEW)
def migration_that_is_disabled(probe: Probe) -> None:
    topic = known_topic(probe)
    group = group_of(probe)
    classic = stable_one(probe, group, protocols=(("range", subscription(topic)),))
    Consumer(probe, group, "m1", [topic]).join(note="a classic group")
    classic.leave()
    member = Consumer(probe, group, "m1", [topic])
    member.join(note="an empty classic group")
    other = Member(probe, group, protocols=(("range", subscription(topic)),))
    other.join(note="a consumer group")
    member.leave()
    probe.exchange(other.join_request, 9, note="an empty consumer group")


@case(settings=AT_ONCE)
def configurations_of_groups(probe: Probe) -> None:
    group = group_of(probe)
    probe.exchange(describe((GROUP, group)), 4)
    probe.exchange(describe((GROUP, "")), 4)
    for name, value in (
        ("consumer.session.timeout.ms", "50000"),
        ("consumer.session.timeout.ms", "1"),
        ("consumer.session.timeout.ms", "x"),
        ("consumer.heartbeat.interval.ms", "6000"),
        ("consumer.heartbeat.interval.ms", "70000"),
        ("share.record.lock.duration.ms", "20000"),
        ("share.auto.offset.reset", "earliest"),
        ("share.auto.offset.reset", "never"),
        ("share.isolation.level", "read_committed"),
        ("streams.num.standby.replicas", "1"),
        ("streams.num.standby.replicas", "9"),
        ("unknown", "1"),
    ):
        probe.exchange(incremental((GROUP, group, [(name, SET, value)])), 1, note=f"{name}={value}")
    probe.exchange(incremental((GROUP, "", [("consumer.session.timeout.ms", SET, "50000")])), 1, note="an empty name")
    if probe.release == "4.3.1":
        await_value(probe, GROUP, group, "consumer.heartbeat.interval.ms", "6000")
        probe.exchange(describe((GROUP, group), synonyms=True), 4)
        Consumer(probe, group, "m1", ["t"]).join(note="with its interval")
        probe.exchange(incremental((GROUP, group, [("consumer.heartbeat.interval.ms", DELETE, None)])), 1)
        probe.exchange(consumer_heartbeat(group, "m1", -1), 1)
