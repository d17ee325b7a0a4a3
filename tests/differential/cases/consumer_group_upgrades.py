"""The first consumer of a classic group whose subscriptions and assignments are odd (KIP-848's online upgrade)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.differential.case import case
from tests.differential.coordinator_barriers import known_topic
from tests.differential.group_records import write_records
from tests.differential.group_requests import (
    OFFSETS_TOPIC,
    Member,
    await_state,
    describe_groups,
    group_of,
    heartbeat,
    join,
    leave,
    list_own_groups,
    subscription,
    sync,
)
from tests.differential.modern_requests import AT_ONCE, Consumer, consumer_describe, consumer_heartbeat
from tests.differential.steady_ids import topics_in_hash_order

if TYPE_CHECKING:
    from tests.differential.probe import Probe

ONLY_NEW: Final = ("4.3.1",)
NO_USER_DATA: Final = b"\xff\xff\xff\xff"


def assignment(topic: str, user_data: bytes = NO_USER_DATA) -> bytes:
    """An assignment of partition 0 in version 0 (ConsumerProtocolAssignment)."""
    return b"\0\0\0\0\0\1" + len(topic).to_bytes(2, "big") + topic.encode() + b"\0\0\0\1\0\0\0\0" + user_data


@case(settings=AT_ONCE, releases=ONLY_NEW)
def assignments_that_are_malformed(probe: Probe) -> None:
    """Kafka expects bytes that end within a number; any other error is no error that it expects.

    Where the member owns nothing, the consumer subscribes to another topic: which of them gets a partition that has no
    owner yet depends on the member's random id.
    """
    topic, other = known_topic(probe), known_topic(probe, "other")
    usual, right = subscription(topic), assignment(topic)
    for number, (metadata, data) in enumerate(
        (
            (usual, b""),
            (usual, right),
            (usual, b"\0"),
            (usual, right[:-1]),
            (usual, b"\xff\xff" + right[2:]),
            (usual, b"\0\x63" + right[2:]),
            (usual, b"\0\0\x7f\xff\xff\xff"),
            (usual, b"\0\0\xff\xff\xff\xff"),
            (usual, b"\0\0\0\0\0\1\x7f\xff"),
            (usual, b"\0\0\0\0\0\1\xff\xff"),
            (usual, assignment(topic, b"\0\0\0\2a")),
            (usual, assignment(topic, b"\0\0\0\2ab")),
            (b"\xff\xff" + usual[2:], right),
            (b"\0\3" + usual[2:], right),
        )
    ):
        group = group_of(probe, f"g{number}")
        member = Member(probe, group, protocols=(("range", metadata),))
        member.join(note=metadata[:2].hex())
        member.sync({member.id: data}, note=data.hex()[-12:])
        wanted = topic if data else other
        joining = consumer_heartbeat(group, "c", 0, topics=[wanted], owned={}, rebalance_ms=1_000)
        probe.exchange(joining, 1, note=f"{metadata[:2].hex()} {data.hex()[-12:]}")
        probe.exchange(consumer_describe(group), 1)
        probe.exchange(describe_groups(group), 6)
        member.heartbeat()


@case(settings=(*AT_ONCE, ("group.initial.rebalance.delay.ms", "1500")), releases=ONLY_NEW)
def a_group_that_waits_for_its_first_members(probe: Probe) -> None:
    """It has no protocol yet: the upgrade fails, and the parked request must be repeated all the same."""
    topic = known_topic(probe)
    group = group_of(probe)
    member = Member(probe, group, protocols=(("range", subscription(topic)),))
    member.learn_id()
    parked = member.start_join()
    await_state(probe, group, "PreparingRebalance")
    Consumer(probe, group, "c", [topic], version=1).join()
    member.finish_join(parked)
    probe.exchange(describe_groups(group), 6)
    probe.exchange(consumer_describe(group), 1)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def static_consumers_that_become_classic(probe: Probe) -> None:
    """The group becomes classic, and rebalances if the subscription has changed."""
    first, second = topics_in_hash_order(probe, a=2, b=1)
    for number, topics in enumerate(((first, second), (first,), ())):
        group = group_of(probe, f"g{number}")
        Consumer(probe, group, "m", [first, second], instance="i").join()
        protocols = (("range", subscription(*topics, version=1)),)
        joined = probe.exchange(join(group, member_id="m", instance="i", protocols=protocols), 9, note=str(number))
        for described in (consumer_describe(group), describe_groups(group)):
            probe.exchange(described, 1, note=str(number))
        generation = joined.generation_id
        probe.exchange(sync(group, generation, "m", instance="i", protocol_type=None, protocol=None), 5)
        probe.exchange(heartbeat(group, generation, "m", instance="i"), 4, note=str(number))
        write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def classic_members_alone_when_one_leaves(probe: Probe) -> None:
    """A consumer that joins as a classic member leaves the group as it is; the next member that leaves does not."""
    topic = known_topic(probe)
    protocols = (("range", subscription(topic, version=1)),)
    for leaver in ("former", "other"):
        group = group_of(probe, leaver)
        Consumer(probe, group, "former", [topic]).join()
        for member_id in ("other", "former"):
            probe.exchange(join(group, member_id=member_id, protocols=protocols), 9, note=member_id)
        probe.exchange(consumer_describe(group), 1, note="classic members alone")
        probe.exchange(leave(group, (leaver, None)), 5, note=leaver)
        list_own_groups(probe, 5)
        probe.exchange(describe_groups(group), 6)
        write_records(probe, OFFSETS_TOPIC, group)


@case(settings=AT_ONCE, releases=ONLY_NEW)
def racks_of_classic_members(probe: Probe) -> None:
    """An empty rack is none: it leaves the one that the member had."""
    topic = known_topic(probe)
    group, upgraded = group_of(probe), group_of(probe, "upgraded")
    Consumer(probe, group, "c", [topic]).join()
    for rack in (b"\0\0", b"\0\1r", b"\0\0", b"\xff\xff"):
        protocols = (("range", _in_rack(topic, rack)),)
        probe.exchange(join(group, member_id="m", protocols=protocols), 9, note=rack.hex())
        probe.exchange(consumer_describe(group), 1)
    member = Member(probe, upgraded, protocols=(("range", _in_rack(topic, b"\0\0")),))
    member.join()
    member.sync({member.id: b""})
    Consumer(probe, upgraded, "c", ["another"]).join()
    probe.exchange(consumer_describe(upgraded), 1)


def _in_rack(topic: str, rack: bytes) -> bytes:
    """A subscription in version 3, which ends with a generation and a rack."""
    return b"\0\3" + subscription(topic, version=1)[2:] + b"\xff\xff\xff\xff" + rack
