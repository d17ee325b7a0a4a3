"""Three brokers: the responses of leaders, followers and brokers without a replica."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.describe_cluster import DescribeClusterRequest
from protocol_specs.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol_specs.messages.fetch import FetchRequest, FetchTopic, ReplicaState
from protocol_specs.messages.find_coordinator import FindCoordinatorRequest
from protocol_specs.messages.list_offsets import ListOffsetsRequest
from protocol_specs.messages.metadata import MetadataRequest
from protocol_specs.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.differential.case import case
from tests.differential.cases.create_topics import new, send_create
from tests.differential.cases.delete_topics import by_names
from tests.differential.cases.describe_configs import BROKER, describe
from tests.differential.cases.find_coordinator import GROUP, await_coordinator
from tests.differential.cases.init_producer_id import init
from tests.differential.cases.offset_for_leader_epoch import end_of
from tests.differential.probe import attempts
from tests.differential.requests import (
    TIME_MS,
    all_versions,
    batch,
    fetch,
    idempotent,
    list_offsets,
    metadata,
    produce,
    produce_all,
    wanted,
)

if TYPE_CHECKING:
    from tests.differential.probe import Probe

ALL = (1, 2, 3)


def placed(
    probe: Probe, suffix: str, *replicas: list[int], all_brokers: tuple[int, ...] = ALL, **config: str
) -> tuple[str, bytes]:
    """A topic with a partition on each list of brokers, its first broker the leader; the name and the id.

    Its records stay, however old they are, as those of `Probe.topic`.
    """
    name = f"{probe.name}-{suffix}"
    topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
    topic.assignments = [
        CreatableReplicaAssignment(partition_index=index, broker_ids=ids) for index, ids in enumerate(replicas)
    ]
    topic.configs = new(name, **({"retention_ms": "-1"} | config)).configs
    response: Any = probe.quiet(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
    # A broker sends the request again to the next controller, if the first one has lost its quorum meanwhile.
    assert response.topics[0].error_code in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS), response
    for broker in all_brokers:
        _await_leaders(probe, broker, name, replicas)
    return name, probe.topic_id(name)


def _await_leaders(probe: Probe, broker: int, name: str, replicas: tuple[list[int], ...]) -> None:
    """Wait until a broker knows the leaders, and is the leader where it should be, with every replica in sync."""
    connection = probe.connect(broker)
    for _ in attempts(f"the leaders at broker {broker}"):
        response: Any = probe.quiet(metadata(name), 12, on=connection)
        known = {each.partition_index: (each.leader_id, each.isr_nodes) for each in response.topics[0].partitions}
        if known == {index: (ids[0], ids) for index, ids in enumerate(replicas)}:
            led = [index for index, ids in enumerate(replicas) if ids[0] == broker]
            offsets = [probe.quiet(list_offsets(name, -1, partition=index), 4, on=connection) for index in led]
            followed = [
                probe.quiet(fetch(name, wanted(partition=index)), 12, on=connection)
                for index, ids in enumerate(replicas)
                if broker in ids[1:]
            ]
            returned: list[Any] = [each.topics[0] for each in offsets] + [each.responses[0] for each in followed]
            if all(each.partitions[0].error_code == 0 for each in returned):
                return


def without_controller(response: Any) -> Any:
    """Return the response without the controller's id: brokers name any live broker."""
    return response | {"controllerId": response["controllerId"] in ALL}


@case(brokers=3)
def produce_to_brokers_that_do_not_lead(probe: Probe) -> None:
    topic, topic_id = placed(probe, "t", [2, 1], [3, 2])
    for version in range(3, 14):
        probe.exchange(produce(topic, batch(b"a"), topic_id=topic_id), version, note="a follower")
        probe.exchange(produce(topic, batch(b"a"), partition=1, topic_id=topic_id), version, note="no replica")


@case(brokers=3)
def produce_to_several_leaders_at_once(probe: Probe) -> None:
    topic, topic_id = placed(probe, "t", [1, 2, 3], [2, 3, 1], [3, 1, 2])
    entries = [(topic, index, batch(b"a")) for index in range(3)]
    for version in (3, 9, 10):
        for broker in ALL:
            probe.exchange(produce_all(*entries), version, on=probe.connect(broker), note=f"broker {broker}")
    if probe.release == "4.3.1":
        probe.exchange(produce_all(*entries, topic_ids={topic: topic_id}), 13)


