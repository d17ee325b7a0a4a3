"""Three brokers, one of them dead: killed, shut down in order, or gone while replicas move. Clusters of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from protocol_specs.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from protocol_specs.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from protocol_specs.messages.unregister_broker import UnregisterBrokerRequest
from tests.differential.case import case
from tests.differential.cases.alter_partition_reassignments import send_reassign
from tests.differential.cases.cluster import ALL, placed, without_controller
from tests.differential.cases.describe_configs import BROKER, describe
from tests.differential.cases.elect_leaders import PREFERRED, UNCLEAN, elect, of_the_case, send_elect
from tests.differential.cases.offset_for_leader_epoch import end_of
from tests.differential.probe import RESPONSE_SECONDS, attempts
from tests.differential.requests import batch, fetch, list_offsets, metadata, produce, wanted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.probe import Probe

DEAD = 3
ALIVE = (1, 2)
SOON = (("broker.session.timeout.ms", "4500"), ("broker.heartbeat.interval.ms", "500"))
"""Who dies is missed within five seconds; on a busy machine, a broker that lives is silent for three at times."""

START_SECONDS = 60.0
"""How long a real broker may need to come back."""

MIN_2 = {"min_insync_replicas": "2"}
LAYOUT: dict[str, tuple[list[int], dict[str, str]]] = {
    "whole": ([1, 2, 3], {}),
    "first": ([3, 1, 2], {}),
    "only": ([3], {}),
    "pair": ([3, 1], MIN_2),
    "strict": ([1, 2, 3], {"min_insync_replicas": "3"}),
    "away": ([2, 3], {}),
    "unclean": ([3], {"unclean_leader_election_enable": "true"}),
}
"""Ends of topics' names -> replicas and configurations."""

Topics = dict[str, tuple[str, bytes]]


def _filled(probe: Probe) -> Topics:
    """The topics, with two records each; every replica has them and knows it."""
    topics = {}
    for suffix, (replicas, config) in LAYOUT.items():
        name, _ = topics[suffix] = placed(probe, suffix, replicas, **config)
        response: Any = probe.quiet(produce(name, batch(b"a", b"b")), 9, on=probe.connect(replicas[0]))
        assert response.responses[0].partition_responses[0].error_code == 0, response
    for suffix in LAYOUT:
        _await_watermarks(probe, topics, suffix, ALL)
    return topics


def _await_watermarks(probe: Probe, topics: Topics, suffix: str, alive: tuple[int, ...]) -> None:
    """Wait until every live replica knows the same high watermark: followers learn it later."""
    connections = [probe.connect(broker) for broker in LAYOUT[suffix][0] if broker in alive]
    for _ in attempts(f"one high watermark of {suffix}"):
        reads: list[Any] = [probe.quiet(fetch(topics[suffix][0], wanted()), 12, on=each) for each in connections]
        if len({each.responses[0].partitions[0].high_watermark for each in reads}) <= 1:
            break


def _await(
    probe: Probe,
    awaited: str,
    topic: tuple[str, bytes],
    reached: Callable[[Any], bool],
    *,
    brokers: tuple[int, ...] = ALIVE,
    seconds: float = RESPONSE_SECONDS,
) -> None:
    """Wait until these brokers see partition 0 of a topic so."""
    for broker in brokers:
        connection = probe.connect(broker)
        for _ in attempts(f"{topic[0]} {awaited} at broker {broker}", seconds=seconds):
            response: Any = probe.quiet(metadata(topic[0]), 12, on=connection)
            if any(reached(each) for each in response.topics[0].partitions if each.partition_index == 0):
                break


def _await_death(probe: Probe) -> None:
    for broker in ALIVE:
        connection = probe.connect(broker)
        for _ in attempts(f"broker {broker} to miss broker {DEAD}"):
            response: Any = probe.quiet(DescribeClusterRequest(), 0, on=connection)
            if DEAD not in [each.broker_id for each in response.brokers]:
                break


def _await_return(probe: Probe, topics: Topics) -> None:
    """Wait until every broker sees every replica in sync."""
    for brokers in (ALIVE, (DEAD,)):
        for topic in topics.values():
            _await(probe, "whole", topic, _is_whole, brokers=brokers, seconds=START_SECONDS)


def _is_whole(partition: Any) -> bool:
    return partition.leader_id >= 0 and set(partition.isr_nodes) == set(partition.replica_nodes)


def _sorted_sets(response: Any) -> Any:
    """Return the response without the fields that differ from run to run: the controller, and the order of replicas."""
    for topic in response["topics"]:
        for partition in topic["partitions"]:
            for name in ("isrNodes", "offlineReplicas", "eligibleLeaderReplicas", "lastKnownElr"):
                if partition.get(name):
                    partition[name].sort()
    return without_controller(response) if "controllerId" in response else response


