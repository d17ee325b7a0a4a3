"""The assignments of consumer groups whose members come and go, as ConsumerGroupDescribe lists them (4.3 alone)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.differential.case import case
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_records import write_records
from tests.differential.group_requests import OFFSETS_TOPIC, group_of
from tests.differential.modern_requests import AT_ONCE, Consumer, consumer_describe
from tests.differential.steady_ids import topics_in_hash_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.differential.probe import Probe

ONLY_NEW: Final = ("4.3.1",)
NAMES: Final = ("m3", "m1", "m5", "m2", "m6", "m4")
"""Members in the order in which they join: not that of any table."""


def come_and_go(probe: Probe, topics: Sequence[str], assignor: str) -> None:
    """Let members join one by one, leave in another order and join again, and describe the group each time."""
    group = group_of(probe, assignor)
    members: list[Consumer] = []
    for name in NAMES:
        members.append(Consumer(probe, group, name, topics, assignor=assignor))
        members[-1].join()
        probe.exchange(consumer_describe(group), 1, note=f"{name} has joined")
    for name in ("m1", "m6", "m3"):
        [leaver] = [member for member in members if member.id == name]
        leaver.leave()
        members.remove(leaver)
        members[0].beat(note=f"after {name} has left")
        probe.exchange(consumer_describe(group), 1, note=f"{name} has left")
    members[0].report()
    for name in ("m6", "m1"):
        members.append(Consumer(probe, group, name, topics, assignor=assignor))
        members[-1].join()
        probe.exchange(consumer_describe(group), 1, note=f"{name} has joined again")


@case(settings=AT_ONCE, releases=ONLY_NEW)
def members_come_and_go(probe: Probe) -> None:
    topic = known_topic(probe, partitions=7)
    for assignor in ("uniform", "range"):
        come_and_go(probe, [topic], assignor)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def partitions_are_listed_as_the_table_of_the_member_has_them(probe: Probe) -> None:
    """It is copied from the one before: what the member keeps comes before what it gets, where both are in a bucket."""
    topic = known_topic(probe, partitions=18)
    for assignor in ("uniform", "range"):
        group = group_of(probe, assignor)
        members = [Consumer(probe, group, name, [topic], assignor=assignor) for name in NAMES]
        for count, member in enumerate(members, 1):
            member.join()
            for each in members[:count]:
                each.report()
                each.report()
        while len(members) > 1:
            members.pop(len(members) // 2).leave()
            for each in members:
                each.beat(note=f"{each.id} of {len(members)}")
                each.report()
        probe.exchange(consumer_describe(group), 1)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def members_of_several_topics_come_and_go(probe: Probe) -> None:
    topics = topics_in_hash_order(probe, t=4, u=3, v=1)
    for assignor in ("uniform", "range"):
        come_and_go(probe, topics, assignor)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def partitions_to_revoke_are_described_with_their_topics(probe: Probe) -> None:
    topics = topics_in_hash_order(probe, t=4, u=3)
    group = group_of(probe)
    first, second = (Consumer(probe, group, name, topics) for name in ("m1", "m2"))
    first.join()
    first.report()
    second.join()
    first.beat(note="it has to revoke")
    probe.exchange(consumer_describe(group), 1)
    first.beat(topics=topics[1:], note="without the first topic")
    probe.exchange(consumer_describe(group), 1)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def a_partition_to_revoke_returns_to_its_member(probe: Probe) -> None:
    topic = known_topic(probe, partitions=2)
    group = group_of(probe)
    first, second = (Consumer(probe, group, name, [topic], assignor="range") for name in ("m1", "m2"))
    first.join()
    second.join()
    first.beat(note="must revoke one")
    probe.exchange(consumer_describe(group), 1, note="one is to be revoked")
    second.leave()
    first.report(note="has revoked it, and gets it again")
    probe.exchange(consumer_describe(group), 1, note="after the return")
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def an_older_epoch_is_assigned_as_the_members_of_that_epoch_subscribed(probe: Probe) -> None:
    topic = known_topic(probe, partitions=4)
    for assignor in ("range", "uniform"):
        group = group_of(probe, assignor)
        stays, leaves = (Consumer(probe, group, name, [topic], assignor=assignor) for name in ("m4", "m3"))
        stays.join()
        leaves.join()
        leaves.leave(note="a new epoch, not assigned yet")
        Consumer(probe, group, "m2", [], assignor=assignor).join(
            note="without topics: the epoch stays, and is assigned"
        )
        probe.exchange(consumer_describe(group), 1, note="before the next epoch")
        stays.beat()
        last = Consumer(probe, group, "m1", [topic], assignor=assignor)
        last.join(note="with topics: the next epoch")
        probe.exchange(consumer_describe(group), 1, note="after the next epoch")
        write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def members_in_one_bucket(probe: Probe) -> None:
    topics = topics_in_hash_order(probe, a=6, b=1)
    group = group_of(probe)
    for name, subscribed in (("n3", topics[:1]), ("m2", topics[:1]), ("m4", topics)):
        Consumer(probe, group, name, subscribed, assignor="uniform").join()
    write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def many_partitions_that_share_buckets(probe: Probe) -> None:
    """Sets list partitions of one bucket as they were added, ranges list all in order: members lose the last listed."""
    wide, narrow = topics_in_hash_order(probe, t=40, u=24)
    for assignor in ("uniform", "range"):
        come_and_go(probe, [wide], assignor)
        write_records(probe, OFFSETS_TOPIC, group_of(probe, assignor))
    group = group_of(probe, "different")
    members = [
        Consumer(probe, group, name, topics, assignor="uniform")
        for name, topics in zip(NAMES, ([wide], [narrow], [wide, narrow], [narrow], [wide], [narrow]), strict=True)
    ]
    for count, member in enumerate(members, 1):
        member.join()
        members[0].report()
        probe.exchange(consumer_describe(group), 1, note=f"{count} with different topics")
    members[0].beat(topics=[narrow, wide], note="another topic")
    members[2].leave()
    members[1].report()
    probe.exchange(consumer_describe(group), 1, note="after a member has left")
    write_records(probe, OFFSETS_TOPIC, group)
