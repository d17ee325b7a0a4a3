"""Purgatories at the controller in ZooKeeper mode, and the controller mutation quota of clients."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from broker_sim.quotas.client_quotas_image import ClientQuotaEntity, QuotaChange
from broker_sim.rpc.plain_call import PlainCalls
from broker_sim.topic_partition import TopicPartition
from protocol_specs.error_codes import ErrorCode
from protocol_specs.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol_specs.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol_specs.messages.delete_topics import DeleteTopicsRequest
from protocol_specs.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

if TYPE_CHECKING:
    from collections.abc import Callable

T0 = TopicPartition("t", 0)
THROTTLED = ErrorCode.THROTTLING_QUOTA_EXCEEDED


def send(made: Any, request: Any, version: int, *, client_id: str = "c", broker_id: int = 1) -> Any:
    """Send a client's request to the controller; return its present or later response."""
    return PlainCalls(made.broker(broker_id)).call(request, version, client_id=client_id)


def waiting(made: Any, gauge: str = "NumDelayedOperations", broker: int = 1) -> dict[str, float]:
    found = made.cluster.metrics().find(gauge, broker=broker)
    return {dict(metric.tags)["delayedOperation"]: metric.value for metric in found}


def election(timeout_ms: int) -> ElectLeadersRequest:
    return ElectLeadersRequest(
        topic_partitions=[TopicPartitions(topic="t", partitions=[0])], timeout_ms=timeout_ms, election_type=0
    )


@pytest.mark.parametrize(("release", "name"), [("2.3", "ElectPreferredLeader"), ("2.8", "ElectLeader")])
@pytest.mark.parametrize("known_in_time", [True, False])
def test_an_election_waits_until_the_broker_itself_knows_the_leader(
    zookeeper_cluster: Callable[..., Any], release: str, name: str, known_in_time: bool
) -> None:
    made = zookeeper_cluster(release, config={"auto.leader.rebalance.enable": "false"}, partitions=2)
    made.cluster.kill(1)
    made.run_out_session()
    made.replicas.world.run_until(made.cluster.restart(1), deadline_ms=60_000)
    made.replicas.settle()
    assert made.cluster.leader_of(*T0) != 1
    controller = made.cluster.active_controller
    made.hold(controller, controller)
    responded = send(made, election(500), made.broker(1).release.api_versions[43].highest, broker_id=controller)
    made.run(ms=100)
    assert not responded.called
    assert waiting(made, broker=controller)[name] == 1
    assert waiting(made, "PurgatorySize", broker=controller)[name] == 1
    assert waiting(made)[name] == 0
    if known_in_time:
        made.release(controller, controller)
    response = made.replicas.world.run_until(responded, deadline_ms=2_000)
    [topic] = response.replica_election_results
    expected = ErrorCode.NONE if known_in_time else ErrorCode.REQUEST_TIMED_OUT
    assert [(each.partition_id, each.error_code) for each in topic.partition_result] == [(0, expected)]
    assert waiting(made, broker=controller)[name] == 0


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("0.8.2", []),
        ("0.9.0", ["Produce", "Fetch"]),
        ("1.1", ["Produce", "Fetch", "DeleteRecords", "topic"]),
        ("2.3", ["Produce", "Fetch", "DeleteRecords", "ElectPreferredLeader", "topic"]),
        ("2.8", ["Produce", "Fetch", "DeleteRecords", "ElectLeader", "topic"]),
    ],
)
def test_a_broker_measures_the_purgatories_of_its_age(
    zookeeper_cluster: Callable[..., Any], release: str, names: list[str]
) -> None:
    assert list(waiting(zookeeper_cluster(release))) == names


def test_a_topic_that_is_made_waits_among_topics(zookeeper_cluster: Callable[..., Any]) -> None:
    made = zookeeper_cluster("2.8")
    made.hold(1, 2)
    topic = CreatableTopic(name="new", num_partitions=2, replication_factor=1)
    made.hold(1, 1)
    responded = send(made, CreateTopicsRequest(topics=[topic], timeout_ms=500), 7)
    made.run(ms=100)
    assert (waiting(made)["topic"], responded.called) == (1, False)
    made.run(ms=1_000)
    assert (waiting(made)["topic"], responded.called) == (0, True)


# Quotas.


def with_quota(made: Any, rate: float) -> Any:
    entity = ClientQuotaEntity.of({"client-id": "c"})
    change = QuotaChange(entity=entity, key="controller_mutation_rate", value=rate)
    changed = made.cluster.controller.change(
        "quota", lambda image: replace(image, client_quotas=image.client_quotas.with_changes([change]))
    )
    made.replicas.world.run_until(changed)
    made.run(ms=100)
    return made


def create(made: Any, *sizes: int, version: int = 7, client_id: str = "c", validate_only: bool = False) -> Any:
    made.named = getattr(made, "named", 0) + 1
    topics = [
        CreatableTopic(name=f"new-{made.named}-{index}", num_partitions=size, replication_factor=1)
        for index, size in enumerate(sizes)
    ]
    request = CreateTopicsRequest(topics=topics, timeout_ms=1_000, validate_only=validate_only)
    response = made.replicas.world.run_until(send(made, request, version, client_id=client_id))
    return [topic.error_code for topic in response.topics], response.throttle_time_ms


@pytest.mark.parametrize("release", ["2.7", "2.8", "3.2"])
def test_a_client_without_quota_is_refused_with_its_throttle_time(
    zookeeper_cluster: Callable[..., Any], release: str
) -> None:
    made = with_quota(zookeeper_cluster(release), 1.0)
    assert create(made, 30, validate_only=True, version=6) == ([0], 0)
    errors, throttle_ms = create(made, 15, 3, version=6)
    assert errors == [0, THROTTLED]
    assert throttle_ms > 3_000
    assert create(made, 1, version=6)[0] == [THROTTLED]
    assert create(made, 1, version=6, client_id="other") == ([0], 0)
    made.run(ms=20_000)
    assert create(made, 1, version=6) == ([0], 0)


def test_a_client_that_does_not_know_the_error_only_waits(zookeeper_cluster: Callable[..., Any]) -> None:
    made = with_quota(zookeeper_cluster("2.8"), 1.0)
    errors, throttle_ms = create(made, 15, 3, version=5)
    assert errors == [0, 0]
    assert throttle_ms > 6_000


def test_deleted_and_added_partitions_count_too(zookeeper_cluster: Callable[..., Any]) -> None:
    made = with_quota(zookeeper_cluster("2.8", partitions=20), 1.0)
    grown = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=35, assignments=None)], timeout_ms=1_000
    )
    response = made.replicas.world.run_until(send(made, grown, 3))
    assert response.results[0].error_code == 0
    assert response.throttle_time_ms == 0  # who finds tokens may take more than there are
    grown.topics = [CreatePartitionsTopic(name="t", count=36, assignments=None)]
    response = made.replicas.world.run_until(send(made, grown, 3))
    assert response.results[0].error_code == THROTTLED
    assert response.throttle_time_ms > 3_000
    delete = DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000)
    response = made.replicas.world.run_until(send(made, delete, 5))
    assert [topic.error_code for topic in response.responses] == [THROTTLED]
    assert "t" in made.zookeeper.image.topics


def test_releases_without_such_quotas_have_no_limit(zookeeper_cluster: Callable[..., Any]) -> None:
    made = with_quota(zookeeper_cluster("2.6"), 1.0)
    assert create(made, 15, 3, version=5) == ([0, 0], 0)
