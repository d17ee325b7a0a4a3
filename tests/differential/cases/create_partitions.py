"""CreatePartitions, as raw probes see it: counts, assignments, duplicates, time-outs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from tests.differential.case import case
from tests.differential.cases.cluster import placed
from tests.differential.probe import attempts
from tests.differential.requests import all_versions, metadata

if TYPE_CHECKING:
    from tests.differential.probe import Probe


def grown(name: str, count: int, *assigned: list[int], assignments: bool | None = None) -> CreatePartitionsTopic:
    """One topic to make larger; `assignments=True` sends a list of assignments even when there is none."""
    given = [CreatePartitionsAssignment(broker_ids=ids) for ids in assigned]
    wanted = bool(given) if assignments is None else assignments
    return CreatePartitionsTopic(name=name, count=count, assignments=given if wanted else None)


def grow(
    *topics: CreatePartitionsTopic, validate_only: bool = False, timeout_ms: int = 10_000
) -> CreatePartitionsRequest:
    """A request to add partitions."""
    return CreatePartitionsRequest(topics=list(topics), timeout_ms=timeout_ms, validate_only=validate_only)


def send_grow(probe: Probe, version: int, *topics: CreatePartitionsTopic, note: str = "", **options: Any) -> None:
    """Add partitions and record the response."""
    probe.exchange(grow(*topics, **options), version, note=note)


@case()
def every_version(probe: Probe) -> None:
    topic = probe.topic()
    for number, version in enumerate(all_versions(CreatePartitionsRequest), 2):
        send_grow(probe, version, grown(topic, number))
        probe.await_topic(topic, number)
        probe.exchange(metadata(topic), 9)


@case()
def counts_that_are_wrong(probe: Probe) -> None:
    topic = probe.topic(partitions=3)
    for count in (3, 2, 1, 0, -1, -(2**31)):
        for version in all_versions(CreatePartitionsRequest):
            send_grow(probe, version, grown(topic, count), note=str(count))


@case()
def counts_that_are_too_large(probe: Probe) -> None:
    topic = probe.topic()
    # Only validated: of too many partitions Kafka creates the first 10,000 and returns an error.
    for count in (10_001, 10_002, 20_000, 100_000):
        send_grow(probe, 3, grown(topic, count), validate_only=True, note=str(count))


@case()
def too_many_partitions_in_two_topics(probe: Probe) -> None:
    first, second = probe.topic("a"), probe.topic("b")
    send_grow(probe, 3, grown(first, 6_001), grown(second, 6_001), validate_only=True)
    send_grow(probe, 3, grown(second, 10_002), grown(first, 2), validate_only=True)


@case()
def topics_that_are_unknown(probe: Probe) -> None:
    names = [f"{probe.name}-none", "", "a b", "x" * 300, ".", "__cluster_metadata", "ä", "a\0"]
    for name in names:
        send_grow(probe, 3, grown(name, 3), note=repr(name[:20]))
        send_grow(probe, 0, grown(name, 0), note=repr(name[:20]))
    send_grow(probe, 3, grown(names[0], 3, [1], [1]))
    send_grow(probe, 3, grown(names[0], 3), validate_only=True)


@case()
def validate_only_makes_nothing(probe: Probe) -> None:
    topic = probe.topic()
    for version in all_versions(CreatePartitionsRequest):
        send_grow(probe, version, grown(topic, 4), validate_only=True)
        send_grow(probe, version, grown(topic, 1), validate_only=True)
        send_grow(probe, version, grown(topic, 2, [1]), validate_only=True)
        send_grow(probe, version, grown(topic, 2, [7]), validate_only=True)
    probe.exchange(metadata(topic), 9)


@case()
def assignments(probe: Probe) -> None:
    topic = probe.topic()
    send_grow(probe, 3, grown(topic, 2, [1]))
    send_grow(probe, 1, grown(topic, 4, [1], [1]))
    probe.await_topic(topic, 4)
    probe.exchange(metadata(topic), 9)


@case()
def assignments_that_are_wrong(probe: Probe) -> None:
    topic = probe.topic()
    for count, assigned, note in (
        (2, [[2]], "an unknown broker"),
        (2, [[-1]], "broker -1"),
        (2, [[]], "no replicas"),
        (2, [[1, 1]], "a replica twice"),
        (2, [[1, 2]], "a known and an unknown broker"),
        (2, [[1], [1]], "too many"),
        (3, [[1]], "too few"),
        (2, [], "an empty list"),
        (3, [[1], [2]], "the second is wrong"),
        (3, [[1], []], "the second has none"),
        (1, [[1]], "no increase"),
        (1, [], "no increase, an empty list"),
        (0, [[9]], "fewer, an unknown broker"),
        (100_000, [[1]], "one of very many"),
        (2**31 - 1, [[1]], "one of 2**31-1"),
    ):
        for version in (0, 3):
            send_grow(probe, version, grown(topic, count, *assigned, assignments=True), note=note)
    probe.exchange(metadata(topic), 9)


@case()
def the_same_topic_twice(probe: Probe) -> None:
    topic, other = probe.topic("t"), probe.topic("u")
    for version in (0, 3):
        send_grow(probe, version, grown(topic, 2), grown(topic, 2))
        send_grow(probe, version, grown(topic, 2), grown(other, 1), grown(topic, 3))
        send_grow(probe, version, grown(topic, 2), grown(topic, 2), grown(topic, 2))
        send_grow(probe, version, grown("missing", 2), grown("missing", 2))
    send_grow(probe, 3, grown(topic, 2), grown(topic, 2), timeout_ms=0)
    send_grow(probe, 3, grown(topic, 2), grown(topic, 2), validate_only=True)
    probe.exchange(metadata(topic, other), 9)


@case()
def good_and_bad_topics_together(probe: Probe) -> None:
    good, full = probe.topic("good"), probe.topic("full", partitions=2)
    send_grow(probe, 3, grown(good, 3), grown(full, 2), grown("missing", 5), grown(full, 1))
    send_grow(probe, 3, grown(good, 3), grown(full, 2), grown("missing", 5))
    probe.await_topic(good, 3)
    probe.exchange(metadata(good, full), 9)


@case()
def no_topics(probe: Probe) -> None:
    for version in all_versions(CreatePartitionsRequest):
        send_grow(probe, version)
        send_grow(probe, version, timeout_ms=0)


@case()
def timeouts(probe: Probe) -> None:
    topic = probe.topic()
    for timeout_ms in (0, -1, -(2**31)):
        for validate_only in (False, True):
            note = f"{timeout_ms} {validate_only}"
            send_grow(probe, 3, grown(topic, 2), timeout_ms=timeout_ms, validate_only=validate_only, note=note)
    send_grow(probe, 3, grown("missing", 2), grown(topic, 1), timeout_ms=0)
    send_grow(probe, 0, grown("missing", 2), grown(topic, 1), timeout_ms=0)
    probe.exchange(metadata(topic), 9)
    send_grow(probe, 3, grown(topic, 2), timeout_ms=2**31 - 1)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in (
        (0, b"", "empty"),
        (0, b"\xff\xff\xff\xff\0\0\x75\x30\0", "null topics"),
        (0, b"\0\0\0\1\xff\xff\0\0\0\2\xff\xff\xff\xff\0\0\x75\x30\0", "null name"),
        (0, b"\0\0\0\1\0\1t\0\0\0\2\0\0\0\1\xff\xff\xff\xff\0\0\x75\x30\0", "null brokers"),
        (0, b"\0\0\0\0\0\0\x75\x30\0more", "more bytes"),
        (0, b"\0\0\0\0\0\0\x75\x30", "no flag"),
        (0, b"\0\0\0\0\0\0\x75\x30\7", "an odd flag"),
        (0, b"\x7f\xff\xff\xff\0\0\x75\x30\0", "2**31-1 topics"),
        (2, b"\0\0\0\x75\x30\0\0", "null topics"),
        (2, b"\1\0\0\x75\x30\0\0", "right"),
    ):
        probe.raw_body(37, version, body, note=note)


@case(brokers=3)
def replicas_of_new_partitions(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2], [2, 3])
    send_grow(probe, 3, grown(topic, 4, [3, 1], [1, 3]))
    probe.await_topic(topic, 4)
    for _ in attempts("the new leaders"):
        response: Any = probe.quiet(metadata(topic), 12)
        if all(len(each.isr_nodes) == 2 for each in response.topics[0].partitions):
            break
    probe.exchange(metadata(topic), 9, only=lambda each: each["topics"])


@case(brokers=3)
def other_replication_factors(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2], [2, 3])
    for assigned in ([[1]], [[1, 2, 3]], [[1, 4]], [[2, 2]], [[1, 1, 4]], [[4, 4]], [[3, 2, 3]]):
        send_grow(probe, 3, grown(topic, 3, *assigned), note=str(assigned))
    send_grow(probe, 3, grown(topic, 4, [1, 2], [1]))
    send_grow(probe, 3, grown(topic, 5), validate_only=True)