@case(brokers=3)
def produce_with_acks_of_all_kinds(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2, 3], min_insync_replicas="2")
    for acks in (1, -1, 5):
        probe.exchange(produce(topic, batch(b"a"), acks=acks), 9)
    for _ in range(2):
        probe.exchange(produce(topic, idempotent(7_000, 0, 0)), 9)


@case(brokers=3)
def produce_with_a_minimum_above_the_replicas(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2, 3], min_insync_replicas="4")
    for acks in (1, -1):
        probe.exchange(produce(topic, batch(b"a"), acks=acks), 9)


@case(brokers=3)
def acks_0_to_a_follower_closes(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [2, 1])
    probe.exchange(produce(topic, batch(b"a"), acks=0), 9, on=probe.connect())


@case(brokers=3)
def fetch_from_a_follower(probe: Probe) -> None:
    topic, topic_id = placed(probe, "t", [2, 1])
    probe.quiet(produce(topic, batch(b"a")), 9, on=probe.connect(2))
    # The follower has the record and its high watermark before the requests of each version.
    probe.quiet(fetch(topic, wanted(), max_wait_ms=5_000, min_bytes=1), 12)
    for version in all_versions(FetchRequest):
        if version >= 4 or probe.release != "3.7.2":
            probe.exchange(fetch(topic, wanted(), topic_id=topic_id), version)


@case(brokers=3)
def fetch_from_a_follower_past_its_end(probe: Probe) -> None:
    topic, topic_id = placed(probe, "t", [2, 1])
    for version in (10, 11, 12, 16):
        probe.exchange(fetch(topic, wanted(5), topic_id=topic_id), version)
        probe.exchange(fetch(topic, wanted(-1), topic_id=topic_id), version)


@case(brokers=3)
def fetch_from_a_broker_without_a_replica(probe: Probe) -> None:
    topic, topic_id = placed(probe, "t", [2, 3])
    for version in range(4, 19):
        probe.exchange(fetch(topic, wanted(), topic_id=topic_id), version)


@case(brokers=3)
def fetch_with_leader_epochs_from_a_follower(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [2, 1], [2, 3])
    for epoch in (-1, 0, 1, 9):
        for partition in (0, 1):
            probe.exchange(
                fetch(topic, wanted(partition=partition, leader_epoch=epoch)), 12, note=f"{partition} {epoch}"
            )


@case(brokers=3)
def fetch_from_several_at_once(probe: Probe) -> None:
    topic, topic_id = placed(probe, "t", [1, 2], [2, 1], [2, 3])
    parts = [wanted(partition=partition) for partition in range(3)]
    for version in (10, 12, 13, 16):
        probe.exchange(fetch(topic, *parts, topic_id=topic_id), version)
    session = probe.exchange(fetch(topic, *parts, session_epoch=0), 12, note="a session")
    probe.exchange(fetch(None, session_id=session.session_id, session_epoch=1), 12, note="again")


@case(brokers=3)
def fetch_as_a_replica_that_is_none(probe: Probe) -> None:
    topic, topic_id = placed(probe, "t", [1], [2])
    for replica in (2, 3):
        for version in (4, 11, 12, 13):
            for partition in (0, 1):
                request = fetch(topic, wanted(partition=partition), topic_id=topic_id, replica_id=replica)
                probe.exchange(request, version, note=f"replica {replica}, partition {partition}")


@case(brokers=3)
def fetch_as_a_replica_of_an_earlier_run(probe: Probe) -> None:
    """The leader knows with which epoch its follower has registered (KIP-903); an offset that is wrong comes first.

    No broker registers with epoch 1: the metadata log begins with the records that bootstrap it.
    """
    topic, topic_id = placed(probe, "t", [1, 2], [2, 1])
    for replica in (2, 3):
        for version in (15, 16, 17):
            for epoch in (-1, 0, 1):
                for offset, partition in ((0, 0), (9, 0), (0, 1)):
                    request = fetch(topic, wanted(offset, partition=partition), topic_id=topic_id)
                    request.replica_state = ReplicaState(replica_id=replica, replica_epoch=epoch)
                    note = f"replica {replica}, epoch {epoch}, offset {offset}, partition {partition}"
                    probe.exchange(request, version, note=note)


