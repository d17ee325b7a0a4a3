"""Consumer groups of 3.7's preview: its assignors, its reconciliation, and requests to groups of another type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from protocol_specs.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.delete_groups import DeleteGroupsRequest
from tests.differential.case import case
from tests.differential.cases.group_coordinator import find, txn_commit
from tests.differential.cases.groups_admin import offset_delete
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_records import records_of, write_records
from tests.differential.group_requests import (
    NO_DELAY,
    OFFSETS_TOPIC,
    commit,
    describe_groups,
    fetch_offsets,
    group_of,
    heartbeat,
    join,
    leave,
    list_own_groups,
    stable_one,
    sync,
)
from tests.differential.modern_requests import AT_ONCE, Consumer, consumer_heartbeat
from tests.differential.steady_ids import topics_in_id_order

if TYPE_CHECKING:
    from tests.differential.probe import Probe

ONLY_PREVIEW: Final = ("3.7.2",)
TOPICS_OF_GROUP: Final = b"\0\4"
"""The type of the key of a record of the subscribed topics."""

RACKS: Final = (("1:broker.rack", "a"), ("2:broker.rack", "b"), ("3:broker.rack", "c"))


def topic_on(probe: Probe, suffix: str, *replicas: list[int]) -> str:
    """Create a topic whose partitions have these replicas."""
    name = f"{probe.name}-{suffix}"
    assignments = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=brokers) for index, brokers in enumerate(replicas)
    ]
    topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments)
    created: Any = probe.quiet(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
    assert created.topics[0].error_code == 0, created
    probe.await_topic(name, len(replicas))
    return name


def settle(members: list[Consumer], rounds: int = 3) -> None:
    """Let members report what they are assigned, several times each."""
    for _ in range(rounds):
        for member in members:
            member.report()


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def members_with_equal_topics(probe: Probe) -> None:
    topics = topics_in_id_order(probe, t=4, u=3, v=7)
    group = group_of(probe)
    members = [Consumer(probe, group, f"m{number}", topics, assignor="uniform") for number in range(4)]
    for count, member in enumerate(members, 1):
        member.join()
        settle(members[:count])
    members[1].leave()
    settle([members[0], *members[2:]])
    members[0].beat(topics=[*topics, "unknown"], note="an unknown topic is none")
    settle([members[0], *members[2:]])
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def members_with_different_topics(probe: Probe) -> None:
    topics = topics_in_id_order(probe, t=3, u=5, v=8)
    for place, subscriptions in enumerate(
        (
            ((0,), (0, 1), (0, 1, 2)),
            ((2,), (2, 1), (1,), (2,)),
            ((1, 2), (0, 2), (2,), (0, 1, 2)),
            ((0, 1, 2), (1,), (2,), (2, 1)),
        )
    ):
        group = group_of(probe, f"g{place}")
        members = [
            Consumer(probe, group, f"m{number}", [topics[each] for each in chosen])
            for number, chosen in enumerate(subscriptions)
        ]
        for count, member in enumerate(members, 1):
            member.join()
            settle(members[:count], 2)
        members[0].beat(topics=topics, note="all topics")
        settle(members)
        members[-1].leave()
        settle(members[:-1], 2)


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def ranges_that_stay(probe: Probe) -> None:
    topics = topics_in_id_order(probe, t=7, u=4)
    group = group_of(probe)
    members = [Consumer(probe, group, f"m{number}", topics, assignor="range") for number in range(4)]
    for count, member in enumerate(members, 1):
        member.join()
        settle(members[:count], 2)
    members[2].beat(topics=topics[:1], note="one topic")
    settle(members)
    members[0].leave()
    settle(members[1:])
    members[0].join(note="joins again")
    settle(members)


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def members_without_topics(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    first = Consumer(probe, group, "m1", [topic])
    first.join()
    Consumer(probe, group, "m2", ["unknown"]).join(note="an unknown topic")
    list_own_groups(probe, 4)
    first.beat(topics=[topic, "unknown"], note="so has the first")
    Consumer(probe, group, "m2", ["unknown"]).join(note="again")
    probe.exchange(consumer_heartbeat(group, "m2", 0), 0, note="without its fields")
    probe.exchange(consumer_heartbeat(group, "m2", -1), 0, note="leaves")
    Consumer(probe, group, "m3", ["unknown"], assignor="range").join(note="another assignor")
    first.beat(assignor="range", note="so does the first")
    first.leave()
    first.join(note="alone with those that failed")
    list_own_groups(probe, 4)
    lonely = group_of(probe, "lonely")
    Consumer(probe, lonely, "m1", ["unknown"]).join(note="the only member")
    list_own_groups(probe, 4)
    write_records(probe, OFFSETS_TOPIC, group)


@case(brokers=3, settings=(*AT_ONCE, *RACKS), releases=ONLY_PREVIEW)
def members_in_racks(probe: Probe) -> None:
    topic = topic_on(probe, "t", [1], [2], [3], [1], [2], [1])
    other = topic_on(probe, "u", [3], [3], [2], [1])
    probe.use(find(probe, f"{probe.name}-g0", 1))
    for place, (racks, topics) in enumerate(
        (
            (("a", "b", "c"), (topic,)),
            (("a", None, "a"), (topic,)),
            (("c", "c", "b"), (topic,)),
            (("elsewhere", "none"), (topic,)),
            (("b", "a"), (other,)),
        )
    ):
        group = group_of(probe, "g0")
        members = [Consumer(probe, group, f"m{place}-{number}", topics, rack=rack) for number, rack in enumerate(racks)]
        for count, member in enumerate(members, 1):
            member.join()
            settle(members[:count], 2)
        settle(members)
        members[0].beat(rack="c", note="in another rack")
        settle(members)
        for member in members:
            member.leave()
    members = [
        Consumer(probe, group, "m0", [topic], rack="a"),
        Consumer(probe, group, "m1", [topic, other], rack="c"),
        Consumer(probe, group, "m2", [other], rack="b"),
        Consumer(probe, group, "m3", [topic]),
    ]
    for count, member in enumerate(members, 1):
        member.join(note=f"{member.id} joins a group of different topics")
        settle(members[:count], 2)
    settle(members)


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def targets_that_change_while_a_member_revokes(probe: Probe) -> None:
    topic = known_topic(probe, partitions=6)
    topic_id = probe.topic_id(topic)
    group = group_of(probe)
    first, second, third = (Consumer(probe, group, name, [topic]) for name in ("m1", "m2", "m3"))
    first.join()
    first.report()
    second.join()
    first.beat(note="it has to revoke")
    third.join()
    first.beat(note="it has to revoke more")
    first.beat(owned={topic_id: list(range(6))}, note="it owns all")
    second.leave()
    first.beat(note="it has to revoke less")
    first.beat(owned={}, note="it owns nothing")
    first.beat(owned={topic_id: [0]}, note="it owns one")
    first.report()
    third.report()
    third.leave()
    first.beat(topics=[], note="no topics")
    first.beat(topics=[topic], owned={}, note="with topics again")
    first.report()
    list_own_groups(probe, 4)
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def partitions_that_are_assigned_again_before_they_are_revoked(probe: Probe) -> None:
    """They count as free then: another member gets them while the first one still has them."""
    topic = known_topic(probe, partitions=6)
    group = group_of(probe)
    first, second, third = (Consumer(probe, group, name, [topic]) for name in ("m1", "m2", "m3"))
    first.join()
    first.report()
    second.join()
    first.beat(note="it has to revoke")
    second.leave()
    first.beat(note="it has them again")
    second.join(note="m2 gets them at once")
    first.beat(note="it has to revoke them")
    third.join(note="m3 joins, too")
    first.beat(note="it has to revoke more")
    second.report()
    first.report()
    settle([first, second, third], 2)
    second.leave()
    settle([first, third], 2)
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def static_members_that_come_back(probe: Probe) -> None:
    topic, other = known_topic(probe, partitions=3), known_topic(probe, "u")
    group = group_of(probe)
    first, second = (Consumer(probe, group, name, [topic], instance=f"i-{name}") for name in ("m1", "m2"))
    first.join()
    second.join()
    settle([first, second])
    first.leave(-2, note="pauses")
    list_own_groups(probe, 4)
    first.join(note="with the same id")
    first.leave(-2, note="pauses again")
    new = Consumer(probe, group, "m3", [topic, other], instance="i-m1", rack="r", assignor="range")
    new.join(note="another id, another topic")
    settle([new, second])
    new.leave(-2, note="pauses")
    newer = Consumer(probe, group, "m4", [topic, other], instance="i-m1")
    newer.join(note="another id, the same topics")
    settle([newer, second])
    probe.exchange(consumer_heartbeat(group, "m3", -1, instance="i-m1"), 0, note="the one that was replaced leaves")
    newer.leave()
    second.leave(-1)
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def assignors_that_are_preferred(probe: Probe) -> None:
    topic = known_topic(probe, partitions=5)
    group = group_of(probe)
    members = [
        Consumer(probe, group, f"m{number}", [topic], assignor=assignor)
        for number, assignor in enumerate(("range", "uniform", "range", None, "uniform"))
    ]
    for count, member in enumerate(members, 1):
        member.join()
        settle(members[:count], 2)
    for member, assignor in ((members[0], "uniform"), (members[3], "range"), (members[2], "uniform")):
        member.beat(assignor=assignor, note=f"{member.id} prefers {assignor}")
        settle(members, 2)


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def many_partitions(probe: Probe) -> None:
    topic = known_topic(probe, partitions=60)
    group = group_of(probe)
    members = [Consumer(probe, group, f"m{number}", [topic]) for number in range(3)]
    for count, member in enumerate(members, 1):
        member.join()
        settle(members[:count])
    members[0].leave()
    settle(members[1:])
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def classic_requests_to_a_consumer_group(probe: Probe) -> None:
    topic = known_topic(probe)
    group = group_of(probe)
    for version in (0, 3, 4, 9):
        probe.exchange(join(group, member_id="stranger"), version, note="no group")
    probe.exchange(sync(group, 1, "stranger"), 5, note="no group")
    probe.exchange(heartbeat(group, 1, "stranger"), 4, note="no group")
    probe.exchange(leave(group, ("stranger", None)), 5, note="no group")
    member = Consumer(probe, group, "m1", [topic], instance="i")
    member.join()
    for note in ("a consumer group", "an empty one"):
        for version in range(10):
            probe.exchange(join(group), version, note=note)
        for request in (
            join(group, member_id="m1"),
            join(group, instance="i"),
            join(group, protocol_type="connect"),
            join(group, protocols=()),
            join(group, session_ms=1),
        ):
            probe.exchange(request, 9, note=note)
        for version in range(6):
            probe.exchange(sync(group, 1, "m1"), version, note=note)
            probe.exchange(leave(group, ("m1", None), ("", "i"), ("none", None)), version, note=note)
        for version in range(5):
            probe.exchange(heartbeat(group, 1, "m1"), version, note=note)
        for version in range(6):
            probe.exchange(describe_groups(group), version, note=note)
        probe.exchange(commit(group, (topic, {0: 1})), 8, note=note)
        probe.exchange(commit(group, (topic, {0: 1}), generation=1, member_id="m1"), 8, note=note)
        probe.exchange(fetch_offsets(group, everything=True, require_stable=True), 7, note=note)
        probe.exchange(offset_delete(group, (topic, [0, 1])), 0, note=note)
        probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2, note=note)
        list_own_groups(probe, 4)
        if note == "a consumer group":
            member.leave()


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def consumers_of_groups_that_are_not_theirs(probe: Probe) -> None:
    topic = known_topic(probe)
    group = group_of(probe)
    for epoch in (-2, -1, 1):
        probe.exchange(consumer_heartbeat(group, "m1", epoch, instance="i"), 0, note="no group")
    classic = stable_one(probe, group)
    member = Consumer(probe, group, "m1", [topic])
    for note in ("a classic group", "an empty one"):
        member.join(note=note)
        for epoch in (-2, -1, 1):
            probe.exchange(consumer_heartbeat(group, "m1", epoch, instance="i"), 0, note=note)
        classic.leave()
    probe.exchange(DeleteGroupsRequest(groups_names=[group]), 2)
    member.join(note="a deleted one")
    simple = group_of(probe, "simple")
    probe.exchange(commit(simple, (topic, {0: 1})), 8)
    Consumer(probe, simple, "m1", [topic]).join(note="a simple group")


@case(settings=AT_ONCE, releases=ONLY_PREVIEW)
def offsets_of_the_new_coordinator(probe: Probe) -> None:
    topic, other = known_topic(probe, partitions=2), known_topic(probe, "u")
    group = group_of(probe)
    for version in (1, 5, 9):
        probe.exchange(commit(group, (topic, {0: 1}), generation=3, member_id="m"), version, note="no group")
    for version in range(4):
        for fields in ({}, {"generation_id": 1, "member_id": "m"}, {"group_instance_id": "i"}):
            request = txn_commit(group, topic, **(fields if version == 3 else {}))
            probe.exchange(request, version, note=f"a transaction {list(fields)}")
    list_own_groups(probe, 4)
    probe.exchange(commit(group, (topic, {0: 1, 1: 2}), (other, {0: 3}), (topic, {0: 4})), 8, note="a topic twice")
    probe.exchange(txn_commit(group, topic), 3, note="a transaction")
    for version in (1, 3, 5, 7, 8):
        request = fetch_offsets(group, (topic, [1, 0, 1]), (other, []), (topic, [7]), ("unknown", [0]))
        probe.exchange(request, version)
    probe.exchange(offset_delete(group, (topic, [1, 1, 0]), (other, []), (topic, [1]), ("unknown", [0])), 0)
    probe.exchange(offset_delete(group, (topic, [1, 0]), (other, [0])), 0, note="some are deleted")
    list_own_groups(probe, 4)
    probe.exchange(fetch_offsets(group, everything=True), 7)


@case(settings=(*AT_ONCE, ("delete.topic.enable", "true")), releases=ONLY_PREVIEW)
def members_are_loaded_from_the_log(probe: Probe) -> None:
    topic = known_topic(probe, partitions=4)
    group = group_of(probe)
    first, second = (Consumer(probe, group, name, [topic], instance=f"i-{name}") for name in ("m1", "m2"))
    first.join()
    first.report()
    second.join()
    first.beat(note="it has to revoke")
    probe.nodes.shut_down(1)
    probe.nodes.restart(1)
    probe.connect(1)
    probe.use(1)
    group_of(probe)
    list_own_groups(probe, 4)
    first.beat(note="it still has to revoke")
    settle([first, second])
    first.leave(-2, note="pauses")
    other: Any = Consumer(probe, group, "m3", [topic], instance="i-m1")
    other.join()
    settle([other, second])
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=(*NO_DELAY, ("group.coordinator.new.enable", "true")), releases=ONLY_PREVIEW)
def topics_that_a_record_lists(probe: Probe) -> None:
    """The new coordinator alone serves the protocol; the table of topics is made for all names that are subscribed."""
    topics = topics_in_id_order(probe, a=1, f=2, m=3)
    for number, missing in enumerate(([], ["no"], ["no", "none"], ["no", "none", *"vwxyz"])):
        group = group_of(probe, f"g{number}")
        member = Consumer(probe, group, "m1", [*topics, *missing], assignor="range")
        member.join()
        for key, value in records_of(probe, OFFSETS_TOPIC, group):
            if key.startswith(TOPICS_OF_GROUP) and value is not None:
                places = {value.find(name.encode()): name for name in topics}
                listed = [places[place] for place in sorted(places) if place >= 0]
                probe.write(note=f"{number}: topics", response=listed)
