"""ElectLeaders, as raw probes see it: types, topics, partitions, duplicates, time-outs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from tests.differential.case import case
from tests.differential.cases.cluster import ALL
from tests.differential.probe import attempts
from tests.differential.requests import all_versions, batch, metadata, produce

if TYPE_CHECKING:
    from tests.differential.probe import Probe

PREFERRED = 0
UNCLEAN = 1


def elect(
    *topics: tuple[str, list[int]], election_type: int = PREFERRED, timeout_ms: int = 10_000, everything: bool = False
) -> ElectLeadersRequest:
    """Return a request to elect; `everything` means all partitions of all topics."""
    wanted = [TopicPartitions(topic=name, partitions=partitions) for name, partitions in topics]
    return ElectLeadersRequest(
        election_type=election_type, topic_partitions=None if everything else wanted, timeout_ms=timeout_ms
    )


def send_elect(probe: Probe, version: int, *topics: tuple[str, list[int]], note: str = "", **options: Any) -> None:
    """Elect and record the response."""
    probe.exchange(elect(*topics, **options), version, note=note)


def of_the_case(probe: Probe) -> Any:
    """Return a function that reduces a response about all topics to those of the case."""

    def only(response: Any) -> Any:
        results = [each for each in response["replicaElectionResults"] if each["topic"].startswith(probe.name)]
        return response | {"replicaElectionResults": results}

    return only


@case()
def not_needed(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    for version in all_versions(ElectLeadersRequest):
        for election_type in (PREFERRED, UNCLEAN):
            send_elect(probe, version, (topic, [0, 1]), election_type=election_type, note=str(election_type))


@case()
def unknown_topics_and_partitions(probe: Probe) -> None:
    topic = probe.topic()
    for version in all_versions(ElectLeadersRequest):
        send_elect(probe, version, ("missing", [0]), (topic, [1, -1, 0]), ("a b", [5]), ("", [0]))
        send_elect(probe, version, ("missing", [0]), (topic, [7]), election_type=UNCLEAN)
    send_elect(probe, 2, ("x" * 300, [0]), ("__cluster_metadata", [0]))


@case()
def unknown_election_types(probe: Probe) -> None:
    topic = probe.topic()
    for election_type in (2, 3, 127, -1, -128):
        for version in all_versions(ElectLeadersRequest):
            send_elect(probe, version, (topic, [0, 9]), ("missing", [0]), election_type=election_type)
        send_elect(probe, 2, election_type=election_type, note="no topics")
        probe.exchange(elect(election_type=election_type, everything=True), 2, note="all topics")


@case()
def duplicates(probe: Probe) -> None:
    topic = probe.topic(partitions=2)
    for version in (0, 2):
        send_elect(probe, version, (topic, [0, 0]))
        send_elect(probe, version, (topic, [0]), (topic, [0]))
        send_elect(probe, version, (topic, [0]), (topic, [1]), ("missing", [0]), ("missing", [0]))


@case()
def nothing_to_elect(probe: Probe) -> None:
    topic = probe.topic()
    for version in all_versions(ElectLeadersRequest):
        send_elect(probe, version)
        send_elect(probe, version, timeout_ms=0)
        send_elect(probe, version, (topic, []))
        send_elect(probe, version, ("missing", []))


@case()
def all_partitions(probe: Probe) -> None:
    probe.topic(partitions=3)
    for version in all_versions(ElectLeadersRequest):
        for election_type in (PREFERRED, UNCLEAN):
            request = elect(everything=True, election_type=election_type)
            probe.exchange(request, version, only=of_the_case(probe))


@case()
def timeouts(probe: Probe) -> None:
    topic = probe.topic()
    for timeout_ms in (0, -1, -(2**31)):
        for version in (0, 2):
            send_elect(probe, version, (topic, [0, 3]), ("missing", [0]), timeout_ms=timeout_ms, note=str(timeout_ms))
    probe.exchange(elect(everything=True, timeout_ms=0), 2, note="all")
    send_elect(probe, 2, (topic, [0]), election_type=9, timeout_ms=0, note="an unknown type")
    send_elect(probe, 2, (topic, [0]), timeout_ms=2**31 - 1)


@case()
def bodies_that_are_wrong(probe: Probe) -> None:
    for version, body, note in (
        (0, b"", "empty"),
        (0, b"\0\0\0\1\xff\xff\0\0\0\0\0\0\x75\x30", "null name"),
        (0, b"\0\0\0\1\0\1t\xff\xff\xff\xff\0\0\x75\x30", "null partitions"),
        (0, b"\0\0\0\0\0\0\x75\x30more", "more bytes"),
        (0, b"\0\0\0\0", "no time-out"),
        (0, b"\0\0\0\0\0\0\x75\x30", "right"),
        (0, b"\x7f\xff\xff\xff\0\0\x75\x30", "2**31-1 topics"),
        (1, b"\0\0\0\0\0\0\0\x75\x30", "right"),
        (1, b"\0\xff\xff\xff\xfe\0\0\x75\x30", "-2 topics"),
        (2, b"\0\1\0\0\x75\x30\0", "right"),
    ):
        probe.raw_body(43, version, body, note=note, only=of_the_case(probe))


def await_leader(probe: Probe, topic: str, leader: int, partition: int = 0) -> None:
    """Wait until every broker returns the leader, and the leader knows its role."""
    for broker in ALL:
        connection = probe.connect(broker)
        for _ in attempts(f"leader {leader} of {topic} at broker {broker}"):
            response: Any = probe.quiet(metadata(topic), 12, on=connection)
            if (partition, leader) in [
                (each.partition_index, each.leader_id) for each in response.topics[0].partitions
            ]:
                break
    connection = probe.connect(leader)
    for _ in attempts(f"broker {leader} to lead"):
        produced: Any = probe.quiet(produce(topic, batch(b"a"), partition=partition), 9, on=connection)
        if produced.responses[0].partition_responses[0].error_code == 0:
            return
