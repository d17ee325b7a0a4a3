"""ConsumerGroupHeartbeat, as raw probes see it: one member, several, static ones, and wrong requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.differential.case import case
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_records import find_records, write_records
from tests.differential.group_requests import (
    OFFSETS_TOPIC,
    describe_groups,
    group_of,
    list_own_groups,
    stable_one,
)
from tests.differential.modern_requests import AT_ONCE, Consumer, consumer_describe, consumer_heartbeat
from tests.differential.probe import attempts
from tests.differential.steady_ids import topics_in_hash_order

if TYPE_CHECKING:
    from tests.differential.probe import Probe

VERSIONS: Final = (0, 1)


def describe(probe: Probe, group: str, note: str = "") -> None:
    """Record the description of a consumer group, where the release has the API."""
    if probe.release != "3.7.2":
        probe.exchange(consumer_describe(group), 1, note=note)


@case(releases=("3.7.2",))
def releases_that_do_not_enable_them(probe: Probe) -> None:
    group = group_of(probe)
    for request in (
        consumer_heartbeat(group, "m", 0, topics=[], owned={}, rebalance_ms=1),
        consumer_heartbeat("", "", 5),
    ):
        probe.exchange(request, 0)


@case(settings=AT_ONCE)
def requests_that_are_invalid(probe: Probe) -> None:
    group = group_of(probe)
    right: dict[str, Any] = {"topics": ["t"], "owned": {}, "rebalance_ms": 10_000}
    for version in VERSIONS:
        for name, member, epoch, changes in (
            ("", "m", 0, {}),
            (group, "", 0, {"instance": ""}),
            (group, "m", 0, {"instance": ""}),
            (group, "m", 0, {"rack": ""}),
            (group, "m", 0, {"rebalance_ms": -1}),
            (group, "m", 0, {"rebalance_ms": 0}),
            (group, "m", 0, {"topics": None}),
            (group, "m", 0, {"topics": None, "regex": ""}),
            (group, "m", 0, {"owned": None}),
            (group, "m", 0, {"owned": {b"an unknown topic": [0]}}),
            (group, "m", 0, {"assignor": ""}),
            (group, "m", 0, {"assignor": "unknown"}),
            (group, "m", 0, {"topics": None, "regex": "("}),
            (group, "m", -2, {}),
            (group, "", -2, {"instance": "i"}),
            (group, "m", -2, {"instance": "i"}),
            (group, "", -1, {}),
            (group, "m", -1, {}),
            (group, "m", -3, {}),
            (group, "m", 1, {}),
            (group, "", 1, {}),
            (group, "m", 2**31 - 1, {}),
        ):
            request = consumer_heartbeat(name, member, epoch, **(right | changes))
            probe.exchange(request, version, note=f"{name[-1:]} {member} {epoch} {list(changes.items())}")
    list_own_groups(probe, 4)


@case(settings=AT_ONCE)
def one_member(probe: Probe) -> None:
    topic = known_topic(probe, partitions=3)
    group = group_of(probe)
    member = Consumer(probe, group, "member-1", [topic])
    member.join()
    describe(probe, group)
    member.beat()
    member.report()
    member.beat(topics=[topic], note="the same topics")
    member.beat(rebalance_ms=20_000, rack="r", note="another time-out and rack")
    member.beat(topics=[topic, "unknown"], note="another topic")
    member.beat(assignor="range", note="another assignor")
    member.beat(topics=[topic], owned=member.assigned, rebalance_ms=20_000, note="a full request")
    member.join(note="it joins again")
    describe(probe, group)
    member.beat(topics=[], note="no topics")
    member.report()
    member.leave()
    member.leave(note="again")
    member.beat(note="afterwards")
    describe(probe, group)
    for version in range(6):
        list_own_groups(probe, version)
    for states in (["Empty"], ["Stable"], ["Assigning"]):
        list_own_groups(probe, 4, states=states)
    probe.exchange(describe_groups(group), 5)
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE)
def ids_that_the_coordinator_gives(probe: Probe) -> None:
    group = group_of(probe)
    for version in VERSIONS:
        member = Consumer(probe, group, "", ["t"], version=version)
        member.join(note=f"version {version}")
        if member.id:
            member.beat(note="with its id")
            member.leave(note="leaves")


@case(settings=AT_ONCE)
def two_members_share_a_topic(probe: Probe) -> None:
    topic = known_topic(probe, partitions=4)
    for assignor in ("uniform", "range"):
        group = group_of(probe, assignor)
        first, second = (Consumer(probe, group, name, [topic], assignor=assignor) for name in ("m1", "m2"))
        first.join()
        first.report()
        second.join()
        describe(probe, group, "the second has joined")
        second.beat()
        first.beat(note="it has to revoke")
        describe(probe, group, "the first has to revoke")
        second.beat(note="partitions are not free")
        first.beat(note="nothing is revoked yet")
        first.report()
        describe(probe, group, "the first has revoked")
        second.beat(note="partitions are free")
        second.report()
        describe(probe, group, "stable")
        first.leave()
        second.beat(note="all are free")
        second.report()
        describe(probe, group, "one is left")
        second.leave()
        write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE)
def members_that_join_one_after_another(probe: Probe) -> None:
    topics = topics_in_hash_order(probe, t=5, u=2, v=1)
    for assignor in ("uniform", "range"):
        group = group_of(probe, assignor)
        members = [
            Consumer(probe, group, f"m{number}", topics[: number % 3 + 1], assignor=assignor) for number in range(5)
        ]
        for count, member in enumerate(members, 1):
            member.join()
            for _ in range(3):
                for each in members[:count]:
                    each.report()
            describe(probe, group, f"{count} members")
        for count in range(4):
            members[count].leave()
            for _ in range(3):
                for each in members[count + 1 :]:
                    each.report()
            describe(probe, group, f"{count} have left")


@case(settings=AT_ONCE)
def epochs_that_are_wrong(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    first, second = (Consumer(probe, group, name, [topic]) for name in ("m1", "m2"))
    first.join()
    owned = dict(first.assigned)
    second.join()
    first.beat()
    first.report()
    current = first.epoch
    for epoch in (current + 1, current - 1, current - 2, 2**31 - 1):
        for partitions in (None, {}, owned, first.assigned):
            request = consumer_heartbeat(group, "m1", epoch, owned=partitions)
            shown = "none" if partitions is None else str(list(partitions.values()))
            probe.exchange(request, 0, note=f"epoch {epoch - current:+} owning {shown}")
    probe.exchange(consumer_heartbeat(group, "stranger", current), 0, note="unknown member")
    probe.exchange(consumer_heartbeat(group, "stranger", -1), 0, note="unknown member leaves")
    probe.exchange(consumer_heartbeat(group, "m1", current, instance="i"), 0, note="with an instance")
    describe(probe, group)


@case(settings=AT_ONCE)
def static_members(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    first, second = (Consumer(probe, group, name, [topic], instance=f"i-{name}") for name in ("m1", "m2"))
    first.join()
    second.join()
    first.beat()
    first.report()
    second.beat()
    second.report()
    other = Consumer(probe, group, "m3", [topic], instance="i-m1")
    other.join(note="an instance in use")
    probe.exchange(consumer_heartbeat(group, "m1", first.epoch, instance="i-m2"), 0, note="another's instance")
    probe.exchange(consumer_heartbeat(group, "m1", first.epoch, instance="i-none"), 0, note="an unknown instance")
    probe.exchange(consumer_heartbeat(group, "m1", first.epoch), 0, note="without its instance")
    probe.exchange(consumer_heartbeat(group, "stranger", 1, instance="i-m1"), 0, note="another member's instance")
    first.leave(-2, note="pauses")
    describe(probe, group, "paused")
    first.beat(note="after its pause")
    second.beat(note="nothing is free")
    other.join(note="with the instance that pauses")
    describe(probe, group, "replaced")
    other.report()
    first.beat(note="the one that was replaced")
    first.leave(-2, note="the one that was replaced pauses")
    other.leave()
    second.beat(note="all are free")
    second.leave(-2, note="pauses")
    second.leave(note="leaves after its pause")
    describe(probe, group)
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE)
def topics_that_come_and_grow(probe: Probe) -> None:
    group = group_of(probe)
    name = f"{probe.name}-late"
    member = Consumer(probe, group, "m1", [name])
    member.join(note="a topic that does not exist")
    topic = probe.topic("late", partitions=2)
    member.await_beat(lambda response: response.assignment is not None and response.assignment.topic_partitions)
    member.beat(owned=member.assigned, topics=[topic], note="it exists now")
    describe(probe, group)


@case(settings=AT_ONCE, releases=("4.3.1",))
def regular_expressions(probe: Probe) -> None:
    topics = [known_topic(probe, suffix) for suffix in ("aa", "ab", "b")]
    group = group_of(probe)
    member = Consumer(probe, group, "m1", None, regex=f"{probe.name}-a.", version=1)
    member.join()
    member.await_beat(lambda response: response.assignment is not None and response.assignment.topic_partitions)
    member.report()
    describe(probe, group)
    member.beat(topics=[topics[2]], note="a name as well")
    member.report()
    member.beat(regex="", note="no expression any more")
    member.report()
    describe(probe, group)
    for regex in ("(", "*", "[a", "a{2", "(?<name>a)", "\\"):
        member.beat(regex=regex, note=f"regex {regex}")
    member.leave()


@case(settings=AT_ONCE, releases=("4.3.1",))
def regular_expressions_without_topics(probe: Probe) -> None:
    known_topic(probe)
    group = group_of(probe)
    member = Consumer(probe, group, "m1", None, regex="none", version=1)
    member.join()
    _await_records(probe, group, 3)
    member.join(regex="nothing", note="another expression")
    member.join(regex="nothing", note="the same one")
    _await_records(probe, group, 7)
    member.beat(regex="not", note="another expression, without joining")
    write_records(probe, OFFSETS_TOPIC, group)


def _await_records(probe: Probe, group: str, count: int) -> None:
    """Wait until a group has so many records: an expression is resolved beside its requests."""
    for _ in attempts(f"{count} records of {group}"):
        if len(find_records(probe, OFFSETS_TOPIC, group)) >= count:
            break


@case(settings=(*AT_ONCE, ("group.consumer.max.size", "1")))
def groups_that_are_full(probe: Probe) -> None:
    topic = known_topic(probe)
    group = group_of(probe)
    first, second = (Consumer(probe, group, name, [topic]) for name in ("m1", "m2"))
    first.join()
    second.join()
    second.instance = "i"
    second.join(note="static")
    first.join(note="again")


@case(settings=AT_ONCE)
def groups_of_another_type(probe: Probe) -> None:
    topic = known_topic(probe)
    group = group_of(probe)
    classic = stable_one(probe, group, protocol_type="connect")
    member = Consumer(probe, group, "m1", [topic])
    member.join(note="a classic group of another protocol")
    probe.exchange(consumer_heartbeat(group, "m1", 1), 0, note="a classic group")
    probe.exchange(consumer_heartbeat(group, "m1", -1), 0, note="a classic group")
    describe(probe, group)
    classic.leave()
    member.join(note="an empty classic group")
    describe(probe, group)
    for _ in attempts("the type"):
        list_own_groups(probe, 4)
        break


@case(settings=AT_ONCE)
def assignors_with_as_many_votes(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    for number, assignors in enumerate(
        (("uniform", "range"), ("range", "uniform"), ("range", None), (None, "range"), ("range", "range", "uniform"))
    ):
        group = group_of(probe, f"g{number}")
        for place, assignor in enumerate(assignors):
            Consumer(probe, group, f"m{place}", [topic], assignor=assignor).join()
            describe(probe, group, str(assignors[: place + 1]))


@case(settings=AT_ONCE)
def members_without_topics(probe: Probe) -> None:
    topic, other = topics_in_hash_order(probe, t=2, u=3)
    for assignor in ("uniform", "range"):
        for order in (([], [topic, other]), ([topic, other], []), ([topic], [other]), ([topic], [topic, other], [])):
            group = group_of(probe, f"{assignor}{[len(each) for each in order]}{len(order[0])}")
            members = [
                Consumer(probe, group, f"m{place}", topics, assignor=assignor) for place, topics in enumerate(order)
            ]
            for count, member in enumerate(members, 1):
                member.join()
                for each in members[:count]:
                    each.report()
            for each in members:
                each.report()
            describe(probe, group, "at the end")


@case(settings=AT_ONCE)
def odd_ids(probe: Probe) -> None:
    topic = known_topic(probe)
    for number, name in enumerate((" ", "a b", "x" * 300, "é", "a\0b", "..", "a/b")):
        group = group_of(probe, f"g{number}")
        for fields in (
            {"member_id": name},
            {"instance": name},
            {"rack": name},
            {"assignor": name},
            {"topics": [name]},
            {"topics": [topic, topic]},
        ):
            usual: dict[str, Any] = {"topics": [topic], "owned": {}, "rebalance_ms": 1000}
            member = fields.pop("member_id", f"m{next(iter(fields))[:1] if fields else ''}")
            request = consumer_heartbeat(group, member, 0, **(usual | fields))
            probe.exchange(request, 0, note=f"{number} {list(fields)}", only=lambda r: r | {"assignment": None})
        probe.exchange(
            consumer_heartbeat(group + name, "m", 0, topics=[topic], owned={}, rebalance_ms=1),
            0,
            note=str(number),
            only=lambda r: r | {"assignment": None},
        )


@case(settings=AT_ONCE)
def fields_after_the_join(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    topic_id = probe.topic_id(topic)
    group = group_of(probe)
    member = Consumer(probe, group, "m1", [topic])
    member.join()
    for fields in (
        {"topics": []},
        {"topics": [topic]},
        {"topics": [""]},
        {"topics": [topic], "rebalance_ms": 0},
        {"rebalance_ms": 2**31 - 1},
        {"rebalance_ms": -2},
        {"instance": "i"},
        {"instance": ""},
        {"rack": ""},
        {"rack": "r"},
        {"assignor": ""},
        {"assignor": "range"},
        {"assignor": "Range"},
        {"owned": {topic_id: [0, 0]}},
        {"owned": {topic_id: [7]}},
        {"owned": {b"x" * 16: [0]}},
        {"owned": {topic_id: []}},
        {"owned": {}},
        {"topics": [topic], "owned": {topic_id: [0, 1]}, "rebalance_ms": 5},
    ):
        member.beat(note=str(list(fields)), **fields)
    list_own_groups(probe, 4)
