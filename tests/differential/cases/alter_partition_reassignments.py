"""AlterPartitionReassignments, as raw probes see it: refusals on one broker, real moves on three."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.differential.case import case
from tests.differential.cases.cluster import ALL, placed
from tests.differential.cases.elect_leaders import PREFERRED, UNCLEAN, await_leader, elect, send_elect
from tests.differential.probe import attempts
from tests.differential.requests import all_versions, batch, metadata, produce

if TYPE_CHECKING:
    from tests.differential.probe import Probe

Moves = dict[int, list[int] | None] | list[tuple[int, list[int] | None]]


def reassign(
    *topics: tuple[str, Moves], timeout_ms: int = 10_000, may_change_factor: bool = True
) -> AlterPartitionReassignmentsRequest:
    """A request for other replicas; None stops a reassignment."""
    return AlterPartitionReassignmentsRequest(
        timeout_ms=timeout_ms,
        allow_replication_factor_change=may_change_factor,
        topics=[
            ReassignableTopic(
                name=name,
                partitions=[
                    ReassignablePartition(partition_index=index, replicas=replicas)
                    for index, replicas in (moves.items() if isinstance(moves, dict) else moves)
                ],
            )
            for name, moves in topics
        ],
    )


def send_reassign(probe: Probe, version: int, *topics: tuple[str, Moves], note: str = "", **options: Any) -> None:
    """Reassign and record the response."""
    probe.exchange(reassign(*topics, **options), version, note=note)


def await_reassigned(probe: Probe, topic: str, *replicas: list[int]) -> None:
    """Wait until every broker sees these replicas, all of them in sync, and nothing is left to do."""
    for broker in ALL:
        connection = probe.connect(broker)
        for _ in attempts(f"the replicas of {topic} at broker {broker}"):
            response: Any = probe.quiet(metadata(topic), 12, on=connection)
            partitions = sorted(response.topics[0].partitions, key=lambda each: each.partition_index)
            if [(each.replica_nodes, sorted(each.isr_nodes)) for each in partitions] == [
                (ids, sorted(ids)) for ids in replicas
            ]:
                break
    for _ in attempts("the end of the reassignment"):
        listed: Any = probe.quiet(ListPartitionReassignmentsRequest(topics=None), 0)
        if not [each for each in listed.topics if each.name == topic]:
            return


def send_metadata(probe: Probe, topic: str) -> None:
    """Write down the topic's leaders, epochs and replicas; replicas join the ISR in any order."""

    def only(response: Any) -> Any:
        for partition in response["topics"][0]["partitions"]:
            partition["isrNodes"].sort()
        return response["topics"]

    probe.exchange(metadata(topic), 9, only=only)


@case()
def every_version(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    for version in all_versions(AlterPartitionReassignmentsRequest):
        send_reassign(probe, version, (topic, {0: [1], 1: [1]}))
        send_reassign(probe, version, (topic, {0: [1], 1: [1]}), may_change_factor=False)
    send_metadata(probe, topic)


@case()
def replicas_that_are_wrong(probe: Probe) -> None:
    topic = probe.topic()
    for replicas in ([], [2], [1, 1], [1, 2], [-1], [2, 2], [1, -1], [2**31 - 1]):
        for version in (0, 1):
            send_reassign(probe, version, (topic, {0: replicas}), note=str(replicas))
            send_reassign(probe, version, (topic, {0: replicas}), may_change_factor=False, note=f"{replicas} strict")


@case()
def unknown_topics_and_partitions(probe: Probe) -> None:
    topic = probe.topic()
    for version in (0, 1):
        send_reassign(probe, version, ("missing", {0: [1]}), (topic, {1: [1], -1: [1], 0: [1]}), ("a b", {0: [9]}))
        send_reassign(probe, version, ("missing", {0: None}), (topic, {1: None, 9: []}))
    send_reassign(probe, 0, ("", {0: [1]}), ("x" * 300, {0: [1]}), ("__cluster_metadata", {0: [1]}))


@case()
def nothing_to_stop(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    for version in (0, 1):
        send_reassign(probe, version, (topic, {0: None}))
        send_reassign(probe, version, (topic, {0: None, 1: [1]}))


@case()
def duplicates(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    send_reassign(probe, 0, (topic, [(0, [1]), (0, [1])]))
    send_reassign(probe, 0, (topic, [(0, [1]), (0, [2])]))
    send_reassign(probe, 0, (topic, {0: [1]}), (topic, {0: [1]}))
    send_reassign(probe, 1, (topic, {0: [1]}), (topic, {0: None}), ("missing", {0: [1]}), ("missing", {0: [1]}))


@case()
def no_topics_or_partitions(probe: Probe) -> None:
    topic = probe.topic()
    for version in (0, 1):
        send_reassign(probe, version)
        send_reassign(probe, version, timeout_ms=0)
        send_reassign(probe, version, may_change_factor=False)
        send_reassign(probe, version, (topic, {}))
        send_reassign(probe, version, ("missing", {}))


@case()
def timeouts(probe: Probe) -> None:
    topic = probe.topic()
    for timeout_ms in (0, -1, -(2**31)):
        for version in (0, 1):
            note = str(timeout_ms)
            send_reassign(
                probe, version, (topic, {0: [1], 5: [1]}), ("missing", {0: [1]}), timeout_ms=timeout_ms, note=note
            )
    send_reassign(probe, 0, (topic, {0: [1]}), timeout_ms=2**31 - 1)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for body, note in (
        (b"", "empty"),
        (b"\0\0\x75\x30\0\0", "null topics"),
        (b"\0\0\x75\x30\1\0", "right"),
        (b"\0\0\x75\x30\1\0more", "more bytes"),
        (b"\0\0\x75\x30\2\0\1\0\0", "null name"),
        (b"\0\0\x75\x30\2\2t\0\0\0", "null partitions"),
        (b"\0\0\x75\x30\2\2t\2\0\0\0\0\0\0\0\0", "null replicas"),
    ):
        probe.raw_body(45, 0, body, note=note)


# Three brokers.


@case(brokers=3)
def another_order_is_done_at_once(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2, 3])
    send_reassign(probe, 0, (topic, {0: [2, 3, 1]}))
    await_reassigned(probe, topic, [2, 3, 1])
    send_metadata(probe, topic)
    send_reassign(probe, 0, (topic, {0: [2, 3, 1]}), note="again")
    send_metadata(probe, topic)


@case(brokers=3)
def a_preferred_election_after_another_order(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2, 3], [2, 3, 1], [3, 1, 2])
    send_reassign(probe, 0, (topic, {0: [2, 1, 3]}))
    await_reassigned(probe, topic, [2, 1, 3], [2, 3, 1], [3, 1, 2])
    send_elect(probe, 2, (topic, [0]), election_type=UNCLEAN, note="unclean: it has a leader")
    send_elect(probe, 2, (topic, [0, 1]), election_type=PREFERRED)
    await_leader(probe, topic, 2)
    send_metadata(probe, topic)
    send_elect(probe, 2, (topic, [0, 1]), note="again")


@case(brokers=3)
def a_preferred_election_of_everything(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2, 3], [2, 3, 1])
    send_reassign(probe, 0, (topic, {0: [3, 1, 2]}))
    await_reassigned(probe, topic, [3, 1, 2], [2, 3, 1])

    def only(response: Any) -> Any:
        return [each for each in response["replicaElectionResults"] if each["topic"] == topic]

    request = elect(everything=True)
    probe.exchange(request, 1, only=only)
    await_leader(probe, topic, 3)
    probe.exchange(request, 1, only=only, note="again")
    send_metadata(probe, topic)


