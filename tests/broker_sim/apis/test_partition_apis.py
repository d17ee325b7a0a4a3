"""The APIs about partitions: a controller out of reach, and crashes as real brokers show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.topic_spec import TopicSpec
from protocol_specs.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from protocol_specs.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from protocol_specs.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from protocol_specs.messages.metadata import MetadataRequest, MetadataRequestTopic

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.broker_sim.apis.conftest import ApiBench

TIMED_OUT = 7
SESSION_MS = 9_500


@pytest.fixture
def cut_off(bench: Callable[..., ApiBench]) -> ApiBench:
    """Broker 1 cannot reach the controller."""
    api = bench(brokers=2, topics=[TopicSpec(name="t", partitions=1)])
    api.cluster.isolate(1)
    return api


@pytest.mark.parametrize("version", range(4))
def test_partitions_are_not_created_out_of_reach(cut_off: ApiBench, version: int) -> None:
    topics = [CreatePartitionsTopic(name=name, count=2) for name in ("t", "u")]
    response = cut_off.exchange(CreatePartitionsRequest(topics=topics, timeout_ms=1_000), version)
    assert [(each.name, each.error_code) for each in response.results] == [("t", TIMED_OUT), ("u", TIMED_OUT)]


@pytest.mark.parametrize("version", range(3))
def test_no_unreachable_replica_is_elected(cut_off: ApiBench, version: int) -> None:
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="t", partitions=[0, 1])])
    response = cut_off.exchange(request, version)
    (topic,) = response.replica_election_results
    assert [(each.partition_id, each.error_code) for each in topic.partition_result] == [(0, TIMED_OUT), (1, TIMED_OUT)]
    assert response.error_code == (TIMED_OUT if version else 0)


@pytest.mark.parametrize("version", range(2))
def test_nothing_is_reassigned_out_of_reach(cut_off: ApiBench, version: int) -> None:
    wanted = ReassignableTopic(name="t", partitions=[ReassignablePartition(partition_index=0, replicas=[2])])
    response = cut_off.exchange(AlterPartitionReassignmentsRequest(topics=[wanted]), version)
    assert (response.error_code, response.responses[0].partitions[0].error_code) == (TIMED_OUT, TIMED_OUT)


def test_nothing_is_listed_out_of_reach(cut_off: ApiBench) -> None:
    wanted = ListPartitionReassignmentsTopics(name="t", partition_indexes=[0])
    response = cut_off.exchange(ListPartitionReassignmentsRequest(topics=[wanted]), 0)
    assert (response.error_code, response.topics[0].partitions[0].partition_index) == (TIMED_OUT, 0)


# What real clusters of three showed when broker 3 was killed, and when it was stopped: leader, leader epoch, ISR, and
# with 4.x the ELR and the last known leader; first while it was away, then when it was back.
STORY: dict[str, tuple[list[int], dict[str, str]]] = {
    "a": ([3], {}),
    "b": ([3, 1], {}),
    "c": ([1, 3], {"min.insync.replicas": "2"}),
    "d": ([3, 1, 2], {"min.insync.replicas": "3"}),
    "e": ([3], {"unclean.leader.election.enable": "true"}),
    "g": ([2, 3], {}),
}
DOWN = {
    "a": (-1, 1, [], [3], [3]),
    "b": (1, 1, [1], [], []),
    "c": (1, 0, [1], [3], []),
    "d": (1, 1, [1, 2], [3], []),
    "e": (-1, 1, [], [3], [3]),
    "g": (2, 0, [2], [], []),
}
BACK = {
    "a": (3, 2, [3]),
    "b": (1, 1, [1, 3]),
    "c": (1, 0, [1, 3]),
    "d": (1, 1, [1, 2, 3]),
    "e": (3, 2, [3]),
    "g": (2, 0, [2, 3]),
}
PREFERRED = {"a": 80, "b": 80, "c": 84, "d": 80, "e": 80, "g": 84}
UNCLEAN = {"a": 83, "b": 84, "c": 84, "d": 84, "e": 83, "g": 84}


def created(api: ApiBench) -> None:
    for name, (replicas, configs) in STORY.items():
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        assert api.exchange(CreateTopicsRequest(topics=[topic], timeout_ms=1_000), 5).topics[0].error_code == 0
    api.reactor.run_for(ms=1_000)


def known(api: ApiBench) -> dict[str, tuple[Any, ...]]:
    topics = [MetadataRequestTopic(name=name) for name in STORY]
    response = api.exchange(MetadataRequest(topics=topics), 9)
    return {
        topic.name: (each.leader_id, each.leader_epoch, each.isr_nodes)
        for topic in response.topics
        for each in topic.partitions
    }


def described(api: ApiBench) -> dict[str, tuple[Any, ...]]:
    request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=name) for name in STORY])
    return {
        topic.name: (
            each.leader_id,
            each.leader_epoch,
            each.isr_nodes,
            each.eligible_leader_replicas,
            each.last_known_elr,
        )
        for topic in api.exchange(request, 0).topics
        for each in topic.partitions
    }


def elected(api: ApiBench, election_type: int) -> dict[str, int]:
    topics = [TopicPartitions(topic=name, partitions=[0]) for name in STORY]
    response = api.exchange(ElectLeadersRequest(topic_partitions=topics, election_type=election_type), 2)
    return {each.topic: each.partition_result[0].error_code for each in response.replica_election_results}


@pytest.mark.parametrize("release", ["3.7.2", "4.3.1"])
@pytest.mark.parametrize("killed", [True, False])
def test_a_broker_that_goes_and_comes_leaves_what_real_clusters_show(
    bench: Callable[..., ApiBench], release: str, killed: bool
) -> None:
    api = bench(brokers=3, release=release)
    created(api)
    if killed:
        api.cluster.kill(3)
    else:
        api.cluster.stop(3)
    api.reactor.run_for(ms=SESSION_MS)
    for _ in range(2):
        if release == "4.3.1":
            assert described(api) == DOWN
        else:
            # Without ELR the last replica stays in the ISR.
            assert known(api) == {
                name: (leader, epoch, isr or [3]) for name, (leader, epoch, isr, _, _) in DOWN.items()
            }
        assert elected(api, 0) == PREFERRED
        assert elected(api, 1) == UNCLEAN
        api.settle()
    api.cluster.restart(3)
    api.reactor.run_for(ms=SESSION_MS)
    assert known(api) == BACK
    assert elected(api, 0) == {"a": 84, "b": 0, "c": 84, "d": 0, "e": 84, "g": 84}
    api.settle()
    assert known(api) == BACK | {"b": (3, 2, [1, 3]), "d": (3, 2, [1, 2, 3])}