@case(brokers=3)
def nodes_and_orders_that_tables_decide(probe: Probe) -> None:
    """Kafka lists from hash tables: of partitions by their states, of topics by their names, of nodes by their ids."""
    topic, topic_id = placed(probe, "t", [3, 2], [2, 3], [1, 2], [3, 1], [2, 1])
    request = fetch(topic, *(wanted(partition=partition) for partition in range(5)), topic_id=topic_id)
    response: Any = probe.quiet(request, 16)
    probe.write(endpoints=[each.node_id for each in response.node_endpoints])
    produced: Any = probe.quiet(produce_all(*((topic, partition, batch(b"a")) for partition in range(5))), 10)
    probe.write(endpoints=[each.node_id for each in produced.node_endpoints])
    for broker in ALL:
        listed: Any = probe.quiet(metadata(topic), 12, on=probe.connect(broker))
        probe.write(partitions=[each.partition_index for each in listed.topics[0].partitions])
    names = [f"{probe.name}-{number}" for number in range(7)]
    unknown: Any = probe.quiet(metadata(*names), 12)
    probe.write(topics=[each.name for each in unknown.topics])
    some: Any = probe.quiet(metadata(*names[:3], topic, *names[3:]), 12)
    probe.write(topics=[each.name for each in some.topics])


@case(brokers=3)
def list_offsets_of_brokers_that_do_not_lead(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [2, 1], [3, 2])
    for version in all_versions(ListOffsetsRequest):
        for partition in (0, 1):
            probe.exchange(list_offsets(topic, -1, partition=partition), version, note=f"partition {partition}")
    for timestamp in (-2, -3, TIME_MS, -6):
        probe.exchange(list_offsets(topic, timestamp), 7, note=str(timestamp))
    for replica in (-2, 2, 1):
        for partition in (0, 1):
            probe.exchange(
                list_offsets(topic, -1, partition=partition, replica_id=replica), 7, note=f"replica {replica}"
            )
    for epoch in (0, 5):
        probe.exchange(list_offsets(topic, -1, leader_epoch=epoch), 7, note=f"epoch {epoch}")


@case(brokers=3)
def epochs_of_brokers_that_do_not_lead(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [2, 1], [3, 2])
    for version in all_versions(OffsetForLeaderEpochRequest):
        for partition in (0, 1):
            probe.exchange(end_of(topic, 0, partition=partition), version, note=f"partition {partition}")
    for replica in (-2, 2):
        for partition in (0, 1):
            probe.exchange(end_of(topic, 0, partition=partition, replica=replica), 4, note=f"replica {replica}")
    for current in (0, 5):
        probe.exchange(end_of(topic, 0, current=current), 4, note=f"current {current}")


@case(brokers=3)
def metadata_of_every_broker(probe: Probe) -> None:
    topic, _ = placed(probe, "t", [1, 2, 3], [3, 2, 1], [2, 1, 3])
    for broker in ALL:
        connection = probe.connect(broker)
        for version in all_versions(MetadataRequest):
            probe.exchange(
                metadata(topic), version, on=connection, only=without_controller if version else None, note=str(broker)
            )


@case(brokers=3)
def describe_cluster_of_every_broker(probe: Probe) -> None:
    for broker in ALL:
        connection = probe.connect(broker)
        for version in all_versions(DescribeClusterRequest):
            probe.exchange(DescribeClusterRequest(), version, on=connection, only=without_controller)


@case(brokers=3)
def describe_configs_of_another_broker(probe: Probe) -> None:
    for broker in ALL:
        connection = probe.connect(broker)
        for broker_id in ("1", "2", "3", "4", ""):
            request = describe((BROKER, broker_id, ["num.io.threads"]))
            probe.exchange(request, 4, on=connection, note=f"{broker_id} of {broker}")


@case(brokers=3)
def create_topics_with_replicas(probe: Probe) -> None:
    for factor in (1, 2, 3, 4, -1):
        send_create(probe, 7, new(f"{probe.name}-{factor}", 2, factor), note=str(factor))


@case(brokers=3)
def create_topics_on_any_broker(probe: Probe) -> None:
    for broker in ALL:
        name = f"{probe.name}-{broker}"
        response: Any = probe.quiet(CreateTopicsRequest(topics=[new(name, 1, 3)]), 7, on=probe.connect(broker))
        probe.write(broker=broker, error=response.topics[0].error_code)
        probe.await_topic(name)