@case(brokers=3)
def the_same_partition_twice_in_an_election(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2, 3])
    send_reassign(probe, 0, (topic, {0: [2, 1, 3]}))
    await_reassigned(probe, topic, [2, 1, 3])
    send_elect(probe, 2, (topic, [0, 0]), (topic, [0]))
    await_leader(probe, topic, 2)
    send_metadata(probe, topic)


@case(brokers=3)
def a_replica_is_added(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2])
    probe.exchange(produce(topic, batch(b"a", b"b")), 9)
    send_reassign(probe, 0, (topic, {0: [1, 2, 3]}))
    await_reassigned(probe, topic, [1, 2, 3])
    send_metadata(probe, topic)


@case(brokers=3)
def a_replica_is_removed(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2, 3])
    send_reassign(probe, 0, (topic, {0: [1, 3]}))
    await_reassigned(probe, topic, [1, 3])
    send_metadata(probe, topic)


@case(brokers=3)
def the_leader_is_removed(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2, 3])
    probe.quiet(produce(topic, batch(b"a")), 9)
    send_reassign(probe, 0, (topic, {0: [3, 2]}))
    await_reassigned(probe, topic, [3, 2])
    send_metadata(probe, topic)


@case(brokers=3)
def all_replicas_are_others(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1])
    probe.quiet(produce(topic, batch(b"a")), 9)
    send_reassign(probe, 0, (topic, {0: [2, 3]}))
    await_reassigned(probe, topic, [2, 3])
    send_metadata(probe, topic)
    await_leader(probe, topic, 2)


@case(brokers=3)
def a_replica_in_place_of_another(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2], [2, 3])
    probe.quiet(produce(topic, batch(b"a")), 9)
    send_reassign(probe, 0, (topic, {0: [1, 3], 1: [1, 3]}))
    await_reassigned(probe, topic, [1, 3], [1, 3])
    send_metadata(probe, topic)


@case(brokers=3)
def another_factor_when_it_may_not_change(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2])
    for replicas in ([1], [1, 2, 3], [2, 1], [1, 4], [1, 1], []):
        send_reassign(probe, 1, (topic, {0: replicas}), may_change_factor=False, note=str(replicas))
    send_metadata(probe, topic)


@case(brokers=3)
def good_and_bad_moves_together(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2], [2, 3])
    send_reassign(probe, 0, (topic, {0: [2, 1], 1: [2, 9], 5: [1]}), ("missing", {0: [1]}))
    await_reassigned(probe, topic, [2, 1], [2, 3])
    send_metadata(probe, topic)


@case(brokers=3)
def what_goes_on_is_listed(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2], [1, 3], [2, 3])
    request = ListPartitionReassignmentsRequest(
        topics=[ListPartitionReassignmentsTopics(name=topic, partition_indexes=[0, 1, 2, 0, 7])]
    )
    # Both are sent before the first response comes: the moves take no longer than some round trips.
    moves = probe.start(reassign((topic, {0: [3], 1: [2, 3], 2: [3, 1, 2]})), 0)
    listed = probe.start(request, 0, note="at once")
    probe.finish(moves)
    probe.finish(listed)
    await_reassigned(probe, topic, [3], [2, 3], [3, 1, 2])
    probe.exchange(request, 0, note="at the end")
    send_metadata(probe, topic)