def _describe_topics(probe: Probe, *topics: tuple[str, bytes], note: str, brokers: tuple[int, ...] = ALIVE) -> None:
    names = [name for name, _ in topics]
    for broker in brokers:
        connection = probe.connect(broker)
        for version in (0, 1, 4, 5, 8, 12):
            probe.exchange(metadata(*names), version, on=connection, only=_sorted_sets, note=f"{note}, broker {broker}")
        if probe.release == "4.3.1":
            request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in names])
            probe.exchange(request, 0, on=connection, only=_sorted_sets, note=f"{note}, broker {broker}")


def _describe_brokers(probe: Probe) -> None:
    for broker in ALIVE:
        connection = probe.connect(broker)
        for version in range(3):
            request = DescribeClusterRequest(include_fenced_brokers=True)
            probe.exchange(request, version, on=connection, only=without_controller, note=f"broker {broker}")
        probe.exchange(describe((BROKER, str(DEAD), ["num.io.threads"])), 4, on=connection)


def _read_records(probe: Probe, topics: Topics) -> None:
    for broker in ALIVE:
        connection = probe.connect(broker)
        for suffix, (name, topic_id) in topics.items():
            note = f"{suffix}, broker {broker}"
            for acks, version in ((1, 9), (1, 10), (-1, 10)):
                probe.exchange(produce(name, batch(b"c"), acks=acks), version, on=connection, note=note)
            _await_watermarks(probe, topics, suffix, ALIVE)
            for version in (4, 11, 12, 16):
                probe.exchange(fetch(name, wanted(), topic_id=topic_id), version, on=connection, note=note)
            probe.exchange(fetch(name, wanted(leader_epoch=0), topic_id=topic_id), 16, on=connection, note=note)
            for version in (1, 4, 7):
                probe.exchange(list_offsets(name, -1), version, on=connection, note=note)
            probe.exchange(list_offsets(name, -1, leader_epoch=0), 7, on=connection, note=note)
            probe.exchange(end_of(name, 0), 4, on=connection, note=note)
            probe.exchange(end_of(name, 0, current=0), 4, on=connection, note=note)
            probe.exchange(_deletion(name), 2, on=connection, note=note)


def _deletion(name: str) -> DeleteRecordsRequest:
    topic = DeleteRecordsTopic(name=name, partitions=[DeleteRecordsPartition(partition_index=0, offset=1)])
    return DeleteRecordsRequest(topics=[topic], timeout_ms=5_000)


def _elect_leaders(probe: Probe, topics: Topics) -> None:
    for election_type in (PREFERRED, UNCLEAN):
        wanted_topics = [(name, [0]) for name, _ in topics.values()]
        send_elect(probe, 2, *wanted_topics, election_type=election_type, note=str(election_type))
    probe.exchange(elect(everything=True), 2, only=of_the_case(probe), note="all")


def _create_topics(probe: Probe) -> None:
    for replicas in ([[DEAD]], [[DEAD, 1]], [[1, DEAD]], [[1, 2, 3], [3, 2, 1]], [[1], [DEAD]]):
        name = f"{probe.name}-{'-'.join(''.join(map(str, each)) for each in replicas)}"
        topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
        topic.assignments = [
            CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in enumerate(replicas)
        ]
        created: Any = probe.exchange(
            CreateTopicsRequest(topics=[topic], timeout_ms=5_000),
            4,
            on=probe.connect(2),
            note=f"on {replicas}",
        )
        if created.topics[0].error_code == 0:
            _await(probe, "made", (name, b""), lambda each: each.leader_id >= 0)
            probe.exchange(metadata(name), 9, only=_sorted_sets, note=f"on {replicas}")
    for factor in (3, 4):
        topic = CreatableTopic(name=f"{probe.name}-of-{factor}", num_partitions=1, replication_factor=factor)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=5_000)
        probe.exchange(request, 4, note=f"{factor} replicas")


def _create_partitions(probe: Probe, name: str) -> None:
    for brokers in ([DEAD], [DEAD, 1, 2], [1, 2, DEAD]):
        topic = CreatePartitionsTopic(name=name, count=2, assignments=[CreatePartitionsAssignment(broker_ids=brokers)])
        probe.exchange(
            CreatePartitionsRequest(topics=[topic], timeout_ms=5_000, validate_only=True), 3, note=str(brokers)
        )


@case(brokers=3, settings=(*SOON, ("metadata.max.idle.interval.ms", "506")))
def killed(probe: Probe) -> None:
    topics = _filled(probe)
    probe.nodes.kill(DEAD)
    _await_death(probe)
    _describe_topics(probe, *topics.values(), note="dead")
    _describe_brokers(probe)
    _read_records(probe, topics)
    _elect_leaders(probe, topics)
    _create_topics(probe)
    _create_partitions(probe, topics["whole"][0])
    probe.nodes.restart(DEAD)
    _await_return(probe, topics)
    _describe_topics(probe, *topics.values(), note="back", brokers=ALL)
    _elect_leaders(probe, topics)
    _await(probe, "led by its first", topics["first"], lambda each: each.leader_id == DEAD, brokers=ALL)
    _describe_topics(probe, *topics.values(), note="elected", brokers=ALL)