@case(brokers=3)
def create_topics_assigned(probe: Probe) -> None:
    for assigned, note in (
        ({0: [1, 2, 3]}, "all"),
        ({0: [1, 4]}, "an unknown broker"),
        ({0: [1, 2], 1: [3]}, "different factors"),
        ({0: [1, 2], 1: [3, 3]}, "a broker twice"),
        ({0: [3, 2], 1: [2, 1]}, "pairs"),
    ):
        name = f"{probe.name}-{note.replace(' ', '-')}"
        send_create(probe, 7, new(name, -1, -1, assigned=assigned), note=note)


@case(brokers=3)
def new_topics_spread_evenly(probe: Probe) -> None:
    name = f"{probe.name}-t"
    probe.quiet(CreateTopicsRequest(topics=[new(name, 6, 3)], timeout_ms=10_000), 7)
    partitions = probe.await_topic(name, 6).topics[0].partitions
    leaders = [each.leader_id for each in partitions]
    probe.write(leaders=sorted(leaders.count(broker) for broker in ALL))
    probe.write(replicas=[sorted(each.replica_nodes) for each in partitions])
    probe.write(preferred=all(each.leader_id == each.replica_nodes[0] for each in partitions))


@case(brokers=3)
def delete_topics_on_any_broker(probe: Probe) -> None:
    for broker in ALL:
        topic, _ = placed(probe, str(broker), [broker, broker % 3 + 1])
        probe.exchange(by_names(topic), 6, on=probe.connect(4 - broker))


@case(brokers=3)
def find_coordinator_is_the_same_on_every_broker(probe: Probe) -> None:
    await_coordinator(probe, GROUP)
    for key in ("a", "b", "c"):
        nodes = set()
        for broker in ALL:
            connection = probe.connect(broker)
            for _ in attempts("a coordinator"):
                request = FindCoordinatorRequest(key=key, coordinator_keys=[key])
                response: Any = probe.quiet(request, 4, on=connection)
                if response.coordinators[0].error_code == 0:
                    break
            nodes.add(response.coordinators[0].node_id)
        probe.write(key=key, coordinators=len(nodes))


@case(brokers=3)
def init_producer_id_takes_a_block_for_each_broker(probe: Probe) -> None:
    blocks = set()
    for broker in ALL:
        connection = probe.connect(broker)
        for _ in attempts("a block of producer ids"):
            response: Any = probe.quiet(init(), 4, on=connection)
            if response.error_code == 0:
                break
        blocks.add(response.producer_id // 1_000)
    probe.write(blocks=len(blocks))


@case(brokers=3)
def requests_of_versions_that_name_nodes(probe: Probe) -> None:
    """Leaders and their addresses come with an error once for each node (KIP-951)."""
    topic, topic_id = placed(probe, "t", [2], [3], [2], [1])
    parts = [wanted(partition=partition) for partition in range(4)]
    for version in (15, 16):
        probe.exchange(fetch(topic, *parts, topic_id=topic_id), version)
    entries = [(topic, index, batch(b"a")) for index in range(4)]
    probe.exchange(produce_all(*entries), 10)
    request = fetch(topic, *parts[:2], topic_id=topic_id)
    request.topics.append(FetchTopic(topic="none", topic_id=b"no such topic id", partitions=[wanted()]))
    probe.exchange(request, 16)
    probe.exchange(produce(topic, batch(b"a"), partition=9), 10, note="an unknown partition names no leader")


@case(brokers=3)
def describe_producers_on_every_broker(probe: Probe) -> None:
    """Followers remember producers too; a broker without a replica returns NOT_LEADER_OR_FOLLOWER."""
    topic, _ = placed(probe, "t", [1, 2], [2, 3])
    for broker, partition in ((1, 0), (2, 1)):
        response: Any = probe.quiet(
            produce(topic, idempotent(7_001, 0, 3), partition=partition), 9, on=probe.connect(broker)
        )
        assert response.responses[0].partition_responses[0].error_code == 0, response
    request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[0, 1, 2])])
    for broker in ALL:
        probe.exchange(request, 0, on=probe.connect(broker), note=f"broker {broker}")