@case(brokers=3, settings=(("metadata.max.idle.interval.ms", "507"),))
def shut_down(probe: Probe) -> None:
    topics = _filled(probe)
    probe.nodes.shut_down(DEAD)
    _await_death(probe)
    _describe_topics(probe, *topics.values(), note="down")
    _describe_brokers(probe)
    _read_records(probe, topics)
    _elect_leaders(probe, topics)
    probe.exchange(UnregisterBrokerRequest(broker_id=DEAD), 0)
    for broker in ALIVE:
        connection = probe.connect(broker)
        for _ in attempts(f"broker {broker} to forget broker {DEAD}"):
            response: Any = probe.quiet(metadata(topics["only"][0]), 12, on=connection)
            if probe.release != "4.3.1":
                break
            known: Any = probe.quiet(DescribeClusterRequest(include_fenced_brokers=True), 2, on=connection)
            listed = DEAD in [each.broker_id for each in known.brokers]
            if response.topics[0].partitions[0].isr_nodes == [] and not listed:
                break
    probe.exchange(UnregisterBrokerRequest(broker_id=DEAD), 0, note="again")
    _describe_topics(probe, *topics.values(), note="forgotten")
    _describe_brokers(probe)
    _elect_leaders(probe, topics)
    _create_partitions(probe, topics["whole"][0])
    for replicas in ([1, 2, 3], [3], [1, 2]):
        moves: dict[int, list[int] | None] = {0: replicas}
        send_reassign(probe, 0, (topics["strict"][0], moves), note=str(replicas))


@case(brokers=3, settings=(*SOON, ("metadata.max.idle.interval.ms", "508")))
def replicas_that_move_while_a_broker_is_dead(probe: Probe) -> None:
    topics = _filled(probe)
    probe.nodes.kill(DEAD)
    _await_death(probe)
    for suffix, replicas, awaited, reached in (
        ("whole", [3, 2, 1], "reordered", lambda each: each.replica_nodes == [3, 2, 1]),
        ("only", [3, 1], "growing", lambda each: each.replica_nodes == [3, 1]),
        ("unclean", [3, 2], "growing", lambda each: each.replica_nodes == [3, 2]),
        ("pair", [1, 2], "moved", lambda each: set(each.isr_nodes) == {1, 2} == set(each.replica_nodes)),
        ("away", [3], "on its way to the dead", lambda each: each.replica_nodes == [3, 2]),
    ):
        name = topics[suffix][0]
        note = f"{suffix} to {replicas}"
        send_reassign(probe, 0, (name, {0: replicas}), note=note)
        _await(probe, awaited, topics[suffix], reached)
        _describe_topics(probe, topics[suffix], note=note)
    probe.exchange(ListPartitionReassignmentsRequest(topics=None), 0)
    only = topics["only"][0]
    send_elect(probe, 2, (only, [0]))
    send_elect(probe, 2, (only, [0]), election_type=UNCLEAN)
    _await(probe, "led by the empty replica", topics["only"], lambda each: each.leader_id == 1)
    _describe_topics(probe, topics["only"], note="unclean")
    probe.exchange(fetch(only, wanted()), 12, note="lost")
    away = topics["away"][0]
    for moves, note in (
        ({0: None}, "stopped"),
        ({0: None}, "stopped again"),
        ({0: [1, DEAD]}, "done without the dead"),
    ):
        send_reassign(probe, 0, (away, moves), note=note)
    _await(probe, "moved", topics["away"], lambda each: each.isr_nodes == [1])
    _describe_topics(probe, topics["away"], note="moved")
    probe.exchange(ListPartitionReassignmentsRequest(topics=None), 0)
    probe.nodes.restart(DEAD)
    _await_return(probe, topics)
    for _ in attempts("the end of the moves"):
        left: Any = probe.quiet(ListPartitionReassignmentsRequest(topics=None), 0)
        if not left.topics:
            break
    _describe_topics(probe, *topics.values(), note="back", brokers=(1,))
    for broker in (1, DEAD):
        probe.exchange(fetch(only, wanted()), 12, on=probe.connect(broker), note=f"what broker {broker} has")


@case(brokers=3, settings=(("metadata.max.idle.interval.ms", "509"),))
def a_replica_out_of_sync_that_is_the_only_one_alive(probe: Probe) -> None:
    topic = placed(probe, "t", [DEAD, 1], unclean_leader_election_enable="true")
    probe.nodes.shut_down(1)
    _await(probe, "led alone", topic, lambda each: each.isr_nodes == [DEAD], brokers=(2,))
    probe.nodes.shut_down(DEAD)
    probe.nodes.restart(1)
    leader = -1 if probe.release == "3.7.2" else 1
    _await(
        probe,
        "that the other replica is alive for",
        topic,
        lambda each: (each.leader_id, each.offline_replicas) == (leader, [DEAD]),
        seconds=START_SECONDS,
    )
    _describe_topics(probe, topic, note="one is back")
    for election_type in (PREFERRED, UNCLEAN):
        send_elect(probe, 2, (topic[0], [0]), election_type=election_type, note=str(election_type))
    _await(probe, "led", topic, lambda each: each.leader_id == 1)
    _describe_topics(probe, topic, note="elected")
